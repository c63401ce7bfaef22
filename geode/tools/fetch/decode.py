"""Undoes a body's compression in small steps, so that a bomb never unfolds in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from geode.errors import FetchRefusedError

ACCEPTED_ENCODINGS = "gzip, deflate"

_STEP_BYTES = 1 << 16
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class BodyDecoder:
    """Turns the bytes of one response body into plain bytes, at most 64 kB at a time."""

    def __init__(self, content_encoding: str) -> None:
        encoding = content_encoding.strip().lower()
        if encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise FetchRefusedError(
                f"The page is compressed as {encoding[:40]}, which is not read."
            )
        self._is_plain = encoding in {"", "identity"}
        self._window = zlib.MAX_WBITS if encoding == "deflate" else _GZIP_WINDOW
        self._inflater = zlib.decompressobj(self._window)
        self._has_output = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The plain bytes of the next chunk; raises `FetchRefusedError` when it is broken."""
        if self._is_plain:
            yield chunk
            return
        rest = chunk
        while rest:
            if self._inflater.eof:
                # A gzip body may have several members; padding after the last one is dropped.
                if self._window != _GZIP_WINDOW or not rest.startswith(b"\x1f"):
                    return
                self._inflater = zlib.decompressobj(self._window)
            plain = self._inflate(rest)
            rest = (
                self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
            )
            if plain:
                yield plain

    def _inflate(self, chunk: bytes) -> bytes:
        try:
            plain = self._inflater.decompress(chunk, _STEP_BYTES)
        except zlib.error as exc:
            if self._window != zlib.MAX_WBITS or self._has_output:
                raise FetchRefusedError("The page's compression is broken.") from exc
            # Many servers send "deflate" without the zlib header.
            self._window = -zlib.MAX_WBITS
            self._inflater = zlib.decompressobj(self._window)
            return self._inflate(chunk)
        self._has_output = self._has_output or bool(plain)
        return plain
