"""The working marks on people's messages: taken away for certain, after whatever set them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence

from geode.log import get_logger
from geode.messages import Place, Thread
from geode.ports import Clock

log = get_logger(__name__)

MARKS_MAX = 256
"""Set at once; a person misses little where more are not."""
LATE_S = 1.0
PATIENCE_S = 10.0
"""So long a mark is tried to be taken away; within a delivery's lease."""

Mark = Callable[[Place, str, bool], Awaitable[float | None]]
"""Sets or takes away once; seconds after which to try again, None when there is no need to."""


class WorkingMarks:
    """Sets marks beside everything else, best effort; a mark that may be there is taken away."""

    def __init__(self, mark: Mark, clock: Clock) -> None:
        self._mark = mark
        self._clock = clock
        self._setting: dict[tuple[Thread, str], asyncio.Task[None]] = {}
        self._clearing: set[asyncio.Task[None]] = set()

    def begin(self, place: Place, message_id: str, since: float) -> None:
        """Set the mark on a message that came then (monotonic); never late, never waited for."""
        if len(self._setting) >= MARKS_MAX:
            return
        key = (place.thread, message_id)
        task = asyncio.create_task(self._set(place, message_id, since + LATE_S), name="mark")
        self._setting[key] = task
        task.add_done_callback(lambda done: self._forget(key, done))

    def begin_clear(self, place: Place, message_id: str) -> None:
        """Take the mark away, with nobody waiting for it."""
        self._keep(self.clear(place, (message_id,)))

    async def clear(self, place: Place, message_ids: Sequence[str]) -> None:
        """Take the marks away once they are set; what fails is tried again for a while."""
        async with asyncio.TaskGroup() as tasks:
            for message_id in message_ids:
                tasks.create_task(self._clear(place, message_id))

    def close(self) -> None:
        """Begin nothing more and leave what is under way."""
        for task in (*self._setting.values(), *self._clearing):
            task.cancel()

    async def _set(self, place: Place, message_id: str, late: float) -> None:
        if self._clock.monotonic() < late:
            await self._mark(place, message_id, True)

    async def _clear(self, place: Place, message_id: str) -> None:
        # Cancelled, the call that sets the mark might still arrive, and after ours.
        if setting := self._setting.get((place.thread, message_id)):
            await asyncio.wait((setting,))
        until = self._clock.monotonic() + PATIENCE_S
        while (wait_s := await self._mark(place, message_id, False)) is not None:
            if self._clock.monotonic() + wait_s > until:
                log.warning("mark_left", channel=place.thread.platform, message=message_id)
                return
            await self._clock.sleep(wait_s)

    def _keep(self, clearing: Coroutine[None, None, None]) -> None:
        if len(self._clearing) >= MARKS_MAX:
            clearing.close()
            return
        task = asyncio.create_task(clearing, name="clear mark")
        self._clearing.add(task)
        task.add_done_callback(self._clearing.discard)

    def _forget(self, key: tuple[Thread, str], done: asyncio.Task[None]) -> None:
        if self._setting.get(key) is done:
            del self._setting[key]
