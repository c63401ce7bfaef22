"""A process of its own that runs a turn, takes `!stop`, and kills itself around its commit.

`python -m crash.stop_and_die FOLDER POINT`
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from fakes.commanding import give
from fakes.spine_room import SpineRoom, make_settings

from geode.ports import SystemClock
from geode.steps import ModelReply, StepSnapshot
from geode.store.database import Store


class Trap:
    """Ends the process at one point, as nothing else can."""

    def __init__(self) -> None:
        self.point = ""

    def hit(self, name: str) -> None:
        if name == self.point:
            os.kill(os.getpid(), signal.SIGKILL)


async def main(folder: Path, point: str) -> None:
    """Hang in a model call, and stop that turn."""
    clock, trap = SystemClock(), Trap()
    room = SpineRoom(
        Store.open(folder / "geode.db", clock, trap), clock, folder, make_settings(lease_s=0.2)
    )
    begun = asyncio.Event()

    async def hang(step: StepSnapshot) -> ModelReply:
        begun.set()
        await asyncio.sleep(60)
        raise AssertionError("nobody waits for this")

    worker = room.worker("killed", [hang], trap)
    room.wakes.leases = worker.leases
    await room.say("begin")
    running = asyncio.create_task(worker.runner.run_session(await room.session_id()))
    await begun.wait()
    trap.point = point
    await give(room, "stop")
    await running


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
