"""Pure rules for paths the model writes: a sequence of plain names beneath the workspace."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from geode.errors import PathRefusedError

PATH_BYTES_MAX = 4096
NAME_BYTES_MAX = 255
DEPTH_MAX = 32
"""Folders deep a path may go."""
RESERVED_PREFIX = ".geode-"
"""Names of files that are being written; they are never shown and never taken."""

_DIRECTION_CONTROLS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


@dataclass(frozen=True, slots=True)
class WorkspacePath:
    """A checked path; it never holds an empty name, `.`, `..` or a separator inside a name."""

    given: tuple[str, ...]
    """The names as written; empty for the workspace itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names in their composed form (NFC)."""
        return tuple(unicodedata.normalize("NFC", name) for name in self.given)

    @property
    def text(self) -> str:
        """The path in its one normal form; equal for every spelling of the same file."""
        return "/".join(self.names) or "."


def parse_path(text: str) -> WorkspacePath:
    """Read a relative path; raises `PathRefusedError` for everything that is not one.

    `.` and empty names fall away, so `./a//b/` is `a/b`. Nothing is decoded: `%2e%2e` is a name.
    """
    if len(text.encode("utf-8", "replace")) > PATH_BYTES_MAX:
        raise PathRefusedError(f"The path is longer than {PATH_BYTES_MAX} bytes.")
    if text.startswith("/"):
        raise PathRefusedError(
            "Paths are relative to the session's workspace; this one is absolute."
        )
    names = tuple(name for name in text.split("/") if name not in {"", "."})
    if len(names) > DEPTH_MAX:
        raise PathRefusedError(f"The path is more than {DEPTH_MAX} folders deep.")
    for name in names:
        _check_name(name)
    return WorkspacePath(names)


def parse_file_path(text: str) -> WorkspacePath:
    """Read a path that must name a file, so not the workspace itself and not `name/`."""
    path = parse_path(text)
    if not path.given or text.endswith("/"):
        raise PathRefusedError("The path names a folder; a file's name is needed.")
    return path


def is_reserved(name: str) -> bool:
    """Whether the name belongs to the workspace's own unfinished files."""
    return name.startswith(RESERVED_PREFIX)


def show_name(name: str) -> str:
    """A name from the disk as harmless text: controls, direction marks and bad bytes escaped."""
    return "".join(c if _is_plain(c) else c.encode("unicode_escape").decode() for c in name)


def _check_name(name: str) -> None:
    if name == "..":
        raise PathRefusedError("The path may not contain '..'.")
    if "\\" in name:
        raise PathRefusedError(
            "The path may not contain a backslash; folders are separated by '/'."
        )
    if not all(_is_plain(c) for c in name):
        raise PathRefusedError("The path contains a control or direction character.")
    sizes = (len(name.encode()), len(unicodedata.normalize("NFC", name).encode()))
    if max(sizes) > NAME_BYTES_MAX:
        raise PathRefusedError(f"A name in the path is longer than {NAME_BYTES_MAX} bytes.")
    if is_reserved(name):
        raise PathRefusedError(f"Names that start with '{RESERVED_PREFIX}' are reserved.")


def _is_plain(character: str) -> bool:
    if character in _DIRECTION_CONTROLS:
        return False
    return unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
