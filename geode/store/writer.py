"""One thread owns the only write connection and commits units in groups.

A unit is a plain function on a synchronous `Connection`. Its caller is answered only after the
COMMIT that holds it; a unit that fails takes no other unit of its group along.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine

from geode.errors import StorageBusyError, StoreError
from geode.ports import Failpoints
from geode.store.faults import store_error_of
from geode.store.timeline import AppendedEntry, take_appended

T = TypeVar("T")
Listener: TypeAlias = Callable[[Sequence[AppendedEntry]], None]
GROUP_UNITS_MAX = 64
QUEUE_UNITS_MAX = 4096


@dataclass(slots=True)
class _Unit:
    label: str
    run: Callable[[Connection], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    result: Any = None
    error: BaseException | None = None
    appended: list[AppendedEntry] = field(default_factory=list[AppendedEntry])


class _GroupLostError(Exception):
    """The outer transaction is gone: nothing of the group is stored."""


class Writer:
    """Runs write units in order on its own thread, many to one COMMIT."""

    def __init__(self, engine: Engine, failpoints: Failpoints) -> None:
        self._engine = engine
        self._failpoints = failpoints
        # Bounded by `run`: a queue with a bound of its own costs as much as a unit.
        self._queue: queue.SimpleQueue[_Unit | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="geode-writer", daemon=True)
        self._connection: Connection | None = None
        self._is_closed = False
        self.commits = 0
        """COMMITs so far; the benchmark and tests read it."""
        self.units = 0
        """Units answered with success so far."""
        self.units_by_label: Counter[str] = Counter()
        """The same by what they were for."""
        self.listener: Listener | None = None
        """Told on the loop which timeline rows a COMMIT has stored; must not raise."""

    def start(self) -> None:
        """Start the thread; the connection is opened on it."""
        self._thread.start()

    async def run(self, label: str, unit: Callable[[Connection], T]) -> T:
        """Run one unit and return its value after the COMMIT that holds it.

        Raises what the unit raised, or a `StoreError`; in both cases nothing of it is stored.
        """
        if self._is_closed:
            raise StoreError("The store is closed.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._queue.qsize() >= QUEUE_UNITS_MAX:
            raise StorageBusyError("Too many writes are waiting; try again.")
        self._queue.put(_Unit(label, unit, future, loop))
        return await future

    def close(self) -> None:
        """Finish what is queued and end the thread; blocks until it has."""
        if not self._is_closed:
            self._is_closed = True
            if self._thread.is_alive():
                self._queue.put(None)
                self._thread.join()

    def _serve(self) -> None:
        is_last = False
        while not is_last:
            group, is_last = self._take_group()
            if group:
                self._commit_group(group)
                self._answer(group)
        if self._connection is not None:
            self._connection.close()

    def _answer(self, group: list[_Unit]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Unit]] = {}
        for unit in group:
            by_loop.setdefault(unit.loop, []).append(unit)
        for loop, units in by_loop.items():
            with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
                loop.call_soon_threadsafe(_resolve, units, self.listener)

    def _take_group(self) -> tuple[list[_Unit], bool]:
        first = self._queue.get()
        if first is None:
            return [], True
        group = [first]
        while len(group) < GROUP_UNITS_MAX:
            try:
                unit = self._queue.get_nowait()
            except queue.Empty:
                break
            if unit is None:
                return group, True
            group.append(unit)
        return group, False

    def _commit_group(self, group: list[_Unit]) -> None:
        try:
            self._try_commit(group)
        # boundary: write unit, told to every member of its group; the thread must go on
        except BaseException as error:  # noqa: BLE001
            if len(group) == 1:
                group[0].error = store_error_of(error)
                return
            for unit in group:
                unit.result = unit.error = None
                unit.appended = []
                self._commit_group([unit])

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def _try_commit(self, group: list[_Unit]) -> None:
        connection = self._connect()
        transaction = connection.begin()
        try:
            # A deferred transaction that upgrades later gets SQLITE_BUSY without waiting.
            _execute(connection, "BEGIN IMMEDIATE")
            for unit in group:
                self._run_unit(connection, unit, is_alone=len(group) == 1)
            self._hit("before", group)
            transaction.commit()
        except BaseException:
            self._abandon(connection)
            raise
        self.commits += 1
        stored = [unit.label for unit in group if unit.error is None]
        self.units += len(stored)
        self.units_by_label.update(stored)
        self._hit("after", group)

    def _abandon(self, connection: Connection) -> None:
        self._connection = None  # one that cannot leave its transaction is not used again
        if not _is_in_transaction(connection):
            connection.invalidate()
        connection.rollback()
        self._connection = connection

    def _hit(self, moment: str, group: list[_Unit]) -> None:
        for unit in group:
            self._failpoints.hit(f"commit.{moment}:{unit.label}")

    def _run_unit(self, connection: Connection, unit: _Unit, *, is_alone: bool) -> None:
        take_appended(connection)  # what a unit before left whose savepoint was rolled back
        if is_alone:
            unit.result = unit.run(connection)
            unit.appended = take_appended(connection)
            return
        _execute(connection, "SAVEPOINT unit")
        try:
            unit.result = unit.run(connection)
            unit.appended = take_appended(connection)
            _execute(connection, "RELEASE unit")
        except Exception as error:  # boundary: write unit
            if not _is_in_transaction(connection):
                raise _GroupLostError from error
            _execute(connection, "ROLLBACK TO unit")
            _execute(connection, "RELEASE unit")
            unit.error = store_error_of(error)


def _execute(connection: Connection, sql: str) -> None:
    # On the driver's cursor: a nested transaction of SQLAlchemy costs more than most units.
    cursor = connection.connection.cursor()
    cursor.execute(sql)
    cursor.close()


def _is_in_transaction(connection: Connection) -> bool:
    # A full disk may end the transaction behind SQLAlchemy's back; only the driver knows.
    return bool(getattr(connection.connection.dbapi_connection, "in_transaction", True))


def _resolve(units: list[_Unit], listener: Listener | None) -> None:
    for unit in units:
        if listener is not None and unit.appended and unit.error is None:
            listener(unit.appended)
        if unit.future.done():
            continue
        if unit.error is not None:
            unit.future.set_exception(unit.error)
        else:
            unit.future.set_result(unit.result)
