"""A folder of files under the hash of what they hold: written whole or not at all, read checked."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import threading
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

OUTGOING = "outgoing"
"""The folder of the state in which files wait to be sent."""

_NAME = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Blobs:
    """One such folder. Its methods block: call them in a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._changing = threading.Lock()

    def put(self, content: bytes) -> str:
        """Keep the content durably and return its SHA-256; raises `OSError`."""
        name = hashlib.sha256(content).hexdigest()
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._renew(name, len(content)):
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

    def prune(self, keep: Collection[str], before_s: float) -> int:
        """Take away what nobody keeps and nobody put since then, unfinished files too."""
        count = 0
        with self._changing, suppress(FileNotFoundError):
            for path in tuple(self._root.iterdir()):
                with suppress(OSError):
                    if path.name not in keep and path.lstat().st_mtime < before_s:
                        path.unlink()
                        count += 1
        return count

    def _renew(self, name: str, size: int) -> bool:
        """Whether the content is there already; it then counts as put now."""
        with self._changing:
            if self.get(name, size) is None:
                return False
            os.utime(self._root / name, follow_symlinks=False)
            return True


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
