"""The platform's own status of running turns: one clock for all of them, nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from geode.messages import Place, TurnId
from geode.ports import Clock

TICK_S = 0.7
"""A turn shorter than this may show no status beside the working mark."""
REFRESH_S = 4.0
"""Below the five seconds for which the shortest-lived typing indicator shows."""
PARALLEL_MAX = 16

ShowStatus = Callable[[Place, str], Awaitable[None]]


@dataclass(slots=True)
class _Entry:
    place: Place
    describe: Callable[[], str]
    shown_at: float = float("-inf")
    is_over: bool = False
    shown: asyncio.Lock = field(default_factory=asyncio.Lock)


class StatusBoard:
    """Keeps the statuses of running turns shown; holds nothing that a restart would miss."""

    def __init__(self, show: ShowStatus, clock: Clock) -> None:
        self._show = show
        self._clock = clock
        self._entries: dict[TurnId, _Entry] = {}
        self._free = asyncio.Semaphore(PARALLEL_MAX)

    def put(self, turn_id: TurnId, place: Place, describe: Callable[[], str]) -> None:
        """From the next tick on the turn has a status; `describe` gives its line each time."""
        self._entries[turn_id] = _Entry(place, describe)

    async def take(self, turn_id: TurnId) -> None:
        """The turn is over: its status is cleared if it was ever shown; best effort."""
        entry = self._entries.pop(turn_id, None)
        if entry is None:
            return
        entry.is_over = True
        async with entry.shown:
            if entry.shown_at != float("-inf"):
                await self._show(entry.place, "")

    async def run(self) -> None:
        """Show and refresh until cancelled."""
        while True:
            await self._clock.sleep(TICK_S)
            due_before = self._clock.monotonic() - REFRESH_S
            due = [each for each in self._entries.values() if each.shown_at <= due_before]
            async with asyncio.TaskGroup() as tasks:
                for entry in due:
                    tasks.create_task(self._refresh(entry))

    async def _refresh(self, entry: _Entry) -> None:
        async with self._free, entry.shown:
            if not entry.is_over:
                entry.shown_at = self._clock.monotonic()
                await self._show(entry.place, entry.describe())
