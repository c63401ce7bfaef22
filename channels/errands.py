"""What is done beside the acknowledgement of an event: a bounded number of calls, ended with us."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

from geode.errors import ChannelError

log = logging.getLogger(__name__)

ERRANDS_MAX = 100


class Errands:
    """Calls whose failure changes nothing that is stored; above the bound a new one is left out."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, name: str, work: Coroutine[object, object, object]) -> bool:
        """Run it beside; False when too much runs already, and it is then not begun."""
        if len(self._running) >= ERRANDS_MAX:
            log.warning("errand_left_out errand=%s", name)
            work.close()
            return False
        task = asyncio.create_task(self._run(name, work), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return True

    async def close(self) -> None:
        """End what still runs."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run(self, name: str, work: Coroutine[object, object, object]) -> None:
        try:
            await work
        except ChannelError as error:
            log.warning("errand_failed errand=%s reason=%s", name, error)
