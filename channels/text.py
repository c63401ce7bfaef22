"""Splits text within a platform's limit: pure, nothing lost, no code fence left open."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from wcwidth import grapheme_boundary_before

Measure = Callable[[str], int]
"""Length of a text as the platform counts it: additive, and never less than its code points."""

INFO_CHARS_MAX = 40
"""A fence's info string above this is no language name: it becomes the code's first line."""

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<marker>`{3,}|~{3,})(?P<info>[^\n]*)\n?")


def utf16_length(text: str) -> int:
    """UTF-16 code units: at least as many as code points, so safe under either reading."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split_markdown(text: str, limit: int, measure: Measure = len) -> list[str]:
    """Split Markdown into parts of at most `limit`; an open fence is closed and opened again.

    Without the added fence lines the parts, joined, are the source minus white space at the
    splits. `limit` must leave room for a fence and one character.
    """
    splitter = _Splitter(limit, measure)
    for line in _LINES.findall(text):
        splitter.add(line)
    return splitter.finish()


def cut_text(text: str, limit: int, measure: Measure = len) -> tuple[str, str]:
    """Cut a text that is too long into a head of at most `limit` and the rest; nothing is lost.

    Cuts after white space when that wastes less than half, otherwise between whole characters as
    a reader sees them; a single one that does not fit is cut between its code points.
    """
    longest = _longest_prefix(text, limit, measure)
    if longest == len(text):
        return text, ""
    whole = _cluster_start(text, longest)
    for position in range(whole, longest // 2, -1):
        if text[position - 1].isspace() and _cluster_start(text, position) == position:
            return text[:position], text[position:]
    if whole:
        return text[:whole], text[whole:]
    return text[: max(longest, 1)], text[max(longest, 1) :]


def _longest_prefix(text: str, limit: int, measure: Measure) -> int:
    low, high = 0, min(len(text), limit)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(text[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _cluster_start(text: str, position: int) -> int:
    """Where the character begins, as a reader sees it, that the position stands in."""
    return grapheme_boundary_before(text, position + 1)


@dataclass(frozen=True, slots=True)
class _Fence:
    indent: str
    marker: str
    info: str

    @property
    def opening(self) -> str:
        return f"{self.indent}{self.marker}{self.info}\n"

    @property
    def closing(self) -> str:
        return f"{self.indent}{self.marker}"

    def is_closed_by(self, line: str) -> bool:
        found = _FENCE.fullmatch(line)
        return (
            found is not None
            and found["marker"][0] == self.marker[0]
            and len(found["marker"]) >= len(self.marker)
            and not found["info"].strip()
        )


def _opened_fence(line: str, limit: int, measure: Measure) -> _Fence | None:
    found = _FENCE.fullmatch(line)
    if found is None or ("`" in found["info"] and found["marker"][0] == "`"):
        return None
    if measure(found["indent"] + found["marker"]) > limit // 8:
        # No renderer is helped by a fence this long; the text stays, as text.
        return None
    is_short = measure(found["info"]) <= min(INFO_CHARS_MAX, limit // 8)
    return _Fence(found["indent"], found["marker"], found["info"].rstrip() if is_short else "")


class _Splitter:
    def __init__(self, limit: int, measure: Measure) -> None:
        self._limit = limit
        self._measure = measure
        self._parts: list[str] = []
        self._part = ""
        self._fence: _Fence | None = None
        self._fence_from = 0
        """Where the open fence's opening line begins in the present part."""
        self._safe_from = 0
        """From here on the present part holds no fence line."""

    def add(self, line: str) -> None:
        if self._fence is not None and self._fence.is_closed_by(line):
            self._close_fence(line.rstrip())
            return
        opened = None if self._fence else _opened_fence(line, self._limit, self._measure)
        if opened is None:
            self._add_content(line)
        else:
            self._open_fence(opened)
            if not opened.info and line.strip(" \t\n`~"):
                self._add_content(f"{line.strip().lstrip(opened.marker[0]).strip()}\n")

    def finish(self) -> list[str]:
        if self._fence is not None:
            self._close_fence(self._fence.closing)
        self._emit(self._part)
        return self._parts

    def _open_fence(self, fence: _Fence) -> None:
        line_room = self._limit // 8
        if self._room() < self._measure(fence.opening + fence.closing) + 1 + line_room:
            self._flush()
        self._fence_from = len(self._part)
        self._part += fence.opening
        self._fence = fence

    def _close_fence(self, line: str) -> None:
        assert self._fence is not None
        closed = _joined_line(self._part, line)
        if self._measure(closed) > self._limit:
            closed = _joined_line(self._part, self._fence.closing)
        self._part, self._fence, self._safe_from = closed, None, len(closed)
        if self._measure(self._part) < self._limit:
            self._part += "\n"

    def _room(self) -> int:
        reserved = self._measure(self._fence.closing) + 1 if self._fence else 0
        return self._limit - self._measure(self._part) - reserved

    def _add_content(self, line: str) -> None:
        while self._measure(line) > self._room():
            if self._has_content():
                self._flush()
                continue
            if self._fence is None:
                self._part = ""
            head, line = cut_text(line, self._room(), self._measure)
            self._part += head
            self._flush()
        self._part += line

    def _has_content(self) -> bool:
        if self._fence is None:
            return bool(self._part.strip())
        return not self._is_just_opened() or bool(self._part[: self._fence_from].strip())

    def _is_just_opened(self) -> bool:
        assert self._fence is not None
        return len(self._part) == self._fence_from + len(self._fence.opening)

    def _flush(self) -> None:
        """End the present part; what must stay together moves to the next one."""
        if self._fence is None:
            head, self._part = self._at_paragraph(self._part)
        elif self._is_just_opened():
            head, self._part = self._part[: self._fence_from], self._fence.opening
        else:
            head = _joined_line(self._part, self._fence.closing)
            self._part = self._fence.opening
        self._safe_from, self._fence_from = 0, 0
        self._emit(head)

    def _at_paragraph(self, part: str) -> tuple[str, str]:
        at = part.rfind("\n\n")
        if at >= self._safe_from and self._measure(part[:at]) >= self._limit // 2:
            return part[:at], part[at:].lstrip("\n")
        return part, ""

    def _emit(self, part: str) -> None:
        stripped = part.strip("\n").rstrip()
        if stripped.strip():
            self._parts.append(stripped)


def _joined_line(part: str, line: str) -> str:
    return part + line if part.endswith("\n") else f"{part}\n{line}"
