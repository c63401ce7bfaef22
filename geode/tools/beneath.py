"""Opens things beneath a folder's descriptor, one plain name at a time, and follows no link."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from geode.errors import FileRefusedError, PathRefusedError
from geode.tools.paths import is_reserved

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe that replaced the file after the look would hang the open.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
WALK_DEPTH_MAX = 64

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link, and links are not followed",
    stat.S_IFIFO: "a pipe, not a file",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing met on a walk; `folder` is open only until the walk goes on."""

    names: tuple[str, ...]
    status: os.stat_result
    folder: int

    @property
    def name(self) -> str:
        """Its own name in its folder."""
        return self.names[-1]

    @property
    def is_file(self) -> bool:
        """A plain file with this one name only."""
        return stat.S_ISREG(self.status.st_mode) and self.status.st_nlink == 1

    @property
    def is_folder(self) -> bool:
        """A real folder."""
        return is_folder(self.status)


def find_name(folder: int, name: str) -> str | None:
    """The spelling under which the folder holds the name: as given, composed, or equal to it."""
    composed = unicodedata.normalize("NFC", name)
    for spelling in (name, composed):
        if look(folder, spelling) is not None:
            return spelling
    if name.isascii():
        return None
    return next(
        (n for n in sorted(os.listdir(folder)) if unicodedata.normalize("NFC", n) == composed), None
    )


def look(folder: int, name: str) -> os.stat_result | None:
    """The status of what the name is itself, not of what it points to; None when absent."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def look_up(folder: int, name: str) -> os.stat_result | None:
    """The status of what the folder holds under any spelling of the name."""
    found = find_name(folder, name)
    return None if found is None else look(folder, found)


def is_folder(status: os.stat_result) -> bool:
    """Whether the status is a real folder's."""
    return stat.S_ISDIR(status.st_mode)


def check_plain_file(status: os.stat_result, shown: str) -> None:
    """Raise unless the status is a regular file with exactly one name."""
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "not a file")
        raise PathRefusedError(f"{shown} is {kind}.")
    # A second name may lie outside the workspace, so such a file is not the session's own.
    if status.st_nlink > 1:
        raise PathRefusedError(f"{shown} has more than one name (a hard link) and is not opened.")


@contextmanager
def open_file(folder: int, name: str, shown: str) -> Generator[int, None, None]:
    """A regular file of the folder, open for reading."""
    found = find_name(folder, name)
    status = look(folder, found) if found is not None else None
    if found is None or status is None:
        raise FileRefusedError(f"There is no file {shown}.")
    check_plain_file(status, shown)
    try:
        descriptor = os.open(found, READ_FLAGS, dir_fd=folder)
    except OSError as exc:
        raise _refusal(exc, shown) from exc
    try:
        check_plain_file(os.fstat(descriptor), shown)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_folder(
    start: int, names: tuple[str, ...], *, made: list[tuple[str, ...]] | None = None
) -> Generator[int, None, None]:
    """The folder that the names lead to from `start`.

    With `made`, missing folders are created (0700) and recorded there, outermost first.
    """
    descriptor = os.dup(start)
    try:
        for depth, name in enumerate(names, 1):
            shown = "/".join(names[:depth])
            found = find_name(descriptor, name)
            if found is None and made is not None:
                found = unicodedata.normalize("NFC", name)
                _make_folder(descriptor, found, shown)
                made.append((*names[: depth - 1], found))
            inner = _enter(descriptor, found, shown)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def walk(folder: int, names: tuple[str, ...] = ()) -> Iterator[Entry]:
    """Everything beneath the folder, sorted by name, folders before what they hold.

    Links are met but not entered, unfinished files are met too, and what vanishes meanwhile is
    passed over. Nothing is read beyond `WALK_DEPTH_MAX` folders down.
    """
    for name in sorted(os.listdir(folder)):
        status = look(folder, name)
        if status is None:
            continue
        entry = Entry((*names, name), status, folder)
        yield entry
        if entry.is_folder and len(names) < WALK_DEPTH_MAX:
            try:
                inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
            except OSError:
                continue
            try:
                yield from walk(inner, entry.names)
            finally:
                os.close(inner)


def list_folder(folder: int) -> list[Entry]:
    """The visible contents of one folder, sorted by name."""
    found = ((name, look(folder, name)) for name in sorted(os.listdir(folder)))
    return [
        Entry((name,), status, folder)
        for name, status in found
        if status is not None and not is_reserved(name)
    ]


def read_at(descriptor: int, start: int, count: int) -> bytes:
    """Up to `count` bytes from that place; fewer only at the end of the file."""
    parts: list[bytes] = []
    while count > 0:
        part = os.pread(descriptor, min(count, 1 << 20), start)
        if not part:
            break
        parts.append(part)
        start += len(part)
        count -= len(part)
    return b"".join(parts)


def _make_folder(parent: int, name: str, shown: str) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
        os.fsync(parent)
    except FileExistsError:
        return
    except OSError as exc:
        raise _refusal(exc, shown) from exc


def _enter(parent: int, name: str | None, shown: str) -> int:
    if name is None:
        raise FileRefusedError(f"There is no folder {shown}.")
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=parent)
    except OSError as exc:
        if exc.errno in {errno.ENOTDIR, errno.ELOOP}:
            raise PathRefusedError(f"{shown} is not a folder, or it is a link.") from exc
        raise _refusal(exc, shown) from exc


def _refusal(exc: OSError, shown: str) -> PathRefusedError | FileRefusedError:
    if exc.errno == errno.ELOOP:
        return PathRefusedError(f"{shown} is a link, and links are not followed.")
    if exc.errno == errno.ENOENT:
        return FileRefusedError(f"There is no {shown}.")
    return FileRefusedError(f"{shown} could not be opened: {os.strerror(exc.errno or 0)}.")
