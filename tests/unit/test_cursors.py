"""A place is read back from where its channel's confirmed reading ended, and from nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.loopback import LoopbackChannel
from fakes.spine_room import BINDING, THREAD, SpineRoom, open_room, until

from geode.errors import ChannelDownError
from geode.intake.catchup import CatchUp
from geode.intake.inbox import Inbox
from geode.messages import Thread
from geode.ports import CatchUpDirects, CatchUpPlan, Intake
from geode.settings import Settings
from geode.store.tables import cursors

ROOTS = Thread("loop", "T1", "C1", "")
DIRECT = {"channel": "loop", "where": "T1/dm", "people": ["U2"], "operators": ["U1"]}


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


class Reading(LoopbackChannel):
    """A channel that keeps each plan and confirms, or fails, as it is told."""

    def __init__(self, room: SpineRoom) -> None:
        super().__init__(room.platform)
        self.plans: list[CatchUpPlan] = []
        self.confirms: list[tuple[Thread, str]] = []
        self.failures = 0

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        self.plans.append(plan)
        for place, message_id in self.confirms:
            await intake.confirm_read(place, message_id, message_id)
        if self.failures:
            self.failures -= 1
            raise ChannelDownError("cut short")


async def run_until(
    room: SpineRoom, channel: Reading, is_so: Callable[[], object], interval_s: float = 3600.0
) -> None:
    named = {channel.name: channel}
    catch_up = CatchUp(room.store, room.clock, named, room.settings.bindings, interval_s)
    running = asyncio.create_task(catch_up.run(room.door))
    try:
        await until(is_so)
    finally:
        running.cancel()
        await asyncio.wait((running,))


async def floor(room: SpineRoom, place: Thread = ROOTS) -> list[str]:
    where = {"channel": place.channel, "thread": place.thread}
    return await room.rows(cursors.c.floor_id, order=cursors.c.channel, **where)


async def test_catch_up_that_confirms_nothing_is_run_again_from_the_same_place(
    room: SpineRoom,
) -> None:
    channel = Reading(room)
    await run_until(room, channel, lambda: channel.plans)
    await room.say("stored, but what was before it?", thread=THREAD)

    await run_until(room, channel, lambda: len(channel.plans) == 2)

    assert channel.plans[0].roots == channel.plans[1].roots
    assert await floor(room) == [""]


async def test_catch_up_goes_on_where_it_was_cut_short(room: SpineRoom) -> None:
    channel = Reading(room)
    channel.failures, channel.confirms = 1, [(ROOTS, "0000000500")]

    await run_until(room, channel, lambda: len(channel.plans) == 2)

    assert [plan.roots[0].after for plan in channel.plans] == ["", "0000000500"]


async def test_place_that_was_not_confirmed_keeps_its_floor_while_another_rises(
    room: SpineRoom,
) -> None:
    channel = Reading(room)
    await run_until(room, channel, lambda: channel.plans)
    await room.say("hi")
    (before,) = await floor(room, THREAD)

    await room.door.confirm_read(ROOTS, "0000009000", "0000009000")

    assert await floor(room) == ["0000009000"]
    assert await floor(room, THREAD) == [before]


async def test_floor_never_sinks(room: SpineRoom) -> None:
    await room.say("hi")

    for message_id in ("0000009000", "0000008000"):
        await room.door.confirm_read(THREAD, message_id, message_id)

    assert await floor(room, THREAD) == ["0000009000"]


async def test_place_that_stored_nothing_is_not_remembered(room: SpineRoom) -> None:
    await room.door.confirm_read(Thread("loop", "T1", "C9", "1"), "1", "1")

    assert await room.rows(cursors.c.channel, order=cursors.c.channel, channel="C9") == []


async def test_direct_messages_that_were_never_stored_are_looked_for_since_they_are_served(
    tmp_path: Path,
) -> None:
    async with open_room(tmp_path) as room:
        room.settings = Settings.model_validate({"bindings": [BINDING, DIRECT]})
        channel, begun_us = Reading(room), room.clock.now_us()

        await run_until(room, channel, lambda: channel.plans)
        await room.clock.sleep(60)
        await run_until(room, channel, lambda: len(channel.plans) == 2)

        plan = channel.plans[-1]
        assert plan.directs == (CatchUpDirects("T1", ("U2", "U1"), begun_us),)
        assert [root.channel for root in plan.roots] == ["C1"]


async def test_first_stored_direct_message_hides_none_that_was_missed_before_it(
    tmp_path: Path,
) -> None:
    async with open_room(tmp_path) as room:
        room.settings = Settings.model_validate({"bindings": [BINDING, DIRECT]})
        room.door = Inbox(room.store, room.clock, room.settings, room.wakes)
        channel, begun_us = Reading(room), room.clock.now_us()
        await run_until(room, channel, lambda: channel.plans)
        await room.say("live", thread=Thread("loop", "T1", "D1", ""), is_direct=True)

        await run_until(room, channel, lambda: len(channel.plans) == 2)

        (root,) = [root for root in channel.plans[-1].roots if root.channel == "D1"]
        assert (root.after, root.since_us) == ("", begun_us)


async def test_channel_without_a_gap_is_read_back_from_time_to_time(room: SpineRoom) -> None:
    channel = Reading(room)

    await run_until(room, channel, lambda: len(channel.plans) >= 3, interval_s=0.01)
