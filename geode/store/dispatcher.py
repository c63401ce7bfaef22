"""The in-process dispatcher: wakes a session's handler, never twice at once for the same session.

It supplies liveness only. A wake may be lost, repeated or late without harm: what is safe lives in
the leases and epochs of the store, and a sweep finds what was forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from geode.log import get_logger
from geode.messages import SessionId

log = get_logger(__name__)


class Dispatcher:
    """Runs `handler(session_id)` soon after `wake`: first come first served, so many at once."""

    def __init__(
        self, name: str, handler: Callable[[SessionId], Awaitable[None]], *, parallel_max: int
    ) -> None:
        self._name = name
        self._handler = handler
        self._parallel_max = parallel_max
        self._waiting: dict[SessionId, None] = {}
        self._active: dict[SessionId, asyncio.Task[None]] = {}
        self._again: set[SessionId] = set()
        self._changed = asyncio.Event()
        self._is_draining = False

    @property
    def active(self) -> frozenset[SessionId]:
        """Sessions whose handler runs now."""
        return frozenset(self._active)

    def wake(self, session_id: SessionId) -> None:
        """Run the session's handler soon; once more after the present run when it runs now."""
        if session_id in self._active:
            self._again.add(session_id)
        else:
            self._waiting[session_id] = None
            self._changed.set()

    async def run(self) -> None:
        """Serve wakes until cancelled; running handlers are then cancelled and awaited."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._changed.wait()
                self._changed.clear()
                while self._waiting and len(self._active) < self._parallel_max:
                    if self._is_draining:
                        break
                    session_id = next(iter(self._waiting))
                    del self._waiting[session_id]
                    self._active[session_id] = tasks.create_task(self._serve(session_id))

    def begin_drain(self) -> None:
        """Start no further handler."""
        self._is_draining = True

    async def wait_idle(self) -> None:
        """Return when no handler runs."""
        while self._active:
            await asyncio.wait(tuple(self._active.values()))

    async def _serve(self, session_id: SessionId) -> None:
        try:
            await self._handler(session_id)
        except Exception:  # boundary: turn or delivery
            log.exception("handler_failed", lane=self._name, session=session_id)
        finally:
            del self._active[session_id]
            if session_id in self._again:
                self._again.discard(session_id)
                self._waiting[session_id] = None
            self._changed.set()
