"""ST-01 and ST-02 for the database: writers share it, and damage is named and left alone."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from geode.errors import StoreError
from geode.ports import NoFailpoints, SystemClock
from geode.store.database import Store
from geode.store.tables import dedupe

ROOT = Path(__file__).parents[2]
WRITE_MANY = """
import asyncio, sys
from pathlib import Path
from sqlalchemy import insert
from geode.ports import NoFailpoints, SystemClock
from geode.store.database import Store
from geode.store.tables import dedupe

async def main(path, name):
    store = Store.open(Path(path), SystemClock(), NoFailpoints())
    def put(lane, number):
        row = {"platform": name, "key": f"{lane}-{number}", "outcome": "x", "at_us": 1}
        return lambda tx: tx.execute(insert(dedupe).values(**row)) and None
    async def lane(lane):
        for number in range(25):
            await store.write("put", put(lane, number))
    await asyncio.gather(*(lane(n) for n in range(4)))
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


def _open(path: Path) -> Store:
    return Store.open(path, SystemClock(), NoFailpoints())


async def _put(store: Store, key: str) -> str:
    def unit(tx: Connection) -> str:
        tx.execute(insert(dedupe).values(platform="here", key=key, outcome="x", at_us=1))
        return key

    return await store.write("put", unit)


async def _keys(store: Store) -> list[str]:
    def look(tx: Connection) -> list[str]:
        return [f"{row.platform}/{row.key}" for row in tx.execute(select(dedupe))]

    return await store.read(look)


async def test_two_processes_with_four_parallel_writers_each_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "geode.db"
    store = _open(path)

    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITE_MANY, path, name, cwd=ROOT, stderr=subprocess.PIPE
        )
        for name in ("first", "second")
    ]
    ends = await asyncio.gather(*(writer.communicate() for writer in writers))
    keys = await _keys(store)
    await store.close()

    assert [(w.returncode, err) for w, (_, err) in zip(writers, ends, strict=True)] == [
        (0, b"")
    ] * 2
    assert sorted(keys) == sorted(
        f"{name}/{lane}-{number}"
        for name in ("first", "second")
        for lane in range(4)
        for number in range(25)
    )


async def test_no_caller_sees_the_lock_while_another_writer_holds_it_for_three_seconds(
    tmp_path: Path,
) -> None:
    store = _open(tmp_path / "geode.db")
    await _put(store, "before")
    other = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    released = asyncio.get_running_loop().call_later(3.0, other.execute, "COMMIT")
    writes = [asyncio.create_task(_put(store, f"k{n}")) for n in range(4)]

    async with asyncio.timeout(1):
        seen_meanwhile = await _keys(store)
    answers = await asyncio.gather(*writes)

    assert released.when() <= asyncio.get_running_loop().time()
    assert seen_meanwhile == ["here/before"]
    assert answers == ["k0", "k1", "k2", "k3"]
    assert len(await _keys(store)) == 5
    other.close()
    await store.close()


@pytest.mark.timeout(60)
async def test_two_hundred_messages_a_second_are_stored_as_they_come(tmp_path: Path) -> None:
    store = _open(tmp_path / "geode.db")
    loop = asyncio.get_running_loop()
    started, writes = loop.time(), list[asyncio.Task[str]]()

    for number in range(2000):
        await asyncio.sleep(started + number / 200 - loop.time())
        writes.append(asyncio.create_task(_put(store, str(number))))
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*writes)

    assert answers == [str(number) for number in range(2000)]
    assert len(await _keys(store)) == 2000
    await store.close()


@pytest.fixture
async def healthy(tmp_path: Path) -> bytes:
    """The bytes of a database that was closed in order, with a row in it."""
    store = _open(tmp_path / "healthy.db")
    await _put(store, "kept")
    await store.close()
    return (tmp_path / "healthy.db").read_bytes()


def _foreign_database(folder: Path) -> bytes:
    with sqlite3.connect(folder / "foreign.db") as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    return (folder / "foreign.db").read_bytes()


@pytest.mark.parametrize("damage", ["empty", "half", "page", "foreign", "text"])
def test_damaged_database_is_named_and_its_bytes_are_left_alone(
    tmp_path: Path, healthy: bytes, damage: str
) -> None:
    path = tmp_path / "geode.db"
    content = {
        "empty": b"",
        "half": healthy[: len(healthy) // 2],
        "page": healthy[:1000],
        "foreign": _foreign_database(tmp_path),
        "text": b"[jobs]\nname = 'morning'\n" * 100,
    }[damage]
    path.write_bytes(content)

    with pytest.raises(StoreError) as refused:
        _open(path)

    assert str(path) in str(refused.value)
    assert "bytes were left alone" in str(refused.value)
    assert path.read_bytes() == content


def test_folder_in_the_databases_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "geode.db").mkdir()

    with pytest.raises(StoreError, match=r"geode\.db"):
        _open(tmp_path / "geode.db")


async def test_absent_database_is_a_quiet_empty_start(tmp_path: Path) -> None:
    store = _open(tmp_path / "state" / "geode.db")

    assert await _keys(store) == []
    await store.close()
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


async def test_put_back_database_is_used_with_all_its_rows(tmp_path: Path, healthy: bytes) -> None:
    path = tmp_path / "geode.db"
    path.write_bytes(healthy[: len(healthy) // 2])
    with pytest.raises(StoreError):
        _open(path)
    path.write_bytes(healthy)

    store = _open(path)

    assert await _keys(store) == ["here/kept"]
    await store.close()


@contextmanager
def _as_ordinary_user() -> Generator[Path]:
    """A folder in which even a test run by root meets the limits of a file's mode."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)


def test_unreadable_database_is_named_and_left_alone() -> None:
    with _as_ordinary_user() as folder:
        path = folder / "geode.db"
        path.write_bytes(b"bytes")
        path.chmod(0)

        with pytest.raises(StoreError) as refused:
            _open(path)

        path.chmod(0o600)
        assert str(path) in str(refused.value)
        assert path.read_bytes() == b"bytes"
        assert [p.name for p in folder.iterdir()] == ["geode.db"]


def test_database_in_a_closed_folder_is_named() -> None:
    with _as_ordinary_user() as folder:
        closed = folder / "closed"
        closed.mkdir()
        (closed / "geode.db").write_bytes(b"bytes")
        closed.chmod(0)

        with pytest.raises(StoreError) as refused:
            _open(closed / "geode.db")

        closed.chmod(0o700)
        assert str(closed / "geode.db") in str(refused.value)


def test_folder_that_cannot_be_written_is_named() -> None:
    with _as_ordinary_user() as folder:
        folder.chmod(0o500)

        with pytest.raises(StoreError) as refused:
            _open(folder / "geode.db")
        with pytest.raises(StoreError) as refused_below:
            _open(folder / "below" / "geode.db")

        folder.chmod(0o700)
        assert str(folder / "geode.db") in str(refused.value)
        assert str(folder / "below" / "geode.db") in str(refused_below.value)
