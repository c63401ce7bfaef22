"""Answers that would flood a thread: their beginning, and the whole as a file; pure."""

from __future__ import annotations

import re

from wcwidth import grapheme_boundary_before

PARTS_SHOWN_MAX = 50
"""An answer of more messages than this goes as a file; a report of 151,000 characters is said."""
BEGIN_CHARS_MAX = 2_500
NAME = "answer.md"
MEDIA_TYPE = "text/markdown"
TOLD = "This is the beginning of a long answer; the whole of it is attached as `{name}`."

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})", re.MULTILINE)


def is_long(parts: int) -> bool:
    """Whether an answer of so many messages goes as a file."""
    return parts > PARTS_SHOWN_MAX


def shorten_answer(text: str) -> str:
    """The beginning of an answer, at the end of a paragraph, with no code left open."""
    # Where nothing is a paragraph, the end is at least that of a character as a reader sees it.
    begin = text[: grapheme_boundary_before(text, BEGIN_CHARS_MAX + 1) or BEGIN_CHARS_MAX]
    at = max(begin.rfind("\n\n"), begin.rfind("\n") if "\n\n" not in begin else -1)
    begin = (begin[:at] if at > BEGIN_CHARS_MAX // 2 else begin).rstrip()
    return f"{_closed(begin)}\n\n{TOLD.format(name=NAME)}"


def _closed(begin: str) -> str:
    opened = ""
    for found in _FENCE.finditer(begin):
        marker = found[1]
        if not opened:
            opened = marker
        elif marker[0] == opened[0] and len(marker) >= len(opened):
            opened = ""
    return f"{begin}\n{opened}" if opened else begin
