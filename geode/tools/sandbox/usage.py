"""Looks over a workspace that commands write into: what it holds, and that it can be used."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from geode.tools.beneath import FOLDER_FLAGS, WALK_DEPTH_MAX
from geode.tools.workspace import WorkspaceLimits

DISK_FREE_BYTES_MIN = 200_000_000
DISK_TAKEN_BYTES_MAX = 4_000_000_000
"""By everything on the machine while one command runs: deleted files that are still open count."""
FILE_BYTES_LEAST = 1 << 20
"""How large a file may become in a workspace that is full, so that it can be tidied up."""
_OWNER_ALL, _OWNER_READ_WRITE = 0o700, 0o600


@dataclass(frozen=True, slots=True)
class Usage:
    """What a workspace holds, counted no further than somewhat beyond what it may."""

    size: int = 0
    entries: int = 0
    is_too_deep: bool = False

    def exceeds(self, limits: WorkspaceLimits, before: Usage) -> bool:
        """Whether it holds more than it may, and more than it did before."""
        return (
            self.size > max(limits.total_bytes_max, before.size)
            or self.entries > max(limits.entries_max, before.entries)
            or (self.is_too_deep and not before.is_too_deep)
        )

    def describe(self, limits: WorkspaceLimits) -> str:
        """A sentence for the model."""
        depth = f", and folders more than {WALK_DEPTH_MAX} deep" if self.is_too_deep else ""
        return (
            f"the workspace holds {self.size:,} bytes in {self.entries:,} files and folders{depth};"
            f" {limits.total_bytes_max:,} bytes and {limits.entries_max:,} are allowed: remove some"
        )


@dataclass(frozen=True, slots=True)
class _Met:
    folder: int
    name: str
    status: os.stat_result
    depth: int


def measure(
    folder: int, entries_max: int, *, heals: bool = False, owner: int | None = None
) -> Usage:
    """Count everything beneath the folder; blocks.

    With `heals`, which only a workspace without running commands allows, the daemon gets its own
    rights on each file and folder back; with `owner`, everything is given to that user.
    """
    size = entries = 0
    is_too_deep = False
    for met in _walk(folder, heals=heals):
        entries += 1
        size += _size_of(met.status)
        is_too_deep = is_too_deep or met.depth > WALK_DEPTH_MAX
        if owner is not None and met.status.st_uid != owner:
            with suppress(OSError):
                os.chown(met.name, owner, owner, dir_fd=met.folder, follow_symlinks=False)
        if entries > entries_max:
            break
    return Usage(size, entries, is_too_deep)


def find_disk_floor(folder: int) -> int:
    """How much of the disk must stay free while a command runs."""
    free = _free_bytes(folder)
    return max(min(DISK_FREE_BYTES_MIN, free // 2), free - DISK_TAKEN_BYTES_MAX)


def is_below(folder: int, floor: int) -> bool:
    """Whether less of the disk is free."""
    return _free_bytes(folder) < floor


def _free_bytes(folder: int) -> int:
    disk = os.fstatvfs(folder)
    return disk.f_bavail * disk.f_frsize


def _size_of(status: os.stat_result) -> int:
    if stat.S_ISDIR(status.st_mode):
        return 0
    # A file may take blocks beyond its end, and one with holes takes less than it says.
    return max(status.st_size, status.st_blocks * 512)


def _walk(folder: int, depth: int = 1, *, heals: bool) -> Iterator[_Met]:
    """Everything, one at a time, so that a folder of a million names takes no memory."""
    try:
        listing = os.scandir(folder)
    except OSError:
        return
    with listing:
        for entry in listing:
            try:
                status = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                continue
            if heals:
                _heal(folder, entry.name, status)
            yield _Met(folder, entry.name, status, depth)
            if stat.S_ISDIR(status.st_mode) and depth <= WALK_DEPTH_MAX:
                yield from _enter(folder, entry.name, depth, heals=heals)


def _enter(folder: int, name: str, depth: int, *, heals: bool) -> Iterator[_Met]:
    try:
        inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
    except OSError:
        return
    try:
        yield from _walk(inner, depth + 1, heals=heals)
    finally:
        os.close(inner)


def _heal(folder: int, name: str, status: os.stat_result) -> None:
    wanted = _OWNER_ALL if stat.S_ISDIR(status.st_mode) else _OWNER_READ_WRITE
    kinds = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
    if kinds and status.st_mode & wanted != wanted:
        with suppress(OSError):
            os.chmod(name, stat.S_IMODE(status.st_mode) | wanted, dir_fd=folder)
