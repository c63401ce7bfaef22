"""Names that people gave their files, made safe for a workspace; pure."""

from __future__ import annotations

import unicodedata

NAME_CHARS_MAX = 80
NAME_BYTES_MAX = 200
"""Leaves room for a number behind it."""
SUFFIX_CHARS_MAX = 12
_NOT_IN_NAME = frozenset('<>"|?*:`[]')
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean_file_name(name: str) -> str:
    """One plain composed name: no folders, nothing hidden, nothing unseen, never empty."""
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rstrip("/").rpartition("/")[2]
    seen = "".join(
        "_" if c in _NOT_IN_NAME else " " if unicodedata.category(c) == "Zs" else c
        for c in last
        if unicodedata.category(c) not in _UNSEEN
    )
    stem, suffix = split_suffix(" ".join(seen.split()).lstrip(". ").rstrip(". "))
    stem = stem[: NAME_CHARS_MAX - len(suffix)]
    while len((stem + suffix).encode()) > NAME_BYTES_MAX:
        stem = stem[:-1]
    return unicodedata.normalize("NFC", (stem.rstrip() + suffix)) or "file"


def number_name(name: str, number: int) -> str:
    """The name itself for the first, `name-2.ext` for the second that wants it."""
    if number == 1:
        return name
    stem, suffix = split_suffix(name)
    return f"{stem}-{number}{suffix}"


def split_suffix(name: str) -> tuple[str, str]:
    """The name before its suffix, and the suffix with its dot where there is a short one."""
    stem, dot, suffix = name.rpartition(".")
    if not stem or not dot or not suffix or len(suffix) > SUFFIX_CHARS_MAX or " " in suffix:
        return name, ""
    return stem, dot + suffix
