"""Resource locks of the whole process: no two calls touch one resource at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any

from geode.steps import LOCK_ONLY


class Hold:
    """The keys one call holds, from `ResourceLocks.acquire` until `release`."""

    __slots__ = ("_locks", "_work", "keys", "locked", "turn")

    def __init__(self, locks: ResourceLocks, keys: tuple[str, ...]) -> None:
        self._locks = locks
        self._work: asyncio.Task[Any] | None = None
        self.locked = keys
        self.keys = tuple(key for key in keys if not key.startswith(LOCK_ONLY))
        """What a receipt names."""
        self.turn = asyncio.Event()
        """Set once every key is this hold's."""

    def keep_until(self, work: asyncio.Task[Any]) -> None:
        """`release` will wait for this abandoned work: cancelling it has not stopped it yet."""
        self._work = work

    def release(self) -> None:
        """Give the keys back, now or when the abandoned work has really ended."""
        if self._work is None or self._work.done():
            self._locks.drop(self)
        else:
            self._locks.drop_after(self, self._work)


class ResourceLocks:
    """Keyed locks in first-come order; a key that nobody wants takes no memory.

    A hold enters the queues of all its keys in one step, so holds that share a key run in the
    order they asked and cannot wait for each other in a circle.
    """

    def __init__(self) -> None:
        self._queues: dict[str, deque[Hold]] = {}
        self._abandoned: set[asyncio.Task[Any]] = set()

    @property
    def keys_held(self) -> int:
        """Keys that are held or waited for."""
        return len(self._queues)

    async def acquire(self, keys: Iterable[str], wait_s: float) -> Hold | None:
        """Wait for all keys; None when they did not come free within `wait_s` seconds."""
        hold = Hold(self, tuple(sorted(set(keys))))
        for key in hold.locked:
            self._queues.setdefault(key, deque()).append(hold)
        if self._is_first(hold):
            return hold
        try:
            async with asyncio.timeout(wait_s):
                await hold.turn.wait()
        except TimeoutError:
            self.drop(hold)
            return None
        except asyncio.CancelledError:
            self.drop(hold)
            raise
        return hold

    def drop(self, hold: Hold) -> None:
        """Leave every queue and wake whoever is next."""
        for key in hold.locked:
            queue = self._queues[key]
            queue.remove(hold)
            if not queue:
                del self._queues[key]
        for key in hold.locked:
            queue = self._queues.get(key)
            if queue and self._is_first(queue[0]):
                queue[0].turn.set()

    def drop_after(self, hold: Hold, work: asyncio.Task[Any]) -> None:
        """Keep the hold, and a strong reference to the work, until the work has ended."""
        self._abandoned.add(work)
        work.add_done_callback(lambda done: self._end_abandoned(hold, done))

    def _end_abandoned(self, hold: Hold, work: asyncio.Task[Any]) -> None:
        self._abandoned.discard(work)
        self.drop(hold)

    def _is_first(self, hold: Hold) -> bool:
        return all(self._queues[key][0] is hold for key in hold.locked)
