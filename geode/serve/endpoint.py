"""Where the control socket lies, and how its path is made to fit what the kernel accepts."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

SOCKET_NAME = "cli.sock"
PROTOCOL = 1
LINE_BYTES_MAX = 1_048_576
"""A request, its end of line included."""
ANSWER_BYTES_MAX = 16_777_216
_PATH_BYTES_MAX = 107


@contextmanager
def reach_socket(folder: Path) -> Generator[str]:
    """A path of the folder's socket, short enough to bind or connect; valid inside the block."""
    path = str(folder / SOCKET_NAME)
    if len(os.fsencode(path)) <= _PATH_BYTES_MAX:
        yield path
        return
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_NAME}"
    finally:
        os.close(descriptor)
