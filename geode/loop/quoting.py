"""Delimiters between people, runtime and data that no quoted text can forge; pure."""

from __future__ import annotations

import re

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
)

_INVISIBLE = "[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
_NAMES = "|".join(_INVISIBLE.join(re.escape(char) for char in tag) for tag in TAGS)
_FORGED = re.compile(rf"[<\uff1c\ufe64](?=[^\w<]{{0,8}}(?:{_NAMES}))", re.IGNORECASE)
_NOT_IN_NAME = re.compile(
    r"[\x00-\x1f\x7f<>\"\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069]"
)
NAME_CHARS_MAX = 80


def defuse(text: str) -> str:
    """The text with everything that looks like one of our delimiters made harmless.

    Other angle brackets stay as they are, so code keeps its form.
    """
    if "<" not in text and "\uff1c" not in text and "\ufe64" not in text:
        return text
    return _FORGED.sub("&lt;", text)


def clean_name(name: str) -> str:
    """A display name that fits between quotation marks on one line."""
    return _NOT_IN_NAME.sub("", name).strip()[:NAME_CHARS_MAX]


def write_note(text: str) -> Message:
    """A message of the runtime to the model."""
    return Message("user", (Text(f"<{NOTE_TAG}>\n{defuse(text)}\n</{NOTE_TAG}>"),))


def is_note(message: Message) -> bool:
    """Whether the runtime wrote the message, not a person."""
    return message.is_note


def clip_middle(text: str, chars_max: int) -> str:
    """The text, or its beginning and end with the size of what is left out."""
    if len(text) <= chars_max:
        return text
    head = chars_max * 3 // 4
    tail = chars_max - head
    return f"{text[:head]}\n[… {len(text) - chars_max} characters left out …]\n{text[-tail:]}"
