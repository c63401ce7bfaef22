"""Server-sent events from bytes as they arrive; pure."""

from __future__ import annotations

EVENT_BYTES_MAX = 16 * 1024 * 1024
"""One event longer than this is a broken stream."""


class EventTooLongError(ValueError):
    """The stream sent more than one event may hold."""


class SseParser:
    """Cuts a byte stream into the data of its events; names, ids and comments are dropped.

    An event that the stream ends in the middle of is never given out.
    """

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._lines: list[bytes] = []
        self._lines_size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every event that this chunk completes."""
        head, newline, rest = chunk.rpartition(b"\n")
        if not newline:
            self._keep(chunk)
            return []
        whole = b"".join([*self._pending, head]) if self._pending else head
        self._pending.clear()
        self._pending_size = 0
        if rest:
            self._keep(rest)
        events: list[bytes] = []
        for line in whole.split(b"\n"):
            self._take_line(line.removesuffix(b"\r"), events)
        return events

    def _keep(self, piece: bytes) -> None:
        self._pending.append(piece)
        self._pending_size += len(piece)
        if self._pending_size > EVENT_BYTES_MAX:
            raise EventTooLongError("one event is too long")

    def _take_line(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            self._lines.append(line[5:].removeprefix(b" "))
            self._lines_size += len(line)
            if self._lines_size > EVENT_BYTES_MAX:
                raise EventTooLongError("one event is too long")
        elif not line and self._lines:
            events.append(self._lines[0] if len(self._lines) == 1 else b"\n".join(self._lines))
            self._lines.clear()
            self._lines_size = 0
