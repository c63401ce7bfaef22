"""Text from elsewhere made fit for a terminal: it moves nothing, hides nothing, rings nothing."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    "(?:\x1b[PX^_\\]]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    "|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def clean_text(text: str) -> str:
    """The text without control sequences and control characters; lines and tabs stay."""
    whole = text.replace("\r\n", "\n")
    # What is left of a sequence that was cut or nested is text: nothing in it can act.
    return _CONTROL.sub("", _SEQUENCE.sub("", whole))


def clean_line(text: str) -> str:
    """The same on one line."""
    return " ".join(clean_text(text).split())
