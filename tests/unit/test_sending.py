"""An adapter that breaks its promises costs one message its looks, never a thread its answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.loopback import LoopbackChannel
from fakes.scripted_model import call, say
from fakes.spine_room import THREAD, SpineRoom, open_room, until

from geode.messages import OutboundBody, Part, Place, SessionId
from geode.reply import sentences
from geode.steps import ModelReply, StepSnapshot
from geode.store.outbox import NewOutbox, add_outbox
from geode.store.tables import outbox


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


async def put(room: SpineRoom, session_id: SessionId, body: str, kind: str = "notice") -> None:
    turn = "t1" if kind == "answer" else ""
    new = NewOutbox(kind, body, body, "", turn)
    await room.store.write("put", lambda tx: add_outbox(tx, session_id, new, room.clock.now_us()))


async def open_thread(room: SpineRoom) -> SessionId:
    await room.say("hi")
    return await room.session_id()


class OddChannel(LoopbackChannel):
    """A channel with a bug in it."""

    def __init__(self, room: SpineRoom) -> None:
        super().__init__(room.platform)
        self.send_errors: list[Exception] = []
        self.find_errors: list[Exception] = []
        self.react_error: Exception | None = None
        self.hold: dict[str, asyncio.Event] = {}
        self.sending: list[str] = []

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        if body.markdown.startswith("odd"):
            raise IndexError("no such list item")
        return () if body.markdown == "empty" else super().plan(body)

    async def send(self, place: Place, part: Part, key: str) -> str:
        self.sending.append(part.plain)
        if part.plain in self.hold:
            await self.hold[part.plain].wait()
        if self.send_errors:
            raise self.send_errors.pop(0)
        return await super().send(place, part, key)

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        if self.find_errors:
            raise self.find_errors.pop(0)
        return await super().find_sent(place, key, since_us, part)

    async def react(self, place: Place, message_id: str, *, is_on: bool) -> None:
        if self.react_error is not None:
            raise self.react_error
        await super().react(place, message_id, is_on=is_on)


async def test_text_that_cannot_be_rendered_goes_out_plain_and_whole(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    long = "odd " + "x" * 4000
    for body in (long, "empty", "next"):
        await put(room, session_id, body)

    await room.worker(channel=OddChannel(room)).deliver(session_id)

    texts = room.platform.texts(THREAD)
    assert "".join(texts[:-2]) == long
    assert texts[-2:] == ["empty", "next"]


async def test_plain_answer_whose_progress_message_is_gone_is_a_message_of_its_own(
    room: SpineRoom,
) -> None:
    session_id = await open_thread(room)
    begun, go = asyncio.Event(), asyncio.Event()

    async def answer(_step: StepSnapshot) -> ModelReply:
        begun.set()
        await go.wait()
        return say("odd answer")

    worker = room.worker(replies=[answer], channel=OddChannel(room))
    running = asyncio.create_task(worker.runner.run_session(session_id))
    await begun.wait()
    await worker.deliver(session_id)
    assert len(room.platform.posted) == 1
    go.set()
    await running
    room.platform.faults = ["refused"]

    await worker.deliver(session_id)

    assert room.platform.texts(THREAD)[1:] == ["odd answer"]


async def test_send_that_ends_with_any_other_error_may_have_happened(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = OddChannel(room)
    channel.send_errors = [ValueError("odd answer")]
    channel.find_errors = [KeyError("ts")]
    worker = room.worker(channel=channel)
    await put(room, session_id, "one")
    await put(room, session_id, "two")

    await worker.deliver(session_id)
    assert room.platform.texts(THREAD) == []
    await room.clock.sleep(3)
    await worker.deliver(session_id)

    assert room.platform.texts(THREAD) == ["one", "two"]
    assert await room.rows(outbox.c.state) == ["sent", "sent"]


async def test_send_that_stays_unknown_is_repeated_ever_more_slowly(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = OddChannel(room)
    worker = room.worker(channel=channel)
    await put(room, session_id, "one")

    for sends in (2, 3, 4):
        room.platform.faults = ["unsent"] * 100
        async with asyncio.timeout(5):
            await worker.deliver(session_id)
        assert len(channel.sending) == sends
        await room.clock.sleep(120)
    room.platform.faults = []
    await worker.deliver(session_id)

    assert room.platform.texts(THREAD) == ["one"]


async def test_answer_is_settled_though_its_mark_cannot_be_taken_away(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = OddChannel(room)
    channel.react_error = RuntimeError("Session is closed")
    await room.worker(replies=[say("done")], channel=channel).runner.run_session(session_id)

    await room.worker(channel=channel).deliver(session_id)

    assert await room.rows(outbox.c.state, kind="answer") == ["sent"]


async def test_turn_ends_while_something_else_is_stuck_on_its_way_out(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = OddChannel(room)
    channel.hold[sentences.HELD] = asyncio.Event()
    begun, go, stuck = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def look(_step: StepSnapshot) -> ModelReply:
        begun.set()
        await stuck.wait()
        return call(("list_files", {"path": "."}))

    async def answer(_step: StepSnapshot) -> ModelReply:
        await go.wait()
        return say("done")

    worker = room.worker(replies=[look, answer], channel=channel)
    running = asyncio.create_task(worker.runner.run_session(session_id))
    await begun.wait()
    await worker.deliver(session_id)
    await room.say("and then?")
    delivering = asyncio.create_task(worker.deliver(session_id))
    await until(lambda: sentences.HELD in channel.sending)
    stuck.set()
    await until(lambda: len(worker.model.steps) == 2)
    await asyncio.sleep(0.05)  # the progress of the second step is now due
    go.set()
    try:
        async with asyncio.timeout(3):
            assert await running
        assert await room.said("answer") == ["done"]
    finally:
        channel.hold[sentences.HELD].set()
        await delivering
