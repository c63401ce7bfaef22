"""What a file is by its bytes alone, and how large a picture is; pure."""

from __future__ import annotations

import mimetypes
import struct
from dataclasses import dataclass
from typing import Any, cast

import puremagic

UNKNOWN = "application/octet-stream"
SURE = 0.4
"""From this confidence on a signature says more than that the bytes read as text."""
_LOOK_BYTES = 65_536
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body")
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a segment that holds the picture's size."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a kind that models look at."""

    media_type: str
    width: int
    height: int


def find_media_type(content: bytes, name: str) -> str:
    """The media type of the bytes; a name only chooses between kinds that the bytes allow."""
    picture = measure_picture(content)
    if picture is not None:
        return picture.media_type
    if is_html(content):
        return "text/html"
    found = _find_signature(content, name)
    if found and (found[1] >= SURE or not _is_text(content)):
        return found[0]
    return _name_text(name) if _is_text(content) else UNKNOWN


def is_html(content: bytes) -> bool:
    """Whether the bytes begin a web page."""
    head = content[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return head.startswith(_HTML_STARTS)


def is_meant_as_page(claimed: str, name: str) -> bool:
    """Whether a web page is what the sender says the file is, or might be."""
    guessed = mimetypes.guess_type(name)[0] or ""
    words = f"{claimed} {guessed}".lower()
    if "html" in words or "xml" in words or "text/" in words:
        return True
    return claimed in ("", UNKNOWN) and not guessed


def measure_picture(content: bytes) -> Picture | None:
    """Kind and size from the picture's own header; None for everything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        # A picture that was cut has no end chunk.
        if content[12:16] != b"IHDR" or b"IEND" not in content[-64:]:
            return None
        return _sized("image/png", content[16:24], ">II")
    if content.startswith((b"GIF87a", b"GIF89a")):
        return _sized("image/gif", content[6:10], "<HH")
    if content.startswith(b"\xff\xd8\xff"):
        return _measure_jpeg(content)
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return _measure_webp(content)
    return None


def _sized(media_type: str, raw: bytes, form: str) -> Picture | None:
    if len(raw) < struct.calcsize(form):
        return None
    width, height = struct.unpack(form, raw)
    return Picture(media_type, width, height) if width and height else None


def _measure_jpeg(content: bytes) -> Picture | None:
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in _JPEG_SIZES:
            found = _sized("image/jpeg", content[at + 5 : at + 9], ">HH")
            return Picture(found.media_type, found.height, found.width) if found else None
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return None


def _measure_webp(content: bytes) -> Picture | None:
    kind, frame = content[12:16], content[20:30]
    if len(frame) < 10:
        return None
    if kind == b"VP8X":
        width = int.from_bytes(frame[4:7], "little") + 1
        height = int.from_bytes(frame[7:10], "little") + 1
        return Picture("image/webp", width, height)
    if kind == b"VP8L" and frame[0] == 0x2F:
        bits = int.from_bytes(frame[1:5], "little")
        return Picture("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 " and frame[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", frame[6:10])
        return Picture("image/webp", width & 0x3FFF, height & 0x3FFF)
    return None


def _find_signature(content: bytes, name: str) -> tuple[str, float] | None:
    try:
        # The library has no types of its own.
        found = cast("Any", puremagic).magic_string(content)
    except (puremagic.PureError, ValueError):
        return None
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    best = next((each for each in found if each.extension == suffix), found[0])
    return (str(best.mime_type), float(best.confidence)) if best.mime_type else None


def _is_text(content: bytes) -> bool:
    head = content[:_LOOK_BYTES]
    if b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # The look may end in the middle of a character.
        return len(content) > _LOOK_BYTES and error.start > _LOOK_BYTES - 4
    return True


def _name_text(name: str) -> str:
    guessed = mimetypes.guess_type(name)[0] or ""
    is_written = guessed.startswith("text/") or guessed.endswith(("json", "xml", "javascript"))
    return guessed if is_written else "text/plain"
