"""The writer answers only for what is on disk, and one member's fault is nobody else's."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, insert, select, text

from geode.errors import StorageBusyError, StoreError
from geode.ports import NoFailpoints, SystemClock
from geode.store.database import SCHEMA_HEAD, Store, read_revision
from geode.store.schema import metadata
from geode.store.tables import dedupe
from geode.store.writer import Writer


def put(key: str, size: int = 1):
    def unit(tx: Connection) -> str:
        tx.execute(insert(dedupe).values(platform="p", key=key, outcome="x" * size, at_us=1))
        return key

    return unit


def keys(tx: Connection) -> set[str]:
    return {row.key for row in tx.execute(select(dedupe.c.key))}


def stored_keys(path: Path) -> set[str]:
    with sqlite3.connect(path) as connection:
        return {row[0] for row in connection.execute("SELECT key FROM dedupe")}


@pytest.fixture
async def store(tmp_path: Path):
    opened = Store.open(tmp_path / "geode.db", SystemClock(), NoFailpoints())
    yield opened
    await opened.close()


async def test_writer_shares_one_commit_among_waiting_units(store: Store) -> None:
    before = store.writer.commits

    answers = await asyncio.gather(*(store.write("put", put(f"k{i}")) for i in range(40)))

    assert answers == [f"k{i}" for i in range(40)]
    assert store.writer.commits - before <= 3
    assert stored_keys(store.path) == set(answers)


async def test_writer_fails_only_the_unit_that_clashed(store: Store) -> None:
    await store.write("put", put("known"))

    answers = await asyncio.gather(
        *(store.write("put", put(key)) for key in ("a", "known", "b")), return_exceptions=True
    )

    assert [type(answer) for answer in answers] == [str, StoreError, str]
    assert stored_keys(store.path) == {"known", "a", "b"}


FILL = """
import asyncio, resource, signal, sys, threading
from pathlib import Path
from sqlalchemy import insert
from geode.errors import StorageFullError
from geode.ports import NoFailpoints, SystemClock
from geode.store.database import Store
from geode.store.tables import dedupe

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

def put(key, size):
    return lambda tx: tx.execute(
        insert(dedupe).values(platform="p", key=key, outcome="x" * size, at_us=1)
    ) and key

async def main():
    store = Store.open(Path(sys.argv[1]), SystemClock(), NoFailpoints())
    wal = Path(sys.argv[1] + "-wal")
    await store.write("put", put("first", 10))
    limit = wal.stat().st_size + 60_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    held = threading.Event()
    first = asyncio.ensure_future(store.write("hold", lambda tx: held.wait(5)))
    await asyncio.sleep(0)
    group = asyncio.gather(
        *(store.write("put", put(f"k{i}", 20_000)) for i in range(8)), return_exceptions=True)
    await asyncio.sleep(0)
    held.set()
    answers = await group
    ok = [a for a in answers if isinstance(a, str)]
    full = [a for a in answers if isinstance(a, StorageFullError)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    ok.append(await store.write("put", put("after", 20_000)))
    assert len(ok) + len(full) == 9, answers
    print(",".join(ok), len(full))
    await store.close()

asyncio.run(main())
"""


def test_writer_tells_nobody_ok_when_the_disk_breaks_in_the_middle_of_a_group(
    tmp_path: Path,
) -> None:
    path = tmp_path / "geode.db"

    done = subprocess.run(
        [sys.executable, "-c", FILL, str(path)],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
        cwd=Path(__file__).parents[2],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )

    told_ok, refused = done.stdout.split()
    assert int(refused) > 0
    assert len(told_ok.split(",")) > 1
    assert stored_keys(path) == {"first", *told_ok.split(",")}


async def test_writer_waits_out_another_process_that_holds_the_database(store: Store) -> None:
    other = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    asyncio.get_running_loop().call_later(1.0, other.execute, "COMMIT")

    assert await store.write("put", put("k")) == "k"

    other.close()


async def test_writer_reports_a_hold_longer_than_its_patience_and_stores_nothing(
    store: Store,
) -> None:
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StorageBusyError):
        await store.write("put", put("k"))

    other.execute("COMMIT")
    other.close()
    assert await store.read(keys) == set()
    assert await store.write("put", put("k")) == "k"


async def test_writer_refuses_units_after_close(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "geode.db", SystemClock(), NoFailpoints())
    await store.close()

    with pytest.raises(StoreError):
        await store.write("put", put("k"))


async def test_store_survives_a_unit_with_a_bug(store: Store) -> None:
    def broken(tx: Connection) -> None:
        tx.execute(insert(dedupe).values(platform="p", key="half", outcome="x", at_us=1))
        raise ZeroDivisionError

    answers = await asyncio.gather(
        store.write("put", put("a")), store.write("broken", broken), return_exceptions=True
    )

    assert answers[0] == "a"
    assert isinstance(answers[1], ZeroDivisionError)
    assert stored_keys(store.path) == {"a"}


async def test_schema_of_the_migrations_equals_the_tables(store: Store) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def compare(tx: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(tx), metadata))

    assert await store.read(compare) == []
    assert read_revision(store.path) == SCHEMA_HEAD


async def test_every_table_but_alembics_is_strict(store: Store) -> None:
    def look(tx: Connection) -> set[str]:
        rows = tx.exec_driver_sql(
            "SELECT name FROM pragma_table_list WHERE strict = 0 AND type = 'table'"
        )
        return {row.name for row in rows if not row.name.startswith("sqlite_")}

    assert await store.read(look) == {"alembic_version"}


async def test_writer_without_a_connection_says_so_and_goes_on_when_there_is_one(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "gone"
    engine = create_engine(f"sqlite:///{folder / 'late.db'}")
    writer = Writer(engine, NoFailpoints())
    writer.start()
    async with asyncio.timeout(5):
        with pytest.raises(StoreError):
            await writer.run("put", lambda tx: tx.execute(text("SELECT 1")).scalar_one())

        folder.mkdir()

        assert await writer.run("put", lambda tx: tx.execute(text("SELECT 1")).scalar_one()) == 1
    writer.close()
    engine.dispose()


async def test_writer_survives_a_unit_that_ends_its_thread(store: Store) -> None:
    def leave(tx: Connection) -> None:
        raise SystemExit(3)

    async with asyncio.timeout(5):
        answers = await asyncio.gather(
            store.write("leave", leave), store.write("put", put("a")), return_exceptions=True
        )

        assert [type(answer) for answer in answers] == [StoreError, str]
        assert await store.write("put", put("b")) == "b"
    assert stored_keys(store.path) == {"a", "b"}


async def test_read_that_finds_every_reader_busy_fails_as_a_store_error(store: Store) -> None:
    store._read_engine.pool._timeout = 0.05
    held = [await store._read_engine.connect() for _ in range(8)]

    with pytest.raises(StorageBusyError, match="busy"):
        await store.read(keys)

    for connection in held:
        await connection.close()
    assert await store.read(keys) == set()
