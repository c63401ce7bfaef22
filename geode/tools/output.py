"""Bounds what a tool may say: head and tail within a cap, valid UTF-8, the true size named."""

from __future__ import annotations

OUTPUT_BYTES_MAX = 48_000
"""What one tool result may weigh as UTF-8."""

_CONTINUATION = range(0x80, 0xC0)
_CONTROLS = {
    code: f"\\x{code:02x}"
    for code in (*range(0x20), *range(0x7F, 0xA0))
    if chr(code) not in "\t\n\r"
}


def escape_controls(text: str) -> str:
    r"""The text with terminal controls shown as \xNN; tab, line feed and return stay."""
    return text.translate(_CONTROLS)


def decode_text(raw: bytes) -> str:
    """UTF-8 with each invalid sequence as U+FFFD and controls made visible."""
    return escape_controls(raw.decode("utf-8", "replace"))


def cap_text(text: str, bytes_max: int = OUTPUT_BYTES_MAX, true_size: int | None = None) -> str:
    """The text itself when it fits, otherwise its head and tail around a marker.

    The result is at most `bytes_max` bytes of UTF-8. The marker names `true_size`, or the size of
    the text when that is not given. Lone surrogates become question marks.
    """
    whole = text.encode("utf-8", "replace")
    size = len(whole) if true_size is None else true_size
    if len(whole) <= bytes_max:
        return whole.decode()
    return _join(whole, whole, size, bytes_max)


def cap_bytes(head: bytes, tail: bytes, size: int, bytes_max: int = OUTPUT_BYTES_MAX) -> str:
    """Text of something `size` bytes long of which only the two ends were read.

    When nothing lies between the ends, `head` alone must hold the whole.
    """
    if size <= len(head):
        return cap_text(decode_text(head), bytes_max, size)
    return _join(
        decode_text(_drop_broken_end(head)).encode(),
        decode_text(_drop_broken_start(tail)).encode(),
        size,
        bytes_max,
    )


class OutputWindow:
    """Keeps the first and last bytes of a stream of any length in bounded memory."""

    __slots__ = ("_head", "_tail", "bytes_max", "size")

    def __init__(self, bytes_max: int = OUTPUT_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self.size += len(chunk)
        room = self.bytes_max - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(0, len(chunk) - self.bytes_max) :]
        del self._tail[: -self.bytes_max]

    def text(self) -> str:
        """What was kept, within the cap."""
        return cap_bytes(bytes(self._head), bytes(self._tail), self.size, self.bytes_max)


def _join(head: bytes, tail: bytes, size: int, bytes_max: int) -> str:
    marker = f"\n[… cut here: only the start and the end of {size:,} bytes are shown …]\n".encode()
    room = bytes_max - len(marker)
    if room <= 0:
        return _first(head, bytes_max).decode()
    tail_room = room // 3
    return (_first(head, room - tail_room) + marker + _last(tail, tail_room)).decode()


def _first(whole: bytes, count: int) -> bytes:
    """At most `count` bytes from the start of valid UTF-8, cut between characters."""
    end = min(max(count, 0), len(whole))
    while 0 < end < len(whole) and whole[end] in _CONTINUATION:
        end -= 1
    return whole[:end]


def _last(whole: bytes, count: int) -> bytes:
    """At most `count` bytes from the end of valid UTF-8, cut between characters."""
    start = max(len(whole) - max(count, 0), 0)
    while start < len(whole) and whole[start] in _CONTINUATION:
        start += 1
    return whole[start:]


def _drop_broken_end(raw: bytes) -> bytes:
    """Without the beginning of a character whose rest was not read."""
    for back in range(1, min(4, len(raw)) + 1):
        lead = raw[-back]
        if lead in _CONTINUATION:
            continue
        needed = 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4
        return raw[:-back] if 0xC2 <= lead < 0xF5 and needed > back else raw
    return raw


def _drop_broken_start(raw: bytes) -> bytes:
    """Without the end of a character whose beginning was not read."""
    start = 0
    while start < min(3, len(raw)) and raw[start] in _CONTINUATION:
        start += 1
    return raw[start:]
