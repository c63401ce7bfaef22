"""A folder of files under the hash of what they hold: written whole or not at all, read checked."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Blobs:
    """One such folder. Its methods block: call them in a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, content: bytes) -> str:
        """Keep the content durably and return its SHA-256; raises `OSError`."""
        name = hashlib.sha256(content).hexdigest()
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.get(name, len(content)) is None:
            unfinished = self._root / f".{name}.{secrets.token_hex(4)}"
            try:
                _write(unfinished, content)
                unfinished.rename(self._root / name)
            except BaseException:
                with suppress(OSError):
                    unfinished.unlink()
                raise
        _flush(self._root)
        return name

    def get(self, name: str, bytes_max: int) -> bytes | None:
        """The content of that hash; None when it is gone, was changed, or is too much."""
        if _NAME.fullmatch(name) is None:
            return None
        try:
            descriptor = os.open(self._root / name, _READ_FLAGS)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > bytes_max:
                return None
            content = file.read(bytes_max + 1)
        return content if hashlib.sha256(content).hexdigest() == name else None

    def names(self) -> Iterator[tuple[str, float]]:
        """What is there, also unfinished files, each with the time of its last change."""
        with suppress(FileNotFoundError):
            for entry in os.scandir(self._root):
                with suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False).st_mtime

    def remove(self, name: str) -> None:
        """Take one file away if it is there."""
        if "/" not in name:
            with suppress(OSError):
                (self._root / name).unlink()


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, _NEW_FLAGS, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
