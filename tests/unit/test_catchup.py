"""Catch-up is run until it worked, and what is odd in one channel stays that channel's trouble."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fakes.loopback import LoopbackChannel, LoopbackPlatform
from fakes.slack_intake import MemoryIntake
from fakes.spine_room import RoomClock, make_settings, open_room, until

from geode.errors import ChannelDownError
from geode.intake.catchup import CatchUp
from geode.ports import CatchUpPlan, Intake


class FailingChannel(LoopbackChannel):
    """A channel whose first catch-ups end with the given errors."""

    def __init__(self, name: str, *errors: Exception) -> None:
        super().__init__(LoopbackPlatform(), name)
        self.errors = list(errors)
        self.runs = 0

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.runs += 1


@asynccontextmanager
async def catching_up(tmp_path, *channels: FailingChannel) -> AsyncIterator[CatchUp]:
    async with open_room(tmp_path) as room:
        named = {channel.name: channel for channel in channels}
        catch_up = CatchUp(room.store, RoomClock(), named, make_settings().bindings)
        running = asyncio.create_task(catch_up.run(MemoryIntake()))
        try:
            yield catch_up
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.wait((running,))


@pytest.mark.parametrize(
    "error", [ChannelDownError("no route"), ValueError("odd bytes"), RuntimeError("closed")]
)
async def test_catch_up_is_run_again_after_any_kind_of_failure(tmp_path, error: Exception) -> None:
    odd, sound = FailingChannel("loop", error, error), FailingChannel("other")

    async with catching_up(tmp_path, odd, sound) as catch_up:
        await until(lambda: odd.runs and sound.runs)

        assert not catch_up.is_due("loop")


async def test_catch_up_that_is_due_again_runs_again(tmp_path) -> None:
    channel = FailingChannel("loop")

    async with catching_up(tmp_path, channel) as catch_up:
        await until(lambda: channel.runs == 1)
        catch_up.mark_due("loop")
        await until(lambda: channel.runs == 2)
