"""Small real pictures, made by hand."""

from __future__ import annotations

import struct
import zlib


def make_png(width: int = 2, height: int = 2, padding: int = 0) -> bytes:
    """A white PNG, with so many bytes of text inside that no viewer shows."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\xff" * 3 * width) * height
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    if padding:
        chunks.insert(1, (b"teXt", b"x" * padding))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


JPEG = (
    b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
    b"\xff\xc0\0\x11\x08\0\x07\0\x09\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xd9"
)
"""9 pixels wide and 7 high, as far as its header goes."""
GIF = b"GIF89a\x05\0\x04\0\0\0\0;"
WEBP = b"RIFF\x1a\0\0\0WEBPVP8L\x0e\0\0\0\x2f\x02\x40\0\0" + b"\0" * 8
"""3 pixels wide and 2 high."""
SIGN_IN_PAGE = b"<!DOCTYPE html>\n<html><body>Please sign in</body></html>"
