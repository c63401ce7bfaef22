"""What the person at the terminal did as the port's events; pure."""

from __future__ import annotations

import re

from geode.messages import Button, ButtonPress, ChatCommand, FileRef, InboundMessage, Person
from geode.spoken import command_of, read_said
from geode.transcripts import RoomMessage

SKIPS_VERIFICATION = "skips_verification"
"""In the payload of a kept message, so that a restart before it is handed in forgets nothing."""
_SLASH = re.compile(r"/(?P<verb>[A-Za-z]{2,20})(?:\s+(?P<argument>.*))?", re.DOTALL)
"""What people take for a command; a path has more than this in its first word."""


def read_message(
    message: RoomMessage, *, is_catch_up: bool = False
) -> InboundMessage | ChatCommand:
    """A kept message as what it is: something said, or a command, known or not."""
    assert message.author is not None, "a person's message has an author"
    said = InboundMessage(
        thread=message.thread,
        message_id=message.id,
        order_key=message.id,
        dedupe_key=message.id,
        sender=message.author,
        text=str(message.payload.get("text", "")),
        is_addressed=True,
        sent_at_us=message.said_at_us,
        is_catch_up=is_catch_up,
        files=tuple(
            FileRef(f"{message.id}/{number}", file.name, file.media_type, file.size_bytes)
            for number, file in enumerate(message.files)
        ),
        skips_verification=message.payload.get(SKIPS_VERIFICATION) is True,
    )
    read = read_said(said, is_mention=True)
    found = _SLASH.fullmatch(said.text.strip())
    if isinstance(read, ChatCommand) or found is None or said.files:
        return read
    # One that nobody knows: its writer is told so, and the model is not asked.
    return command_of(said, found["verb"].lower(), (found["argument"] or "").strip())


def read_press(
    card: RoomMessage, presser: Person, button: Button, *, words: str, key: str
) -> ButtonPress:
    """A press as the port knows it; the same key again is the same press."""
    return ButtonPress(
        thread=card.thread,
        message_id=card.id,
        presser=presser,
        nonce=button.nonce,
        dedupe_key=f"press:{card.id}:{key}",
        text=words,
    )
