"""A process of its own that takes `/compact`, obeys it in a turn, and kills itself on the way.

`python -m crash.compact_and_die FOLDER POINT`
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from crash.stop_and_die import Trap
from fakes.commanding import give
from fakes.scripted_model import call, say
from fakes.spine_room import SpineRoom, make_settings

from geode.ports import SystemClock
from geode.steps import ModelReply, StepSnapshot
from geode.store.database import Store

LONG = "the heron stands in the reeds and waits " * 60
SUMMARY = "herons, several times"


def is_summary(step: StepSnapshot) -> bool:
    """Whether the model is asked to shorten."""
    return "<transcript>" in step.messages[0].text


def go_on(step: StepSnapshot) -> ModelReply:
    """A summary when one is asked for, else an answer."""
    return say(SUMMARY if is_summary(step) else "going on")


def begin_work(step: StepSnapshot) -> ModelReply:
    """A tool is called, so that a batch is saved."""
    assert not is_summary(step)
    return call(("list_files", {"path": "."}))


async def main(folder: Path, point: str) -> None:
    """Talk for long, ask for a shorter conversation, and go on in it."""
    clock, trap = SystemClock(), Trap()
    room = SpineRoom(
        Store.open(folder / "geode.db", clock, trap), clock, folder, make_settings(lease_s=0.2)
    )
    worker = room.worker("killed", [go_on, go_on, go_on, begin_work, go_on], trap)
    for number in range(2):
        await room.say(f"{number}: {LONG}")
        await worker.runner.run_session(await room.session_id())
    if point.endswith(":intake"):
        trap.point = point
    await give(room, "compact")
    await room.say("go on")
    trap.point = point
    await worker.runner.run_session(await room.session_id())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
