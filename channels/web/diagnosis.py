"""What an operator must know of the page: whether it can listen, and who could guess a token."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence

from channels.web.places import DIRECT_MESSAGES, is_reserved
from channels.web.server import bind
from channels.web.settings import WebSettings
from geode.messages import Thread
from geode.ports import Finding

TOKEN_CHARS_MIN = 20
NO_ROOM = 'No room is served; add a [[bindings]] with channel = "web" and where = "local/room".'
IN_CLEAR = (
    "{origin} is not encrypted, so tokens and words can be read on the way; put a proxy with a "
    "certificate before it and write https."
)
RESERVED = '{where} is the name of somebody\'s own room; bind "local/dm", or another name.'


def find_findings(
    settings: WebSettings, secrets: Mapping[str, str], places: Sequence[Thread]
) -> list[Finding]:
    """Every finding; opens the listening place for a moment."""
    return [
        _look_at_listen(settings),
        *_look_at_origin(settings),
        *_look_at_tokens(secrets),
        *_look_at_rooms(places),
    ]


def _look_at_listen(settings: WebSettings) -> Finding:
    listen = settings.listen
    try:
        bind(settings.host, settings.port).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            taken = f"{listen} is taken: by a running geode serve, or by a program to stop"
            return Finding("warning", "listen", f"{taken}; else change listen.")
        reason = f"Nothing can listen on {listen} ({error.strerror}); change listen."
        return Finding("fault", "listen", reason)
    return Finding("ok", "listen", f"{listen} is free.")


def _look_at_origin(settings: WebSettings) -> list[Finding]:
    origin = settings.origin
    if not origin:
        return []
    is_clear = origin.startswith("http:") and not settings.is_local
    found = ("warning", IN_CLEAR.format(origin=origin)) if is_clear else ("ok", f"{origin} is it.")
    return [Finding(found[0], "origin", found[1])]


def _look_at_tokens(secrets: Mapping[str, str]) -> list[Finding]:
    return [
        Finding(
            "warning",
            name,
            f"It has only {len(value)} characters; make one with `openssl rand -base64 24`.",
        )
        for name, value in secrets.items()
        if len(value) < TOKEN_CHARS_MIN
    ]


def _look_at_rooms(places: Sequence[Thread]) -> list[Finding]:
    if not places:
        return [Finding("fault", "rooms", NO_ROOM)]
    names = dict.fromkeys(place.channel for place in places)
    wrong = [name for name in names if name != DIRECT_MESSAGES and is_reserved(name)]
    faults = [Finding("fault", "rooms", RESERVED.format(where=f"local/{each}")) for each in wrong]
    return faults or [Finding("ok", "rooms", f"Served: {', '.join(names)}.")]
