"""Another user of the machine reads nothing of what the service keeps, wherever it keeps it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.gate_room import SESSION
from sqlalchemy import text

from geode.errors import StoreError
from geode.ports import NoFailpoints, SystemClock
from geode.store.database import Store
from geode.store.lock import StateLock
from geode.tools.paths import parse_path
from geode.tools.workspace import Workspaces


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """A service started with no mask at all."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that everybody may read, as a database's folder may be."""
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    return folder


def readable_by_others(folder: Path) -> list[str]:
    return [p.name for p in folder.rglob("*") if p.is_file() and p.stat().st_mode & 0o077]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_database_in_a_shared_folder_is_its_owners_alone(shared: Path) -> None:
    store = Store.open(shared / "geode.db", SystemClock(), NoFailpoints())
    try:
        await store.write("test", lambda tx: tx.execute(text("DELETE FROM dedupe")).rowcount)

        assert names_in(shared) == ["geode.db", "geode.db-shm", "geode.db-wal"]
        assert readable_by_others(shared) == []
    finally:
        await store.close()


def test_look_finds_a_file_that_others_can_read(shared: Path) -> None:
    """The positive control."""
    (shared / "open.txt").write_text("x")

    assert readable_by_others(shared) == ["open.txt"]


def test_written_file_is_its_owners_alone(tmp_path: Path) -> None:
    workspaces = Workspaces(tmp_path / "files")
    workspaces.write_file(SESSION, parse_path("a/b.txt"), b"x", "op1")

    assert readable_by_others(tmp_path / "files") == []
    folders = [tmp_path / "files", tmp_path / "files" / SESSION, tmp_path / "files" / SESSION / "a"]
    assert [folder.stat().st_mode & 0o077 for folder in folders] == [0, 0, 0]


def test_state_folder_is_closed_to_others(shared: Path) -> None:
    with StateLock.acquire(shared, SystemClock(), command="test"):
        assert shared.stat().st_mode & 0o077 == 0


def test_state_folder_that_anybody_may_fill_is_refused(tmp_path: Path) -> None:
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)

    with pytest.raises(StoreError, match="belongs to you alone"):
        StateLock.acquire(sticky, SystemClock(), command="test")
