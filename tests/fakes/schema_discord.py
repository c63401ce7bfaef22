"""Requests to Discord against the API document that Discord publishes (npm: discord-api-spec)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from fakes.schema_files import faults_of, load

from channels.rehearsal.observers import Heard

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""Named differences between the document and the platform: (address, fault) and the reason."""


@cache
def _addresses() -> list[tuple[re.Pattern[str], str]]:
    """Every address as a pattern, the most literal first."""
    document = load("discord")
    names = sorted([*document["operations"], *document["unread"]], key=lambda n: n.count("{"))
    return [
        (
            re.compile(
                re.sub(r"\{\w+\}", "[^/]+", re.escape(n).replace(r"\{", "{").replace(r"\}", "}"))
            ),
            n,
        )
        for n in names
    ]


@cache
def _shape_of(address: str) -> str:
    return next((name for pattern, name in _addresses() if pattern.fullmatch(address)), "")


def check_discord(heard: Heard) -> list[str]:
    """What Discord's document has against a request."""
    name = _shape_of(heard.address)
    operation: dict[str, Any] | None = load("discord")["operations"].get(name)
    if operation is None:
        return [f"no such operation: {heard.address}"]
    faults = [f"unknown query field {q}" for q in heard.query if q not in operation["query"]]
    if operation["body"] is not None and heard.body is not None:
        faults += faults_of("discord", operation["body"], heard.body)
    elif heard.body is not None:
        faults.append("a body where the document has none")
    return [fault for fault in faults if (name, fault) not in EXCEPTIONS]
