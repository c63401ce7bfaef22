"""Statements of the hot path: written in Core, compiled once, run on the driver's own cursor.

Around each execution Core spends ten times what SQLite needs for it. Our columns are text, bytes
and 64-bit integers only, which a driver takes and gives as they are, so nothing of it is missed.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

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
        self._pick: Callable[[Values], Sequence[object]] = _pick_none
        self._row: Any = None

    def run(self, tx: Connection, values: Values) -> None:
        """Execute for its effect; raises the driver's own errors."""
        self._execute(tx, values)

    def run_many(self, tx: Connection, rows: Iterable[Values]) -> None:
        """Execute once per row of values."""
        if not self._sql:
            self._compile(tx)
        tx.connection.cursor().executemany(self._sql, [self._pick(values) for values in rows])

    def first(self, tx: Connection, values: Values) -> Any:
        """The first row with its columns by name, or None."""
        cursor = self._execute(tx, values)
        found = cursor.fetchone()
        return None if found is None else self._name_row(cursor)(found)

    def scalar(self, tx: Connection, values: Values) -> Any:
        """The first column of the first row, or None."""
        found = self._execute(tx, values).fetchone()
        return None if found is None else found[0]

    def tuples(self, tx: Connection, values: Values) -> list[tuple[Any, ...]]:
        """Every row as the driver gives it."""
        return self._execute(tx, values).fetchall()

    def rows(self, tx: Connection, values: Values) -> list[Any]:
        """Every row with its columns by name."""
        cursor = self._execute(tx, values)
        found = cursor.fetchall()
        return [*map(self._name_row(cursor), found)] if found else []

    def _execute(self, tx: Connection, values: Values) -> Any:
        if not self._sql:
            self._compile(tx)
        driver: Any = tx.connection.dbapi_connection
        return driver.execute(self._sql, self._pick(values))

    def _compile(self, tx: Connection) -> None:
        made: Any = self._core.compile(
            dialect=tx.dialect, column_keys=list(self._columns) if self._columns else None
        )
        assert made.positional, "the driver takes values by position"
        assert not made.post_compile_params, "the SQL depends on the values"
        constants = {name: value for name, value in made.params.items() if value is not None}
        self._pick = _make_pick(made.positiontup, constants)
        self._sql = str(made)

    def _name_row(self, cursor: Any) -> Any:
        if self._row is None:
            names = [column[0] for column in cursor.description]
            row_type = namedtuple("Row", names)  # pyright: ignore[reportUntypedNamedTuple]
            self._row = row_type._make
        return self._row


def _pick_none(values: Values) -> Sequence[object]:
    return ()


def _make_pick(names: Sequence[str], constants: Values) -> Callable[[Values], Sequence[object]]:
    """What brings named values into the statement's order, constants of the SQL among them."""
    if len(names) < 2:
        return lambda values: [{**constants, **values}[name] for name in names]
    pick = cast("Callable[[Values], Sequence[object]]", itemgetter(*names))
    if not constants:
        return pick
    return lambda values: pick({**constants, **values})
