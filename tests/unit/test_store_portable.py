"""Every table and every statement of the store is SQL that Postgres takes as well."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from sqlalchemy import BigInteger, LargeBinary, Text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

import geode.store
from geode.store.schema import metadata
from geode.store.statements import Statement

DIALECT = postgresql.dialect()


def list_statements() -> list[tuple[str, Statement]]:
    found: list[tuple[str, Statement]] = []
    for module in pkgutil.iter_modules(geode.store.__path__):
        if module.ispkg:
            continue
        loaded = importlib.import_module(f"geode.store.{module.name}")
        found += [
            (f"{module.name}.{name}", value)
            for name, value in vars(loaded).items()
            if isinstance(value, Statement)
        ]
    return found


STATEMENTS = list_statements()


@pytest.mark.parametrize("name", [name for name, _ in STATEMENTS])
def test_statement_compiles_for_postgres(name: str) -> None:
    statement = dict(STATEMENTS)[name]
    columns = list(statement._columns) or None

    made = statement._core.compile(dialect=DIALECT, column_keys=columns)

    assert str(made)


@pytest.mark.parametrize("name", list(metadata.tables))
def test_table_holds_only_text_bytes_and_64_bit_integers(name: str) -> None:
    table = metadata.tables[name]

    assert {type(column.type) for column in table.columns} <= {Text, BigInteger, LargeBinary}
    assert str(CreateTable(table).compile(dialect=DIALECT))
    for index in table.indexes:
        assert str(CreateIndex(index).compile(dialect=DIALECT))


def test_hot_path_statements_are_found() -> None:
    assert len(STATEMENTS) > 40
