"""A database of an earlier program opens under this one, with every row it had."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from fakes.spine_room import RoomClock
from sqlalchemy import Connection, create_engine

import geode.store
from geode.ports import NoFailpoints
from geode.store.database import KNOWN_REVISIONS, SCHEMA_HEAD, Store, read_revision
from geode.store.schema import metadata

Rows = dict[str, list[dict[str, object]]]

DROPPED = {"cursors": {"order_key", "message_id"}}
"""Columns that a later schema has no use for."""


RELEASED = KNOWN_REVISIONS[:-1]


def make_schema(path: Path, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(geode.store.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def list_tables(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return sorted(name for (name,) in names if name != "alembic_version")


def fill_every_table(path: Path) -> None:
    """Two rows in each table, every column with a value of its own."""
    with sqlite3.connect(path) as connection:
        for table in list_tables(connection):
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            for number in (1, 2):
                values = [
                    value_of(kind, f"{name} {number}", number) for _, name, kind, *_ in columns
                ]
                marks = ", ".join("?" * len(values))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608
    connection.close()


def value_of(kind: str, text: str, number: int) -> object:
    match kind:
        case "INTEGER":
            return number * 1_000
        case "BLOB":
            return text.encode()
        case _:
            return text


def read_rows(path: Path, tables: list[str]) -> Rows:
    with sqlite3.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        found = {
            table: [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]  # noqa: S608
            for table in tables
        }
    connection.close()
    return found


def read_shape(path: Path) -> dict[str, set[tuple[object, ...]]]:
    """Each table's columns with type, default and place in the key, and its indices."""
    with sqlite3.connect(path) as connection:
        shape = {
            table: {
                *(row[1:] for row in connection.execute(f"PRAGMA table_info({table})")),
                *(
                    (index[2], *connection.execute(f"PRAGMA index_info({index[1]})").fetchall())
                    for index in connection.execute(f"PRAGMA index_list({table})").fetchall()
                ),
            }
            for table in list_tables(connection)
        }
    connection.close()
    return shape


@pytest.fixture(params=RELEASED)
def revision(request: pytest.FixtureRequest) -> str:
    """A schema that an earlier program wrote."""
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path, revision: str) -> Path:
    made = tmp_path / "geode.db"
    make_schema(made, revision)
    fill_every_table(made)
    return made


async def test_released_schema_opens_with_every_row(path: Path, revision: str) -> None:
    with sqlite3.connect(path) as connection:
        tables = list_tables(connection)
    connection.close()
    before = read_rows(path, tables)
    assert len(tables) == {"0001": 14, "0002": 17, "0003": 18, "0004": 22}[revision]
    assert all(len(rows) == 2 for rows in before.values())

    await Store.open(path, RoomClock(), NoFailpoints()).close()

    after = read_rows(path, tables)
    for table, rows in before.items():
        kept = [
            {name: value for name, value in row.items() if name not in DROPPED.get(table, ())}
            for row in rows
        ]
        new = set(after[table][0]) - set(kept[0])
        assert [{n: v for n, v in row.items() if n not in new} for row in after[table]] == kept
        assert all(row[name] in ("", 0) for row in after[table] for name in new)


async def test_released_schema_becomes_the_present_tables(path: Path) -> None:
    store = Store.open(path, RoomClock(), NoFailpoints())

    def list_loose(tx: Connection) -> set[str]:
        query = "SELECT name FROM pragma_table_list WHERE strict = 0 AND type = 'table'"
        names = {row.name for row in tx.exec_driver_sql(query)}
        return {name for name in names if not name.startswith("sqlite_")}

    assert await store.read(list_loose) == {"alembic_version"}
    assert read_revision(path) == SCHEMA_HEAD
    await store.close()
    fresh = create_engine(f"sqlite:///{path.with_name('fresh.db')}")
    metadata.create_all(fresh)
    fresh.dispose()
    assert read_shape(path) == read_shape(path.with_name("fresh.db"))


async def test_database_before_a_migration_is_kept_beside_it(path: Path, revision: str) -> None:
    shutil.copy(path, copy := path.with_name("copy.db"))

    await Store.open(path, RoomClock(), NoFailpoints()).close()

    (backup,) = path.parent.glob("geode.db.backup-*")
    assert read_revision(backup) == revision
    assert read_rows(backup, ["sessions"]) == read_rows(copy, ["sessions"])


def test_every_migration_is_of_a_known_schema() -> None:
    folder = Path(geode.store.__file__).parent / "migrations" / "versions"

    numbers = sorted(path.name.partition("_")[0] for path in folder.glob("[0-9]*.py"))
    assert numbers == sorted(KNOWN_REVISIONS)
