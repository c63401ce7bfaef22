"""What people did on the page as the port's events; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from channels.web.places import is_direct
from geode.messages import ButtonPress, ChatCommand, FileRef, InboundMessage, Person, Thread
from geode.spoken import command_of, read_said
from geode.transcripts import RoomMessage

WORDS_CHARS_MAX = 20_000
"""Of one message or one answer to a card."""
_SLASH = re.compile(r"/(?P<verb>[A-Za-z]{2,20})(?:\s+(?P<argument>.*))?", re.DOTALL)
"""What people take for a command; a path has more than this in its first word."""


@dataclass(frozen=True, slots=True)
class Pressing:
    """A pressed button as its form sends it."""

    place: Thread
    message_id: str
    nonce: str
    key: str
    words: str = ""


def read_message(
    message: RoomMessage, *, is_catch_up: bool = False
) -> InboundMessage | ChatCommand:
    """A person's kept message as what it is: something said, or a command."""
    assert message.author is not None, "a person's message has an author"
    is_alone = is_direct(message.thread)
    said = _read_command(
        InboundMessage(
            thread=message.thread,
            message_id=message.id,
            order_key=message.id,
            dedupe_key=message.id,
            sender=message.author,
            text=str(message.payload.get("text", "")),
            is_addressed=True,
            is_direct=is_alone,
            sent_at_us=message.said_at_us,
            is_catch_up=is_catch_up,
            files=_list_files(message),
        )
    )
    # The answer is for whoever asked: the page shows it to nobody else.
    return replace(said, is_private=True) if isinstance(said, ChatCommand) else said


def _read_command(message: InboundMessage) -> InboundMessage | ChatCommand:
    """A command, also one that nobody knows: its writer is told so, and the model is not asked."""
    said = read_said(message, is_mention=True)
    found = _SLASH.fullmatch(message.text.strip())
    if isinstance(said, ChatCommand) or found is None or message.files:
        return said
    return command_of(message, found["verb"].lower(), (found["argument"] or "").strip())


def read_press(pressing: Pressing, person: Person) -> ButtonPress:
    """A press as the port knows it; the same form twice is one press."""
    return ButtonPress(
        thread=pressing.place,
        message_id=pressing.message_id,
        presser=person,
        nonce=pressing.nonce,
        dedupe_key=f"press:{pressing.message_id}:{person.id}:{pressing.key}",
        text=pressing.words,
        is_direct=is_direct(pressing.place),
    )


def _list_files(message: RoomMessage) -> tuple[FileRef, ...]:
    return tuple(
        FileRef(f"{message.id}/{number}", file.name, file.media_type, file.size_bytes)
        for number, file in enumerate(message.files)
    )
