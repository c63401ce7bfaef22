"""/stop ends what runs, durably and within two seconds, and the next message is answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.commanding import Held, enter_state, give, said_of, slow_tool, told
from fakes.scripted_model import Scripted, call, say
from fakes.spine_room import LEASE_S, THREAD, RoomClock, SpineRoom, Worker, open_room, until

from geode.loop.termination import describe_end
from geode.messages import SessionState, TerminationReason
from geode.ports import Accepted, SystemClock
from geode.reply import command_sentences as said
from geode.reply import sentences
from geode.session.lanes import LaneQueue
from geode.steps import Effect, ModelReply, StepSnapshot
from geode.store.tables import cards, inbox, messages, outbox, receipts, timeline, turns

STOPPED = describe_end(TerminationReason.USER_CANCELLED)
STOP_S_MAX = 5.0
"""What a busy machine is given for the two seconds of the promise."""


@asynccontextmanager
async def working(room: SpineRoom, worker: Worker) -> AsyncIterator[LaneQueue]:
    """The worker's lanes run; a stop reaches them only by the store, unless the room says so."""

    async def run_session(session_id) -> None:
        if await worker.runner.run_session(session_id):
            lanes.wake(session_id)

    lanes = LaneQueue(room.store, room.clock, worker.leases, run_session, turns_parallel=4)
    running = asyncio.create_task(lanes.run())
    try:
        yield lanes
    finally:
        running.cancel()
        await asyncio.wait((running,))


async def is_idle(room: SpineRoom) -> bool:
    return await room.state(await room.session_id()) == "idle"


async def stop_and_time(room: SpineRoom) -> float:
    """Seconds from the command to the end of the turn."""
    began = time.monotonic()
    assert await give(room, "stop") == Accepted("answered", "stop")
    await until(lambda: is_idle(room), timeout_s=STOP_S_MAX)
    return time.monotonic() - began


@pytest.mark.parametrize("hears", ["at once", "by looking"])
@pytest.mark.parametrize("what", ["tool", "deaf tool", "model call"])
async def test_stop_ends_what_hangs_and_the_next_message_is_answered(
    tmp_path: Path, what: str, hears: str
) -> None:
    held = Held(is_deaf=what == "deaf tool")
    script: list[Scripted] = [held if what == "model call" else call(("slow", {"text": "x"}))]
    async with open_room(tmp_path, clock=SystemClock(), tools=(slow_tool(held),)) as room:
        worker = room.worker(replies=[*script, say("the next answer")])
        room.wakes.leases = worker.leases if hears == "at once" else None
        await room.say("begin")
        async with working(room, worker) as lanes:
            await held.begun.wait()

            elapsed_s = await stop_and_time(room)

            await room.say("next")
            lanes.wake(await room.session_id())
            await until(lambda: has_said(room, "the next answer"))
        assert elapsed_s < STOP_S_MAX
        assert await room.said("answer") == [STOPPED, "the next answer"]
        assert await said_of(room, "stop") == [said.STOPPING]
        assert await room.rows(turns.c.reason, turns.c.stopped_by, order=turns.c.number) == [
            ("user_cancelled", "U1"),
            ("natural", ""),
        ]
        request = worker.model.steps[-1].messages
        assert any("Stopped, as asked" in message.text for message in request)
        assert held.ended.is_set() or what == "deaf tool"


async def has_said(room: SpineRoom, answer: str) -> bool:
    return answer in await room.said("answer")


async def test_stopped_effect_is_uncertain_and_a_card_asks_people_about_it(
    tmp_path: Path,
) -> None:
    held = Held()
    tool = slow_tool(held, Effect.COMMUNICATE)
    async with open_room(tmp_path, clock=SystemClock(), tools=(tool,)) as room:
        worker = room.worker(replies=[call(("slow", {"text": "x"}))])
        room.wakes.leases = worker.leases
        await room.say("begin")
        async with working(room, worker):
            await held.begun.wait()
            await stop_and_time(room)
        await worker.deliver(await room.session_id())

        assert await room.rows(receipts.c.state) == ["uncertain"]
        assert await room.rows(cards.c.kind, cards.c.state) == [("effect", "open")]
        assert await room.said("answer") == [STOPPED]
        texts = room.platform.texts(THREAD)
        assert texts.count(STOPPED) == 1
        assert not any(text.startswith("Working on it") for text in texts)
        assert len(texts) == 3


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


async def test_stop_that_is_stored_before_a_kill_ends_the_resumed_turn(room: SpineRoom) -> None:
    await room.say("begin")
    session_id = await room.session_id()
    await room.claim(session_id, "dead")
    await give(room, "stop")
    await room.clock.sleep(LEASE_S + 1)
    heir = room.worker("heir", [say("never asked")])

    await heir.runner.run_session(session_id)

    assert heir.model.steps == []
    assert await room.said("answer") == [STOPPED]
    assert await room.state(session_id) == "idle"


async def test_answer_that_was_ready_when_the_stop_was_stored_is_not_given(
    room: SpineRoom,
) -> None:
    async def answer_late(step: StepSnapshot) -> ModelReply:
        await give(room, "stop")
        return say("too late")

    await room.say("begin")
    worker = room.worker(replies=[answer_late])

    await worker.runner.run_session(await room.session_id())

    assert await room.said("answer") == [STOPPED]
    assert "too late" not in str(await room.rows(messages.c.body, order=messages.c.position))


async def test_stop_drops_what_waits_and_says_how_much(room: SpineRoom) -> None:
    await enter_state(room, SessionState.RUNNING)
    waiting = [await room.say(text, sender="U2") for text in ("two", "three")]

    await give(room, "stop")

    assert await said_of(room, "stop") == [f"{said.STOPPING} 2 messages that waited were dropped."]
    assert await room.rows(inbox.c.state) == ["taken", "removed", "removed"]
    assert not {message.message_id for message in waiting} & set(room.wakes.marks)
    (body,) = await room.rows(timeline.c.body, order=timeline.c.seq, kind="command")
    assert '"by":"U1"' in body
    assert '"dropped":2' in body


async def test_stop_keeps_what_was_said_after_it_and_came_before_it(room: SpineRoom) -> None:
    await enter_state(room, SessionState.RUNNING)
    early, stop = (room.platform.message(THREAD, text) for text in ("early", "!stop"))
    late = room.platform.message(THREAD, "late")
    for message in (early, late):
        await room.door.accept(message)

    await give(room, "stop", order_key=stop.order_key)

    assert await room.rows(inbox.c.text, inbox.c.state) == [
        ("hi", "taken"),
        ("early", "removed"),
        ("late", "queued"),
    ]
    assert await said_of(room, "stop") == [f"{said.STOPPING} 1 message that waited was dropped."]


async def test_stop_read_late_does_not_end_a_turn_that_was_asked_for_after_it(
    room: SpineRoom,
) -> None:
    await room.say("after the stop", order_key="0000003")
    claim = await room.claim(await room.session_id())

    await give(room, "stop", order_key="0000002")

    assert await said_of(room, "stop") == [said.ASKED_SINCE]
    assert await room.rows(turns.c.stopped_by, order=turns.c.id, id=claim.turn_id) == [""]


async def test_stop_of_an_idle_session_says_so_and_drops_what_no_turn_has_taken(
    room: SpineRoom,
) -> None:
    await enter_state(room, SessionState.IDLE)

    nothing = await told(room, "stop")
    await room.say("waits")
    one = await told(room, "stop", dedupe_key="second")

    assert nothing == said.NOTHING_RUNS
    assert one == f"{said.NOTHING_RUNS} 1 message that waited was dropped."
    worker = room.worker(replies=[say("the next answer")])
    await room.say("next")
    await worker.runner.run_session(await room.session_id())
    assert "waits" not in worker.model.steps[0].messages[-1].text


async def test_second_stop_says_that_it_is_stopping_already(room: SpineRoom) -> None:
    await enter_state(room, SessionState.RUNNING)
    await give(room, "stop")

    assert await told(room, "stop", "U2") == said.STOPPING_ALREADY
    assert await room.rows(turns.c.stopped_by) == ["U1"]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (SessionState.AWAITING_APPROVAL, said.APPROVAL_DENIED),
        (SessionState.AWAITING_REVIEW, said.REVIEW_REJECTED),
    ],
)
async def test_stop_ends_a_turn_that_waits_for_a_decision(
    room: SpineRoom, state: SessionState, sentence: str
) -> None:
    await enter_state(room, state)
    session_id = await room.session_id()
    worker = room.worker(replies=[say("never asked")])
    assert not await worker.runner.run_session(session_id)

    async with working(room, worker):
        await give(room, "stop")
        await until(lambda: is_idle(room))

    assert await said_of(room, "stop") == [sentence]
    assert await room.said("answer") == [STOPPED]
    assert worker.model.steps == []


async def test_person_may_not_drop_an_answer_that_waits_for_a_review(room: SpineRoom) -> None:
    await enter_state(room, SessionState.AWAITING_REVIEW)
    await room.say("more", sender="U2")

    accepted = await give(room, "stop", "U2")

    assert accepted == Accepted("refused", "command.not_yours", said.NOT_YOUR_REVIEW)
    assert await room.rows(turns.c.stopped_by) == [""]
    assert await room.rows(inbox.c.state) == ["taken", "queued"]


async def test_stop_of_an_ended_turn_does_not_touch_the_next_one(room: SpineRoom) -> None:
    await room.say("one")
    worker = room.worker(replies=[say("first")])
    session_id = await room.session_id()
    await worker.runner.run_session(session_id)
    (ended,) = await room.rows(turns.c.id)

    async def hear_old_stop(step: StepSnapshot) -> ModelReply:
        worker.leases.stop(session_id, ended)
        await asyncio.sleep(0)
        return say("second")

    worker.model.add(hear_old_stop)
    await room.say("two")
    await worker.runner.run_session(session_id)

    assert await room.said("answer") == ["first", "second"]


async def test_drained_turn_is_handed_back_and_not_stopped(tmp_path: Path) -> None:
    held = Held()
    async with open_room(tmp_path, clock=SystemClock()) as room:
        worker = room.worker(replies=[held])
        await room.say("begin")
        async with working(room, worker):
            await held.begun.wait()

        assert held.ended.is_set()
        assert await room.rows(turns.c.state, turns.c.attempts) == [("running", 0)]
        assert await room.said("answer") == []


async def test_progress_becomes_the_sentence_of_the_stop(room: SpineRoom) -> None:
    await room.say("begin")
    session_id = await room.session_id()
    worker = room.worker()

    async def stop_now(step: StepSnapshot) -> ModelReply:
        await worker.deliver(session_id)
        await give(room, "stop")
        return say("too late")

    worker.model.add(stop_now)
    await worker.runner.run_session(session_id)
    await worker.deliver(session_id)

    assert room.platform.texts(THREAD) == [STOPPED, said.STOPPING]
    assert room.platform.posted[0].edits == [sentences.WORKING]
    assert await room.rows(outbox.c.state) == ["sent", "sent", "sent"]
    assert room.platform.working == set()
    assert isinstance(room.clock, RoomClock)
