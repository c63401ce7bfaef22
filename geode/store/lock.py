"""The exclusive right to one state: a kernel lock that names its holder and dies with it."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from geode.errors import StateLockedError, StoreError
from geode.ports import Clock

LOCK_NAME = "geode.lock"
_HOLDER_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as the holder itself wrote it."""

    pid: int
    since_us: int
    command: str

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_us // 1_000_000, UTC)
        return f"{self.command} (pid {self.pid}, since {since:%Y-%m-%d %H:%M:%S} UTC)"


class StateLock:
    """Held from `acquire` to `release`; a killed holder leaves no lock behind."""

    def __init__(self, descriptors: list[int]) -> None:
        self._descriptors = descriptors

    @classmethod
    def acquire(
        cls, folder: Path, clock: Clock, *, command: str, database: Path | None = None
    ) -> StateLock:
        """Lock the state folder, and the database too when it lies elsewhere.

        Never waits. Raises `StateLockedError`, which names the holder, or `StoreError` when the
        folder cannot be used.
        """
        make_private_folder(folder)
        paths = [folder / LOCK_NAME]
        if database is not None and database.parent.resolve() != folder.resolve():
            make_folder(database.parent)
            paths.append(database.with_name(f"{database.name}.lock"))
        lock = cls([])
        mark = json.dumps({"pid": os.getpid(), "since_us": clock.now_us(), "command": command})
        with ExitStack() as undo:
            undo.callback(lock.release)
            for path in paths:
                lock._descriptors.append(_lock_file(path, mark.encode()))
            undo.pop_all()
        return lock

    def release(self) -> None:
        """Let the next one in; safe to call twice."""
        while self._descriptors:
            descriptor = self._descriptors.pop()
            os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def find_holder(folder: Path) -> Holder | None:
    """Who holds the state folder's lock at this moment."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return _read_holder(descriptor)
    else:
        return None
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make the folder if it is missing, for this user only; raises `StoreError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"The state folder {folder} cannot be made ({error.strerror}); "
            f"make it yourself, or set GEODE_HOME to another folder."
        ) from error


def make_private_folder(folder: Path) -> None:
    """Make the folder, and close it to others; raises `StoreError` for one that is shared."""
    make_folder(folder)
    seen = folder.stat()
    if seen.st_uid != os.geteuid() or seen.st_mode & stat.S_ISVTX:
        raise StoreError(
            f"The state folder {folder} is not this user's own; "
            f"set GEODE_HOME to a folder that belongs to you alone."
        )
    if seen.st_mode & 0o077:
        folder.chmod(0o700)


def _lock_file(path: Path, mark: bytes) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"The lock {path} cannot be opened ({error.strerror}); "
            f"make the state folder writable for this user."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, mark, 0)
    except BlockingIOError:
        holder = _read_holder(descriptor)
        os.close(descriptor)
        raise StateLockedError(str(path.parent), str(holder or "another process")) from None
    except OSError as error:
        os.close(descriptor)
        raise StoreError(f"The lock {path} cannot be taken ({error.strerror}).") from error
    return descriptor


def _read_holder(descriptor: int) -> Holder | None:
    try:
        read = json.loads(os.pread(descriptor, _HOLDER_BYTES_MAX, 0))
        mark = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
        return Holder(int(mark["pid"]), int(mark["since_us"]), str(mark["command"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # it was taken this instant, and its holder has not written yet
