"""What an operator must know of the page: whether it can listen, and who could guess a token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from channels.web.server import bind
from channels.web.settings import WebSettings
from geode.messages import Thread
from geode.ports import Finding

TOKEN_CHARS_MIN = 20
NO_ROOM = 'No room is served; add a [[bindings]] with channel = "web" and where = "local/room".'


def find_findings(
    settings: WebSettings, secrets: Mapping[str, str], places: Sequence[Thread]
) -> list[Finding]:
    """Every finding; opens the listening place for a moment."""
    return [_look_at_listen(settings), *_look_at_tokens(secrets), *_look_at_rooms(places)]


def _look_at_listen(settings: WebSettings) -> Finding:
    try:
        bind(settings.host, settings.port).close()
    except OSError as error:
        return Finding(
            "warning",
            "listen",
            f"{settings.listen} is taken ({error.strerror}): by a running daemon of this "
            "configuration, or change listen.",
        )
    return Finding("ok", "listen", f"{settings.listen} is free")


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
    if places:
        return [Finding("ok", "rooms", ", ".join(place.channel for place in places))]
    sentence = (
        'No room is served; add a [[bindings]] with channel = "web" and where = "local/room".'
    )
    return [Finding("fault", "rooms", sentence)]
