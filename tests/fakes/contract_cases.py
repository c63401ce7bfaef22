"""Which platforms the contract suite runs on, and what each of them cannot do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from fakes.contract_discord import DiscordPlatform
from fakes.contract_platform import ContractPlatform
from fakes.contract_slack import SlackPlatform
from fakes.contract_telegram import TelegramPlatform
from fakes.contract_toy import ToyPlatform
from fakes.contract_web import WebPlatform

PLATFORMS: Mapping[str, type[ContractPlatform]] = {
    "slack": SlackPlatform,
    "discord": DiscordPlatform,
    "telegram": TelegramPlatform,
    "toy": ToyPlatform,
    "web": WebPlatform,
}
ALL = frozenset(PLATFORMS)

FILES = ALL - {"toy"}

CAPABILITIES: Mapping[str, frozenset[str]] = {
    "one_copy": ALL - {"telegram"},  # a bot may look for nothing there: see its own test
    "edit": ALL,
    "buttons": ALL,
    "commands": ALL,
    "rate_limit": ALL - {"web"},  # our own rooms never ask us to wait
    "unaddressed": ALL - {"web"},  # who writes on the page writes to the agent
    "top": ALL - {"web"},  # a room of the page holds conversations and nothing beside them
    "line": ALL - {"web"},  # nothing lies between the page and us that could be cut
    "files": FILES,
    "large_files": FILES,
    "file_limit": FILES,
    "no_files": ALL - FILES,  # the port's defaults say so, in words
}
"""By what a test needs, the platforms that have it; what is missing says why."""


def on(capability: str = "") -> pytest.MarkDecorator:
    """Run the test on every platform that has the capability; none named: on all."""
    names = CAPABILITIES[capability] if capability else ALL
    return pytest.mark.parametrize("platform_name", sorted(names))
