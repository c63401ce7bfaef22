"""A database of this program's schema without a row: migrating costs a hundred times a copy."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from geode.ports import SystemClock
from geode.store.database import migrate_forward

PRIVATE = 0o600


@cache
def read_empty_database() -> bytes:
    """The bytes of the file, made once in each process."""
    with tempfile.TemporaryDirectory(prefix="geode-empty-") as folder:
        path = Path(folder, "empty.db")
        migrate_forward(path, SystemClock())
        return path.read_bytes()


def lay_database(path: Path) -> None:
    """Put the file there, as a first start leaves it; one that is there already stays."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(PRIVATE)
    path.write_bytes(read_empty_database())
