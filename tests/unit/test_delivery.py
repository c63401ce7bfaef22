"""Delivery says each thing once, in a thread's order, and knows what became of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.dying import DeadError, DiesAt
from fakes.loopback import LoopbackChannel
from fakes.scripted_model import say
from fakes.spine_room import LEASE_S, THREAD, RoomClock, SpineRoom, open_room, place_thread

from geode.errors import ChannelDownError, SendRateLimitedError, SendUnknownError
from geode.messages import OutboundBody, Part, Place, SessionId, Thread
from geode.reply import sentences
from geode.store.outbox import NewOutbox, add_outbox
from geode.store.tables import outbox, outbox_parts

LEASE_OVER_S = 91.0
"""Longer than a delivery lease that nobody renews."""


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


async def open_thread(room: SpineRoom, thread: Thread = THREAD) -> SessionId:
    await room.say("hi", thread=thread)
    return await room.session_id(thread)


async def put(
    room: SpineRoom, session_id: SessionId, body: str, kind: str = "notice", turn: str = ""
) -> bool:
    new = NewOutbox(kind, turn or body, body, "", turn)
    return await room.store.write(
        "put", lambda tx: add_outbox(tx, session_id, new, room.clock.now_us())
    )


async def states(room: SpineRoom) -> list[tuple[str, str]]:
    return await room.rows(outbox.c.body, outbox.c.state)


async def part_states(room: SpineRoom) -> list[str]:
    return await room.rows(outbox_parts.c.state, order=outbox_parts.c.outbox_id)


async def test_progress_message_becomes_the_answer(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    worker = room.worker()
    await put(room, session_id, sentences.WORKING, "progress", "t1")
    await worker.deliver(session_id)
    await put(room, session_id, "the answer", "answer", "t1")

    await worker.deliver(session_id)

    (post,) = room.platform.posted
    assert (post.text, post.edits) == ("the answer", [sentences.WORKING])
    assert await states(room) == [(sentences.WORKING, "sent"), ("the answer", "sent")]


async def test_later_parts_of_an_answer_are_new_messages_below_the_first(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    worker = room.worker()
    await put(room, session_id, sentences.WORKING, "progress", "t1")
    await worker.deliver(session_id)
    await put(room, session_id, "a\n---\nb\n---\nc", "answer", "t1")

    await worker.deliver(session_id)

    assert room.platform.texts(THREAD) == ["a", "b", "c"]
    assert [post.edits for post in room.platform.posted] == [[sentences.WORKING], [], []]


@pytest.mark.parametrize(("seconds", "is_new"), [(59, False), (60, False), (61, True)])
async def test_answer_after_more_than_a_minute_is_a_new_message_that_notifies(
    room: SpineRoom, seconds: int, is_new: bool
) -> None:
    session_id = await open_thread(room)
    worker = room.worker()
    await put(room, session_id, sentences.WORKING, "progress", "t1")
    await worker.deliver(session_id)
    await room.clock.sleep(seconds)
    await put(room, session_id, "the answer", "answer", "t1")

    await worker.deliver(session_id)

    below = [sentences.ANSWERED_BELOW] if is_new else []
    assert room.platform.texts(THREAD) == [*below, "the answer"]
    assert sentences.ANSWERED_BELOW == "Answered below."


async def test_answer_that_overtook_its_progress_message_is_the_only_message(
    room: SpineRoom,
) -> None:
    session_id = await open_thread(room)
    await put(room, session_id, sentences.WORKING, "progress", "t1")
    await put(room, session_id, "quick", "answer", "t1")

    await room.worker().deliver(session_id)

    assert room.platform.texts(THREAD) == ["quick"]
    assert await room.rows(outbox.c.state, outbox.c.reason) == [
        ("not_applied", "answered first"),
        ("sent", ""),
    ]


async def test_resumed_turn_reuses_the_progress_message(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    await room.claim(session_id, "dead")
    first = room.worker("dead")
    await first.deliver(session_id)
    await room.clock.sleep(LEASE_S + 1)
    worker = room.worker("alive", [say("resumed answer")])

    await worker.runner.run_session(session_id)
    await worker.deliver(session_id)

    (post,) = room.platform.posted
    assert (post.text, post.edits) == ("resumed answer", [sentences.WORKING])


async def test_refused_edit_becomes_a_message_of_its_own(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    worker = room.worker()
    await put(room, session_id, sentences.WORKING, "progress", "t1")
    await worker.deliver(session_id)
    room.platform.posted.clear()  # somebody deleted it
    await put(room, session_id, "the answer", "answer", "t1")

    await worker.deliver(session_id)

    assert room.platform.texts(THREAD) == ["the answer"]
    assert (await states(room))[1] == ("the answer", "sent")


async def test_edit_of_unknown_outcome_is_repeated(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    worker = room.worker()
    await put(room, session_id, sentences.WORKING, "progress", "t1")
    await worker.deliver(session_id)
    await put(room, session_id, "the answer", "answer", "t1")
    room.platform.faults = ["dropped", "unsent"]

    for _ in range(3):
        await worker.deliver(session_id)
        await room.clock.sleep(60)

    assert room.platform.texts(THREAD) == ["the answer"]
    assert (await states(room))[1] == ("the answer", "sent")


class CountingChannel(LoopbackChannel):
    """Counts what is sent and looked for; may show what it has only at a later look."""

    def __init__(self, room: SpineRoom) -> None:
        super().__init__(room.platform)
        self.sends: list[dict[str, object]] = []
        self.looks: list[float] = []
        self.blind_looks = 0
        self.look_error: Exception | None = None
        self._clock = room.clock

    async def send(self, place: Place, part, key: str) -> str:
        self.sends.append(part.payload)
        return await super().send(place, part, key)

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        self.looks.append(self._clock.monotonic())
        if self.look_error is not None:
            raise self.look_error
        if self.blind_looks:
            self.blind_looks -= 1
            return None
        return await super().find_sent(place, key, since_us, part)


async def test_formatting_refusal_is_sent_once_more_as_plain_text(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = CountingChannel(room)
    await put(room, session_id, "**bold**")
    room.platform.faults = ["format"]

    await room.worker(channel=channel).deliver(session_id)

    assert channel.sends == [{"text": "**bold**"}, {}]
    assert room.platform.texts(THREAD) == ["**bold**"]


async def test_second_formatting_refusal_ends_the_row_with_its_reason(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = CountingChannel(room)
    await put(room, session_id, "odd")
    room.platform.faults = ["format", "format"]

    await room.worker(channel=channel).deliver(session_id)

    assert len(channel.sends) == 2
    ((state, reason),) = await room.rows(outbox.c.state, outbox.c.reason)
    assert state == "not_applied"
    assert "formatting" in reason


async def test_rate_limit_is_waited_out_without_stalling_other_threads(room: SpineRoom) -> None:
    slow, quick = await open_thread(room), await open_thread(room, place_thread(2))
    channel = CountingChannel(room)
    worker = room.worker(channel=channel)
    await put(room, slow, "later")
    await put(room, quick, "now")
    room.platform.faults = ["limited"]

    await worker.deliver(slow)
    await worker.deliver(quick)
    await worker.deliver(slow)

    assert [post.text for post in room.platform.posted] == ["now"]
    assert len(channel.sends) == 2
    await room.clock.sleep(0.2)
    await worker.deliver(slow)
    assert [post.text for post in room.platform.posted] == ["now", "later"]
    assert channel.looks == []


async def test_lost_response_is_found_and_not_sent_again(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = CountingChannel(room)
    await put(room, session_id, "once")
    room.platform.faults = ["dropped"]

    await room.worker(channel=channel).deliver(session_id)

    assert room.platform.texts(THREAD) == ["once"]
    assert len(channel.sends) == 1
    assert await part_states(room) == ["reconciled"]
    assert await states(room) == [("once", "sent")]


async def test_lost_response_is_looked_for_twice_before_it_is_repeated(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = CountingChannel(room)
    await put(room, session_id, "once")
    room.platform.faults = ["unsent"]

    await room.worker(channel=channel).deliver(session_id)

    assert room.platform.texts(THREAD) == ["once"]
    assert len(channel.sends) == 2
    first, second = channel.looks
    assert second - first >= 5
    assert await part_states(room) == ["committed"]


async def test_message_that_shows_up_late_is_found_by_the_second_look(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = CountingChannel(room)
    channel.blind_looks = 1
    await put(room, session_id, "once")
    room.platform.faults = ["dropped"]

    await room.worker(channel=channel).deliver(session_id)

    assert room.platform.texts(THREAD) == ["once"]
    assert len(channel.sends) == 1


async def test_unknown_outcome_waits_while_the_platform_cannot_be_asked(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = CountingChannel(room)
    channel.look_error = ChannelDownError("no route")
    worker = room.worker(channel=channel)
    await put(room, session_id, "once")
    room.platform.faults = ["dropped"]

    await worker.deliver(session_id)
    assert await part_states(room) == ["uncertain"]
    channel.look_error = None
    await room.clock.sleep(120)
    await worker.deliver(session_id)

    assert room.platform.texts(THREAD) == ["once"]
    assert len(channel.sends) == 1
    assert await part_states(room) == ["reconciled"]


async def test_permanent_refusal_ends_with_its_reason_and_the_thread_goes_on(
    room: SpineRoom,
) -> None:
    session_id = await open_thread(room)
    await put(room, session_id, "refused one")
    await put(room, session_id, "next one")
    room.platform.faults = ["refused"]

    await room.worker().deliver(session_id)

    assert await room.rows(outbox.c.state, outbox.c.reason) == [
        ("not_applied", "channel_not_found"),
        ("sent", ""),
    ]
    assert room.platform.texts(THREAD) == ["next one"]


async def test_outage_keeps_the_order_of_a_thread(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    worker = room.worker()
    for text in ("one", "two", "three"):
        await put(room, session_id, text)
    room.platform.faults = ["", "down", "down"]

    for _ in range(4):
        await worker.deliver(session_id)
        await room.clock.sleep(60)

    assert room.platform.texts(THREAD) == ["one", "two", "three"]


async def test_outage_is_retried_ever_more_slowly(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    channel = CountingChannel(room)
    worker = room.worker(channel=channel)
    await put(room, session_id, "patience")
    room.platform.faults = ["down"] * 20

    for _ in range(600):
        await worker.deliver(session_id)
        await room.clock.sleep(0.5)

    assert 5 <= len(channel.sends) <= 15


@pytest.mark.parametrize("point", ["send.before:answer", "send.after:answer"])
@pytest.mark.parametrize("part", [1, 2, 3])
async def test_death_around_any_part_sends_every_part_once(
    tmp_path: Path, point: str, part: int
) -> None:
    async with open_room(tmp_path) as room:
        session_id = await open_thread(room)
        await put(room, session_id, "a\n---\nb\n---\nc", "answer", "t1")
        dead = room.worker("dead", failpoints=DiesAt(point, part))
        with pytest.raises(DeadError):
            await dead.deliver(session_id)
        await room.clock.sleep(LEASE_OVER_S)

        await room.worker("alive").deliver(session_id)

        assert room.platform.texts(THREAD) == ["a", "b", "c"]
        assert await states(room) == [("a\n---\nb\n---\nc", "sent")]


async def test_thread_is_delivered_by_one_worker_at_a_time(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    await put(room, session_id, "once")
    dead = room.worker("dead", failpoints=DiesAt("send.before:notice"))
    with pytest.raises(DeadError):
        await dead.deliver(session_id)

    other = room.worker("other")
    await other.deliver(session_id)
    assert room.platform.posted == []

    await room.clock.sleep(LEASE_OVER_S)
    await other.deliver(session_id)
    assert room.platform.texts(THREAD) == ["once"]


class FreezingChannel(LoopbackChannel):
    """The platform takes the message; its answer comes when the test says so."""

    def __init__(self, room: SpineRoom) -> None:
        super().__init__(room.platform)
        self.taken, self.thaw = asyncio.Event(), asyncio.Event()

    async def send(self, place: Place, part, key: str) -> str:
        message_id = await super().send(place, part, key)
        self.taken.set()
        await self.thaw.wait()
        return message_id


async def test_worker_that_froze_in_a_send_changes_nothing_after_its_successor(
    room: SpineRoom,
) -> None:
    session_id = await open_thread(room)
    await put(room, session_id, "a\n---\nb")
    await put(room, session_id, "c")
    channel = FreezingChannel(room)
    frozen = asyncio.create_task(room.worker("frozen", channel=channel).deliver(session_id))
    await channel.taken.wait()
    await room.clock.sleep(LEASE_OVER_S)
    await room.worker("alive").deliver(session_id)
    before = await room.rows(*outbox_parts.c, order=outbox_parts.c.outbox_id)

    channel.thaw.set()
    await frozen

    assert room.platform.texts(THREAD) == ["a", "b", "c"]
    assert await room.rows(*outbox_parts.c, order=outbox_parts.c.outbox_id) == before


async def test_notice_of_one_episode_is_said_once(room: SpineRoom) -> None:
    session_id = await open_thread(room)

    made = [await put(room, session_id, "same words") for _ in range(3)]
    await room.worker().deliver(session_id)

    assert made == [True, False, False]
    assert room.platform.texts(THREAD) == ["same words"]


async def test_working_mark_is_taken_away_with_the_answer(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    (mark,) = room.wakes.marks
    worker = room.worker(replies=[say("hello")])
    await worker.delivery.mark_working(Place(THREAD), mark, is_on=True)
    assert room.platform.working == {mark}

    await worker.runner.run_session(session_id)
    await worker.deliver(session_id)

    assert room.platform.working == set()


@pytest.mark.parametrize("fault", [SendUnknownError("cut"), SendRateLimitedError(1.0)])
async def test_working_mark_is_taken_away_when_the_platform_failed_at_first(
    room: SpineRoom, fault: Exception
) -> None:
    session_id = await open_thread(room)
    (mark,) = room.wakes.marks
    room.platform.mark_faults.append(fault)
    worker = room.worker(replies=[say("hello")])
    await worker.delivery.mark_working(Place(THREAD), mark, is_on=True)

    await worker.runner.run_session(session_id)
    await worker.deliver(session_id)

    assert room.platform.working == set()
    assert room.platform.mark_faults == []


async def test_progress_is_edited_only_while_nothing_else_waits(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    worker = room.worker()
    await put(room, session_id, sentences.WORKING, "progress", "t1")
    await worker.deliver(session_id)

    await worker.delivery.edit_progress(
        session_id, "t1", OutboundBody("step 1", "progress"), lambda: True
    )
    await worker.delivery.edit_progress(
        session_id, "t1", OutboundBody("forbidden", "progress"), lambda: False
    )
    await put(room, session_id, "the answer", "answer", "t1")
    await worker.delivery.edit_progress(
        session_id, "t1", OutboundBody("too late", "progress"), lambda: True
    )

    (post,) = room.platform.posted
    assert (post.text, post.edits) == ("step 1", [sentences.WORKING])


async def test_progress_never_overwrites_an_answer_that_was_delivered(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    worker = room.worker()
    await put(room, session_id, sentences.WORKING, "progress", "t1")
    await worker.deliver(session_id)
    await put(room, session_id, "the answer", "answer", "t1")
    await worker.deliver(session_id)

    await worker.delivery.edit_progress(
        session_id, "t1", OutboundBody("still working", "progress"), lambda: True
    )

    assert room.platform.texts(THREAD) == ["the answer"]


async def test_secret_in_an_answer_does_not_leave(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    token = "xoxb-1234567890-abcdefghij"
    await put(room, session_id, f"my token is {token}", "answer", "t1")

    await room.worker().deliver(session_id)

    (text,) = room.platform.texts(THREAD)
    assert token not in text
    assert text.startswith("my token is ")
    assert token not in "".join(
        await room.rows(outbox_parts.c.payload, order=outbox_parts.c.number)
    )


async def test_row_for_a_channel_that_is_not_there_waits(room: SpineRoom) -> None:
    session_id = await open_thread(room)
    await put(room, session_id, "for later")

    await room.worker(channel=LoopbackChannel(room.platform, "other")).deliver(session_id)

    assert await states(room) == [("for later", "queued")]
    assert isinstance(room.clock, RoomClock)
