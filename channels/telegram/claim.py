"""One receiver per token on a machine: a lock that ends with its process.

Telegram lets a second receiver take updates away from the first, so two daemons with one token and
a state folder each would answer one conversation by turns.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import stat
import tempfile
from pathlib import Path

log = logging.getLogger(__name__)

PRIVATE = 0o700


class TokenClaim:
    """Best effort: where no lock can be kept, Telegram's own conflicts are all that is left."""

    def __init__(self, api_url: str, token: str) -> None:
        named = hashlib.sha256(f"{api_url}\n{token}".encode()).hexdigest()
        self._name = f"telegram-{named[:32]}.lock"
        self._file = -1

    def take(self) -> str:
        """Take the lock; who holds it, or an empty string when it is ours."""
        if self._file >= 0:
            return ""
        try:
            file = os.open(_folder() / self._name, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            log.warning("telegram_claim_not_kept reason=%s", error.strerror)
            return ""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(file, 32, 0).decode("ascii", "replace").strip()
            os.close(file)
            return f"process {holder}" if holder else "another process"
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._file = file
        return ""

    def release(self) -> None:
        """Give the lock back; safe to call twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _folder() -> Path:
    """A folder of this user's own; raises `OSError` when somebody else made it."""
    folder = Path(tempfile.gettempdir()) / f"geode-{os.getuid()}"
    folder.mkdir(mode=PRIVATE, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(1, f"{folder} belongs to somebody else")
    return folder
