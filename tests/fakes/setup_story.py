"""Shared steps of the set-up's tests: the empty home, the answers that every story begins with."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.setup_terminal import Terminal
from fakes.three_towns import ThreeTowns, three_towns

UNTIL_CHANNELS = (("Model", ""), ("Time zone", "Europe/Berlin"))
CHANNELS = "Channels, with commas"
WRONG = "xoxb-wrong-token-of-nobody"
DEAD_URL = "http://127.0.0.1:9/api/"
WRITTEN = """# ours, with care
[agent]
name = "Rock"           # who answers
timezone = "Asia/Tokyo" # where we are

[channels.web] # the page
listen = "127.0.0.1:0"  # any port

[[bindings]]
channel = "web"
where = "local/room"    # the room
people = ["local"]
operators = ["local"]
"""


@asynccontextmanager
async def empty_towns(home: Path) -> AsyncGenerator[ThreeTowns]:
    """Three platforms and an empty home."""
    async with three_towns(home) as towns:
        for path in list_files(home):
            path.unlink()
        yield towns


def list_files(home: Path) -> list[Path]:
    """What stands in the home folder itself."""
    return list(home.iterdir())


def environ_of(towns: ThreeTowns, **more: str) -> dict[str, str]:
    """What the set-up and the service are started with: addresses, and no token."""
    return {
        "GEODE_HOME": str(towns.home),
        "HOME": str(towns.home),
        "SSL_CERT_FILE": str(towns.discord.ca_path),
        **more,
    }


def slack_environ(towns: ThreeTowns, **more: str) -> dict[str, str]:
    """The same with the local Slack's address."""
    return environ_of(towns, GEODE_CHANNELS__SLACK__API_URL=towns.slack.base_url, **more)


def home_environ(home: Path, **more: str) -> dict[str, str]:
    """The same without any platform."""
    return {"GEODE_HOME": str(home), "HOME": str(home), **more}


async def paste(terminal: Terminal, label: str, value: str) -> None:
    """Choose to paste a secret, and paste it."""
    await terminal.play((f"Where is the {label}", ""), ("(not shown)", value))


async def paste_slack(terminal: Terminal, towns: ThreeTowns) -> None:
    """Both tokens of the local Slack."""
    await paste(terminal, "bot token", towns.slack.bot_token)
    await paste(terminal, "app-level token", towns.slack.app_token)


async def begin(terminal: Terminal, channel: str) -> None:
    """Everything up to the questions of one channel."""
    await terminal.play(*UNTIL_CHANNELS, (CHANNELS, channel))


def read_config(home: Path) -> dict[str, Any]:
    """The written file."""
    return tomllib.loads((home / "geode.toml").read_text())


def check_secrecy(terminal: Terminal, home: Path, *secrets: str) -> None:
    """No secret was shown, and none stands outside its own private file."""
    for path in home.rglob("*"):
        if not path.is_file() or path.is_socket():
            continue
        held = [secret for secret in secrets if secret.encode() in path.read_bytes()]
        if path.parent.name == "secrets":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        else:
            assert held == [], path
    assert [secret for secret in secrets if secret in terminal.screen] == []
