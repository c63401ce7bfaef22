"""What is done beside the acknowledgement of an event: a bounded number of tasks, ended with us."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

log = logging.getLogger(__name__)

TASKS_MAX = 100


class SideTasks:
    """Tasks whose failure changes nothing; above the bound a new one is refused."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[object, object, None]) -> bool:
        """Run it beside; false when too much runs already, and it is then not begun."""
        if len(self._running) >= TASKS_MAX:
            log.warning("slack_side_task_left_out running=%s", len(self._running))
            work.close()
            return False
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return True

    async def close(self) -> None:
        """End what still runs."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
