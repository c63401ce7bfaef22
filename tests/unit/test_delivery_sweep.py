"""What the delivery's sweep finds: the oldest first, and only what a channel is there for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.loopback import LoopbackChannel, LoopbackPlatform
from fakes.spine_room import SpineRoom, open_room, place_thread

from geode.errors import ChannelDownError
from geode.messages import Mode, Part, Place, SessionId, Thread
from geode.ports import ChannelStatus, SystemClock
from geode.store.database import Tx
from geode.store.outbox import NewOutbox, add_outbox, find_due, read_head
from geode.store.sessions import NewSession, bind_session

GONE = Thread("gone", "T1", "C1", "1")


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


async def put(room: SpineRoom, thread: Thread, name: str) -> SessionId:
    def unit(tx: Tx) -> SessionId:
        new = NewSession(SessionId(name), "loop:T1/C1", Mode.DAEMON, is_direct=False)
        session_id = bind_session(tx, thread, new, room.clock.now_us())
        add_outbox(tx, session_id, NewOutbox("notice", "n", "words"), room.clock.now_us())
        return session_id

    return await room.store.write("put", unit)


async def due(room: SpineRoom, limit: int) -> list[SessionId]:
    now_us = room.clock.now_us()
    return await room.store.read(lambda tx: find_due(tx, "one", ["loop"], now_us, limit))


async def test_sweep_finds_the_oldest_rows_first(room: SpineRoom) -> None:
    names = ["s5", "s1", "s9", "s3"]
    for number, name in enumerate(names):
        await put(room, place_thread(number), name)

    assert await due(room, 3) == ["s5", "s1", "s9"]


async def test_rows_of_a_channel_that_is_not_configured_starve_nobody(room: SpineRoom) -> None:
    await put(room, GONE, "s1")
    waiting = await put(room, place_thread(1), "s2")

    assert await due(room, 1) == [waiting]


async def test_flush_ends_while_rows_wait_for_a_channel_that_is_not_configured(
    room: SpineRoom,
) -> None:
    await put(room, GONE, "s1")

    async with asyncio.timeout(5):
        await room.worker().delivery.flush()


class Gone(LoopbackChannel):
    """A channel whose platform is gone: a send is refused at once, or never answered."""

    def __init__(self, platform: LoopbackPlatform, *, is_silent: bool = False) -> None:
        super().__init__(platform)
        self._is_silent = is_silent
        self.tries = 0

    def status(self) -> ChannelStatus:
        return ChannelStatus("down", "gone")

    async def send(self, place: Place, part: Part, key: str) -> str:
        self.tries += 1
        if self._is_silent:
            await asyncio.Event().wait()
        raise ChannelDownError("no route")


async def _say_more(room: SpineRoom, session_id: SessionId) -> None:
    more = NewOutbox("notice", "behind", "more words")
    await room.store.write("put", lambda tx: add_outbox(tx, session_id, more, room.clock.now_us()))


async def test_row_behind_a_head_that_waits_is_not_due(room: SpineRoom) -> None:
    session_id = await put(room, place_thread(1), "s1")
    worker = room.worker(channel=Gone(room.platform))
    await worker.deliver(session_id)
    await _say_more(room, session_id)

    assert await due(room, 9) == []
    head = await room.store.read(lambda tx: read_head(tx, session_id))
    assert head is not None
    assert head.attempts == 1


@pytest.mark.parametrize("is_silent", [False, True], ids=["refused", "silent"])
async def test_flush_ends_soon_when_the_platform_is_gone(tmp_path: Path, is_silent: bool) -> None:
    async with open_room(tmp_path, clock=SystemClock()) as room:
        session_id = await put(room, place_thread(1), "s1")
        await _say_more(room, session_id)
        channel = Gone(room.platform, is_silent=is_silent)
        delivery = room.worker(channel=channel).delivery
        running = asyncio.create_task(delivery.run())

        async with asyncio.timeout(8):
            await delivery.flush()

        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert channel.tries == 1
