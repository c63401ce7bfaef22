"""A command is told from a message that only looks like one (IN-04)."""

from __future__ import annotations

import pytest

from geode.spoken import parse_command


@pytest.mark.parametrize(
    ("text", "is_mention", "command"),
    [
        ("!status", False, ("status", "")),
        ("  !Status  ", False, ("status", "")),
        ("！status", False, ("status", "")),
        ("!why c12", False, ("why", "c12")),
        ("!stop\nand forget it", False, ("stop", "and forget it")),
        ("status", True, ("status", "")),
        ("/new", True, ("new", "")),
        ("／new", True, ("new", "")),
        ("/model anthropic/x", True, ("model", "anthropic/x")),
        ("!reset", False, ("new", "")),
        ("/id", True, ("whoami", "")),
        ("!COMPRESS", False, ("compact", "")),
    ],
)
def test_command_is_read(text: str, is_mention: bool, command: tuple[str, str]) -> None:
    assert parse_command(text, is_mention=is_mention) == command


@pytest.mark.parametrize(
    ("text", "is_mention"),
    [
        ("status", False),
        ("/status", False),
        ("stop the server", True),
        ("!important: read this", False),
        ("!", True),
        ("", True),
        ("help me", True),
        ("reset", True),
        ("id", True),
        ("stop\nthe server", True),
        ("say !stop", False),
    ],
)
def test_message_is_no_command(text: str, is_mention: bool) -> None:
    assert parse_command(text, is_mention=is_mention) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [("status", None), ("help", None), ("!status", ("status", "")), ("/help", ("help", ""))],
)
def test_bare_verb_is_a_request_where_it_would_open_a_thread(
    text: str, command: tuple[str, str] | None
) -> None:
    assert parse_command(text, is_mention=True, opens_thread=True) == command
