"""What the operator sets for the page in the browser: where it listens and who may come."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Annotated

from pydantic import AfterValidator, model_validator

from geode.settings import HttpUrl, SecretRef, Section

_LISTEN = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})")
PORT_MAX = 65_535
LOCAL = "local"
"""The person at this machine, and whoever holds `token`."""


def _check_listen(value: str) -> str:
    found = _LISTEN.fullmatch(value)
    if found is None or int(found[1]) > PORT_MAX:
        raise ValueError('is no place to listen; write it as "127.0.0.1:8484"')
    return value


class WebSettings(Section):
    """`[channels.web]`: the page, on loopback for the person at this machine unless told else."""

    listen: Annotated[str, AfterValidator(_check_listen)] = "127.0.0.1:8484"
    """Host and port; another host than loopback needs a token and `origin`."""
    origin: HttpUrl = ""
    """How browsers reach it, such as `https://chat.example.org`; empty: by `listen`."""
    token: SecretRef | None = None
    """Who knows it signs in as the person `local`."""
    tokens: Mapping[str, SecretRef] = {}
    """More people: each one's id, and the token with which they sign in."""

    @property
    def host(self) -> str:
        """The host of `listen`, without brackets."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port of `listen`; 0: any free one."""
        return int(self.listen.rpartition(":")[2])

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def has_tokens(self) -> bool:
        """Whether people sign in."""
        return self.token is not None or bool(self.tokens)

    def built_in_bindings(self) -> Sequence[Mapping[str, object]]:
        """On loopback the person at this machine is operator of one room."""
        if not self.is_local:
            return ()
        binding: dict[str, object] = {
            "channel": "web",
            "where": "local/room",
            "people": [LOCAL],
            "operators": [LOCAL],
            "respond": "always",
        }
        return (binding,)

    @model_validator(mode="after")
    def _open_places_have_tokens(self) -> WebSettings:
        if not self.is_local and not self.has_tokens:
            raise ValueError('listen is no loopback address, so it needs token = "env:NAME"')
        if not self.is_local and not self.origin:
            raise ValueError(
                "listen is no loopback address, so it needs origin, the address people open"
            )
        return self
