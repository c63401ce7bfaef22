"""Tells text from binary by the first bytes, and names the kind where that is cheap."""

from __future__ import annotations

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x7fELF", "a program (ELF)"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_LOOK_BYTES = 8_000
_DOCUMENTS = frozenset({"a PDF document", "a ZIP archive or an Office document"})


def explain_binary(shown: str, kind: str, size: int) -> str:
    """What is said of a file in the place of its text, and which tool may read it."""
    hint = "; read_document may read it" if kind in _DOCUMENTS else ""
    return f"{shown} is {kind}, {size:,} bytes; it is not shown as text{hint}."


def name_binary(head: bytes) -> str | None:
    """What kind of binary these first bytes begin; None for text, however broken."""
    for signature, kind in _SIGNATURES:
        if head.startswith(signature) and _has_binary_bytes(head):
            return kind
    return "data that is not UTF-8 text" if _has_binary_bytes(head) else None


def _has_binary_bytes(head: bytes) -> bool:
    """A NUL, or more than a third control and invalid bytes, is not how text looks."""
    seen = head[:_LOOK_BYTES]
    if b"\x00" in seen:
        return True
    odd = sum(1 for c in seen.decode("utf-8", "replace") if c == "\ufffd" or _is_control(c))
    # Small files are shown: a few broken bytes are more useful than a refusal.
    return len(seen) > 64 and odd * 3 > len(seen)


def _is_control(character: str) -> bool:
    return ord(character) < 0x20 and character not in "\t\n\r\x0b\x0c\x1b"
