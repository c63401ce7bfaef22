"""What the delivery's sweep finds: the oldest first, and only what a channel is there for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.spine_room import SpineRoom, open_room, place_thread

from geode.messages import Mode, SessionId, Thread
from geode.store.database import Tx
from geode.store.outbox import NewOutbox, add_outbox, find_due
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
