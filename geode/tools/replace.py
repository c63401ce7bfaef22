"""Replaces one file as a whole: written beside it, flushed, then renamed over it."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from geode.errors import FileRefusedError
from geode.ports import Failpoints
from geode.tools.beneath import check_plain_file, find_name, look
from geode.tools.paths import RESERVED_PREFIX

_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MARK = "user.geode.operation"
"""The extended attribute that names the operation which wrote the file."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class Replacement:
    """What one write wants."""

    name: str
    shown: str
    content: bytes
    operation: str


class Replaced(NamedTuple):
    """The file holds the new content."""

    was_new: bool
    is_flushed: bool


def replace_file(folder: int, order: Replacement, failpoints: Failpoints) -> Replaced:
    """Put the content in place; raises `OSError` or `ToolError` with everything as it was."""
    found = find_name(folder, order.name)
    target = found or unicodedata.normalize("NFC", order.name)
    status = look(folder, target)
    if status is not None:
        check_plain_file(status, order.shown)
    unfinished = unfinished_name(order.operation)
    remove_quietly(folder, unfinished)
    try:
        _write_unfinished(folder, unfinished, order, 0o600 if status is None else status.st_mode)
        failpoints.hit("rename.before:file")
        os.rename(unfinished, target, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove_quietly(folder, unfinished)
        raise
    failpoints.hit("rename.after:file")
    return Replaced(was_new=status is None, is_flushed=_flush(folder))


def unfinished_name(operation: str) -> str:
    """The reserved name under which an operation writes before the rename."""
    return f"{RESERVED_PREFIX}{operation}.tmp"


def remove_quietly(folder: int, name: str) -> None:
    """Take the name away if it is there and can be."""
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def read_mark(descriptor: int) -> str | None:
    """The operation that wrote the file; None when the file system keeps no such mark."""
    try:
        return os.getxattr(descriptor, _MARK).decode("ascii", "replace")
    except (OSError, AttributeError):
        return None


def write_refusal(exc: OSError, shown: str) -> FileRefusedError:
    """The sentence for a write the system refused."""
    if exc.errno in _FULL:
        return FileRefusedError(
            f"The disk is full; {shown} was not written and nothing was changed."
        )
    reason = os.strerror(exc.errno or 0)
    return FileRefusedError(f"{shown} was not written ({reason}); nothing was changed.")


def _write_unfinished(folder: int, name: str, order: Replacement, mode: int) -> None:
    descriptor = os.open(name, _NEW_FLAGS, 0o600, dir_fd=folder)
    try:
        rest = memoryview(order.content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, stat.S_IMODE(mode) & 0o777)
        with suppress(OSError, AttributeError):
            os.setxattr(descriptor, _MARK, order.operation.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush(folder: int) -> bool:
    try:
        os.fsync(folder)
    except OSError:
        return False
    return True
