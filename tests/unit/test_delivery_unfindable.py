"""Where nobody can look for a lost message, it is sent once more, never twice, and that is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from fakes.spine_room import THREAD, SpineRoom, open_room

from geode.messages import SessionId
from geode.reply import sentences
from geode.store.outbox import NewOutbox, add_outbox
from geode.store.tables import outbox, outbox_parts

SECOND_LOOK_S = 5.0


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    async with open_room(tmp_path) as opened:
        opened.platform.is_searchable = False
        yield opened


async def put_two(room: SpineRoom) -> SessionId:
    """Two notices of one thread."""
    await room.say("hi")
    session_id = await room.session_id(THREAD)
    for body in ("first", "second"):
        new = NewOutbox("notice", body, body)
        await room.store.write(
            "put",
            lambda tx, new=new: add_outbox(tx, session_id, new, room.clock.now_us()),
        )
    return session_id


async def part_rows(room: SpineRoom) -> list[tuple[str, str]]:
    return await room.rows(
        outbox_parts.c.state, outbox_parts.c.error, order=outbox_parts.c.outbox_id
    )


@pytest.mark.parametrize(("fault", "copies"), [("dropped", 2), ("unsent", 1)])
async def test_lost_send_is_sent_once_more_after_a_while_and_noted(
    room: SpineRoom, fault: str, copies: int
) -> None:
    session_id = await put_two(room)
    room.platform.faults = [fault]
    since_us = room.clock.now_us()

    await room.worker().deliver(session_id)

    assert room.platform.texts(THREAD) == ["first"] * copies + ["second"]
    assert room.clock.now_us() - since_us >= SECOND_LOOK_S * 1_000_000
    assert await part_rows(room) == [
        ("committed", sentences.POSSIBLY_DOUBLED),
        ("committed", ""),
    ]
    assert (await room.rows(outbox.c.state, outbox.c.reason))[0] == (
        "sent",
        sentences.POSSIBLY_DOUBLED,
    )


async def test_send_that_is_lost_twice_is_left_uncertain_and_the_thread_goes_on(
    room: SpineRoom,
) -> None:
    session_id = await put_two(room)
    room.platform.faults = ["dropped", "dropped"]

    await deliver_for_a_while(room, session_id)

    assert room.platform.texts(THREAD) == ["first", "first", "second"]
    assert (await part_rows(room))[0] == ("uncertain", sentences.POSSIBLY_LOST)
    assert await room.rows(outbox.c.state) == ["sent", "sent"]


async def test_wait_between_the_two_sends_keeps_the_count(room: SpineRoom) -> None:
    session_id = await put_two(room)
    room.platform.faults = ["dropped", "limited", "dropped"]

    await deliver_for_a_while(room, session_id)

    assert room.platform.texts(THREAD) == ["first", "first", "second"]
    assert (await part_rows(room))[0] == ("uncertain", sentences.POSSIBLY_LOST)


@pytest.mark.parametrize("deaths", [1, 2, 3])
async def test_death_in_a_send_leads_to_one_more_copy_at_most(room: SpineRoom, deaths: int) -> None:
    session_id = await put_two(room)
    for number in range(deaths):
        await die_after_send(room, session_id, f"dead{number}")

    await deliver_for_a_while(room, session_id)

    firsts = room.platform.texts(THREAD).count("first")
    assert firsts == 2
    assert room.platform.texts(THREAD)[-1] == "second"


class DiesAfterSendError(BaseException):
    """The process ends between a send and the record of its outcome."""


async def die_after_send(room: SpineRoom, session_id: SessionId, name: str) -> None:
    class Death:
        def hit(self, name: str) -> None:
            if name.startswith("send.after"):
                raise DiesAfterSendError

    with suppress(DiesAfterSendError):
        await room.worker(name, failpoints=Death()).deliver(session_id)
    await room.clock.sleep(91)


async def deliver_for_a_while(room: SpineRoom, session_id: SessionId) -> None:
    for _ in range(6):
        await room.worker().deliver(session_id)
        await room.clock.sleep(70)
