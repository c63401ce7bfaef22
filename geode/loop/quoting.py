"""Delimiters between people, runtime and data that no quoted text can forge; pure."""

from __future__ import annotations

import re

from geode import delimiters
from geode.messages import NOTE_TAG, Message, Text

TAGS = (
    "message",
    "earlier",
    "edited",
    "runtime",
    "summary",
    "transcript",
    "first-request",
    "current-request",
    "child-answer",
)

_NOT_IN_NAME = re.compile(
    r"[\x00-\x1f\x7f<>\"\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069]"
)
NAME_CHARS_MAX = 80


def defuse(text: str) -> str:
    """The text with everything that looks like one of our delimiters made harmless."""
    return delimiters.defuse(text, TAGS)


def clean_name(name: str) -> str:
    """A display name that fits between quotation marks on one line."""
    return _NOT_IN_NAME.sub("", name).strip()[:NAME_CHARS_MAX]


def write_note(text: str) -> Message:
    """A message of the runtime to the model."""
    return Message("user", (Text(f"<{NOTE_TAG}>\n{defuse(text)}\n</{NOTE_TAG}>"),))


def is_note(message: Message) -> bool:
    """Whether the runtime wrote the message, not a person."""
    return message.is_note
