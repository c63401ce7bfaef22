"""Lanes: one turn at a time per session, first come first served, so many at once in all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from geode.errors import StoreError
from geode.log import get_logger
from geode.messages import SessionId
from geode.ports import Clock
from geode.session.leases import Leases
from geode.store.database import Store
from geode.store.dispatcher import Dispatcher
from geode.store.leases import find_expired
from geode.store.sessions import find_decided, find_waiting

log = get_logger(__name__)
SWEEP_ROWS_MAX = 500
PARTS_QUIET_S = 1.0
"""So long a turn waits for more of what a person sent as one."""


class LaneQueue:
    """The session lanes and the global lane; the leases in the store make them safe."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        leases: Leases,
        run_session: Callable[[SessionId], Awaitable[None]],
        *,
        turns_parallel: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._leases = leases
        self._parts: dict[SessionId, asyncio.TimerHandle] = {}
        self._dispatcher = Dispatcher("turns", run_session, parallel_max=turns_parallel)

    @property
    def active(self) -> frozenset[SessionId]:
        """Sessions whose turn runs in this process."""
        return self._dispatcher.active

    def wake(self, session_id: SessionId) -> None:
        """A message waits in this session; may be called any number of times."""
        if waiting := self._parts.pop(session_id, None):
            waiting.cancel()
        self._dispatcher.wake(session_id)

    def wake_later(self, session_id: SessionId) -> None:
        """Part of something waits in this session: wake it when no further part comes."""
        if waiting := self._parts.pop(session_id, None):
            waiting.cancel()
        loop = asyncio.get_running_loop()
        self._parts[session_id] = loop.call_later(PARTS_QUIET_S, self.wake, session_id)

    async def run(self) -> None:
        """Run turns until cancelled; the first sweep finds what an earlier process left."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._dispatcher.run())
            tasks.create_task(self._leases.keep())
            tasks.create_task(self._leases.watch_stops())
            tasks.create_task(self._sweep())

    def begin_drain(self) -> None:
        """Start no further turn."""
        self._dispatcher.begin_drain()

    async def wait_idle(self) -> None:
        """Return when no turn runs."""
        await self._dispatcher.wait_idle()

    async def _sweep(self) -> None:
        while True:
            try:
                for session_id in await self._find_work():
                    if session_id not in self._parts:
                        self.wake(session_id)
            except StoreError as error:
                log.warning("sweep_failed", reason=str(error))
            await self._clock.sleep(self._leases.lease_s / 3)

    async def _find_work(self) -> list[SessionId]:
        now_us = self._clock.now_us()
        return await self._store.read(
            lambda tx: (
                find_expired(tx, now_us, SWEEP_ROWS_MAX)
                + find_decided(tx, SWEEP_ROWS_MAX)
                + find_waiting(tx, SWEEP_ROWS_MAX)
            )
        )
