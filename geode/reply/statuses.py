"""The platform's own status of running turns: one clock for all of them, nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

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
    shown_at: float | None = None
    is_busy: bool = False
    """A call of the platform is under way."""


class StatusBoard:
    """Keeps the statuses of running turns shown; holds nothing that a restart would miss."""

    def __init__(self, show: ShowStatus, clock: Clock) -> None:
        self._show = show
        self._clock = clock
        self._entries: dict[TurnId, _Entry] = {}
        self._ended: list[_Entry] = []
        self._free = asyncio.Semaphore(PARALLEL_MAX)

    def put(self, turn_id: TurnId, place: Place, describe: Callable[[], str]) -> None:
        """From the next tick on the turn has a status; `describe` gives its line each time."""
        self._entries[turn_id] = _Entry(place, describe)

    def take(self, turn_id: TurnId) -> None:
        """The turn is over: a status that was shown is cleared at the next tick; waits for nothing.

        Where another turn has its status by then, that one stays.
        """
        entry = self._entries.pop(turn_id, None)
        if entry is not None and entry.shown_at is not None:
            self._ended.append(entry)

    async def run(self) -> None:
        """Show, refresh and clear until cancelled; a slow platform holds up no other."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._clock.sleep(TICK_S)
                for entry in self._pick_ended():
                    tasks.create_task(self._call(entry, ""))
                for entry in self._pick_due():
                    entry.shown_at = self._clock.monotonic()
                    tasks.create_task(self._call(entry, entry.describe()))

    async def clear_ended(self) -> None:
        """Clear at once what is left of turns that are over, before the process ends."""
        async with asyncio.TaskGroup() as tasks:
            for entry in self._pick_ended():
                tasks.create_task(self._call(entry, ""))

    def _pick_ended(self) -> list[_Entry]:
        live = {entry.place for entry in self._entries.values() if entry.shown_at is not None}
        ended = [entry for entry in self._ended if not entry.is_busy]
        self._ended = [entry for entry in self._ended if entry.is_busy]
        for entry in ended:
            entry.is_busy = True
        return [entry for entry in ended if entry.place not in live]

    def _pick_due(self) -> list[_Entry]:
        before = self._clock.monotonic() - REFRESH_S
        idle = [entry for entry in self._entries.values() if not entry.is_busy]
        due = [entry for entry in idle if entry.shown_at is None or entry.shown_at <= before]
        for entry in due:
            entry.is_busy = True
        return due

    async def _call(self, entry: _Entry, line: str) -> None:
        try:
            async with self._free:
                await self._show(entry.place, line)
        finally:
            entry.is_busy = False
