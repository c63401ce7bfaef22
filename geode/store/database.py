"""The database file: checked, migrated forward, shared by one writer and many readers."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from geode.errors import SchemaMismatchError, StoreError
from geode.ports import Clock, Failpoints
from geode.store.faults import store_error_of
from geode.store.writer import Writer

T = TypeVar("T")
Tx: TypeAlias = Connection
"""What a unit of work receives; rooms above the store only pass it on."""
KNOWN_REVISIONS = ("0001", "0002", "0003", "0004", "0005")
"""Every schema that was ever released: each is migrated forward from; the last is the present."""
SCHEMA_HEAD = KNOWN_REVISIONS[-1]
BUSY_TIMEOUT_MS = 5000


class Store:
    """The one way to the database: `write` for units of work, `read` for looking."""

    def __init__(self, path: Path, clock: Clock, failpoints: Failpoints) -> None:
        self.path = path
        self.clock = clock
        self._write_engine = _create_write_engine(path)
        self._read_engine = _create_read_engine(path)
        self.writer = Writer(self._write_engine, failpoints)

    @classmethod
    def open(cls, path: Path, clock: Clock, failpoints: Failpoints) -> Store:
        """Check the file, migrate it forward after a backup, and start the writer.

        Raises `SchemaMismatchError` for a newer schema and `StoreError` for a damaged file, whose
        bytes are left alone.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            migrate_forward(path, clock)
        except (sqlite3.Error, SQLAlchemyError, OSError) as error:
            raise StoreError(
                f"{path} cannot be used as the database ({store_error_of(error)})."
            ) from error
        store = cls(path, clock, failpoints)
        store.writer.start()
        return store

    async def write(self, label: str, unit: Callable[[Connection], T]) -> T:
        """Run one unit on the writer; its value is returned only after the COMMIT."""
        return await self.writer.run(label, unit)

    async def read(self, look: Callable[[Connection], T]) -> T:
        """Run a read-only function on a reader connection; sees what is committed."""
        try:
            async with self._read_engine.connect() as connection:
                try:
                    return await connection.run_sync(look)
                except asyncio.CancelledError:
                    # A statement that nobody ends would pin what this reader sees, for ever.
                    await connection.invalidate()
                    raise
        except (sqlite3.Error, SQLAlchemyError) as error:
            raise store_error_of(error) from error

    async def close(self) -> None:
        """End the writer after what is queued, and close the readers."""
        self.writer.close()
        await self._read_engine.dispose()
        self._write_engine.dispose()


def _create_write_engine(path: Path) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000, "check_same_thread": False},
    )
    event.listen(engine, "connect", _prepare_connection)
    return engine


def _create_read_engine(path: Path) -> AsyncEngine:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}", pool_size=4, max_overflow=4)
    event.listen(engine.sync_engine, "connect", _prepare_connection)
    return engine


def _prepare_connection(dbapi_connection: Any, _record: object) -> None:
    dbapi_connection.isolation_level = None
    cursor = dbapi_connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "foreign_keys=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def read_revision(path: Path) -> str | None:
    """The schema revision of the file; None when there is no database yet."""
    try:
        if not path.exists():
            return None
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            row = connection.execute(
                "SELECT name FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone()
            if row is None:
                is_empty = (
                    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
                )
                if is_empty and path.stat().st_size == 0:
                    raise StoreError(_damaged(path, "the file is empty"))
                if not is_empty:
                    raise StoreError(_damaged(path, "it is not a GEODE database"))
                return None
            version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            return str(version[0]) if version else None
    except (sqlite3.Error, OSError) as error:
        raise StoreError(_damaged(path, str(error))) from error


def _damaged(path: Path, reason: str) -> str:
    return (
        f"{path} cannot be used as the database ({reason}); its bytes were left alone. "
        f"Move it away, or put a backup in its place, and start again."
    )


def find_damage(path: Path) -> str:
    """What SQLite finds wrong with a database that nobody need have closed; empty: nothing."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        return str(error)
    return "" if said == "ok" else str(said)


def migrate_forward(path: Path, clock: Clock) -> None:
    """Bring the file to this program's schema, after a copy of it; refuse a newer one."""
    revision = read_revision(path)
    if revision == SCHEMA_HEAD:
        return
    if revision is not None and revision not in KNOWN_REVISIONS:
        raise SchemaMismatchError(
            f"{path} has schema {revision}, newer than this GEODE knows ({SCHEMA_HEAD}); "
            f"install the newer GEODE, or put an older backup in its place."
        )
    # The file may lie in a folder that others can read; what SQLite adds beside it takes its mode.
    before = os.umask(0o077)
    try:
        if revision is not None:
            _back_up(path, clock)
        _upgrade(path)
    finally:
        os.umask(before)


def _back_up(path: Path, clock: Clock) -> None:
    target = path.with_name(f"{path.name}.backup-{clock.now_us() // 1_000_000}")
    with sqlite3.connect(path) as source, sqlite3.connect(target) as copy:
        source.backup(copy)
    shutil.copymode(path, target)


def _upgrade(path: Path) -> None:
    from alembic import command  # noqa: PLC0415 - only when there is something to migrate
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    engine = _create_write_engine(path)
    event.listen(engine, "begin", _begin_immediate)
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()
