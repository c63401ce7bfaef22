"""Statements of the hot path: written in Core, compiled once, run on the driver's own cursor.

Around each execution Core spends ten times what SQLite needs for it. Our columns are text, bytes
and 64-bit integers only, which a driver takes and gives as they are, so nothing of it is missed.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql.elements import ClauseElement

Values = Mapping[str, object]


class Statement:
    """One statement with named values; safe to share between threads once it is built."""

    def __init__(self, core: ClauseElement, columns: Sequence[str] = ()) -> None:
        """`columns`: what an insert fills; the rest of its row has the table's defaults."""
        self._core = core
        self._columns = columns
        self._sql = ""
        self._names: Sequence[str] = ()
        self._constants: Mapping[str, object] = {}
        self._row: Any = None

    def run(self, tx: Connection, values: Values) -> None:
        """Execute for its effect; raises the driver's own errors."""
        self._execute(tx, values)

    def run_many(self, tx: Connection, rows: Iterable[Values]) -> None:
        """Execute once per row of values."""
        cursor = self._open(tx)
        cursor.executemany(self._sql, [self._bind(values) for values in rows])
        cursor.close()

    def first(self, tx: Connection, values: Values) -> Any:
        """The first row with its columns by name, or None."""
        cursor = self._execute(tx, values)
        found = cursor.fetchone()
        row = None if found is None else self._name_row(cursor)(found)
        cursor.close()
        return row

    def scalar(self, tx: Connection, values: Values) -> Any:
        """The first column of the first row, or None."""
        cursor = self._execute(tx, values)
        found = cursor.fetchone()
        cursor.close()
        return None if found is None else found[0]

    def rows(self, tx: Connection, values: Values) -> list[Any]:
        """Every row with its columns by name."""
        cursor = self._execute(tx, values)
        found = cursor.fetchall()
        rows = [*map(self._name_row(cursor), found)] if found else []
        cursor.close()
        return rows

    def _execute(self, tx: Connection, values: Values) -> Any:
        cursor = self._open(tx)
        cursor.execute(self._sql, self._bind(values))
        return cursor

    def _open(self, tx: Connection) -> Any:
        if not self._sql:
            self._compile(tx)
        return tx.connection.cursor()

    def _bind(self, values: Values) -> list[object]:
        known = {**self._constants, **values}
        return [known[name] for name in self._names]

    def _compile(self, tx: Connection) -> None:
        made: Any = self._core.compile(
            dialect=tx.dialect, column_keys=list(self._columns) if self._columns else None
        )
        assert made.positional, "the driver takes values by position"
        assert not made.post_compile_params, "the SQL depends on the values"
        self._names = made.positiontup
        self._constants = {name: value for name, value in made.params.items() if value is not None}
        self._sql = str(made)

    def _name_row(self, cursor: Any) -> Any:
        if self._row is None:
            names = [column[0] for column in cursor.description]
            row_type = namedtuple("Row", names)  # pyright: ignore[reportUntypedNamedTuple]
            self._row = row_type._make
        return self._row
