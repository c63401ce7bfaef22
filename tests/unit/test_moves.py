"""A conversation goes on under its new id: nothing is lost, doubled or mistaken for another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.loopback import LoopbackPlatform
from fakes.scripted_model import say
from fakes.spine_room import BINDING, SpineRoom, open_room
from sqlalchemy import select

from geode.intake.access import Admitted, ThreadFacts, admit
from geode.intake.catchup import CatchUp
from geode.messages import Thread
from geode.settings import Binding
from geode.store.sessions import find_session
from geode.store.tables import cursors, inbox, moves, sessions, threads

OLD = Thread("loop", "T1", "C1", "")
NEW = Thread("loop", "T1", "C9", "")
NEWEST = Thread("loop", "T1", "C10", "")


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


async def places(room: SpineRoom) -> list[tuple[str, str]]:
    return await room.store.read(
        lambda tx: [
            (str(row.channel), str(row.session_id))
            for row in tx.execute(select(threads.c.channel, threads.c.session_id))
        ]
    )


async def test_session_goes_on_in_the_new_channel_though_the_binding_names_the_old_one(
    room: SpineRoom,
) -> None:
    await room.say("before", thread=OLD)
    ((_, session_id),) = await places(room)

    await room.door.move_place(OLD, NEW)
    await room.say("after", thread=NEW)

    assert await places(room) == [("C9", session_id)]
    assert await room.rows(inbox.c.text, order=inbox.c.order_key) == ["before", "after"]
    assert await room.rows(sessions.c.binding, order=sessions.c.id) == ["loop:T1/C1"]


async def test_move_of_a_channel_that_nobody_bound_leaves_no_row(room: SpineRoom) -> None:
    stranger = replace(OLD, channel="C77")

    await room.door.move_place(stranger, replace(OLD, channel="C78"))

    assert await room.rows(moves.c.old_channel, order=moves.c.old_channel) == []
    assert room.door.ignored["access.unbound"] == 1


async def test_moved_session_takes_in_order_what_was_said_before_and_after(room: SpineRoom) -> None:
    await room.say("before", thread=OLD, message_id="70000", order_key="0070000")
    await room.door.move_place(OLD, NEW)
    await room.say("after", thread=NEW, message_id="3", order_key="0000003", is_addressed=False)

    worker = room.worker(replies=[say("done")])
    session_id = await room.store.read(lambda tx: find_session(tx, NEW))
    assert session_id is not None
    await worker.runner.run_session(session_id)

    asked = worker.model.steps[0].messages[-1].text
    assert asked.index("before") < asked.index("after")


async def test_message_of_before_the_move_is_never_taken_for_one_with_the_same_number(
    room: SpineRoom,
) -> None:
    said = await room.say("old words", thread=OLD, message_id="5", reply_to="5")
    await room.door.move_place(OLD, NEW)

    edit = replace(
        said, thread=NEW, kind="edit", text="new words", dedupe_key="edit", message_id="5"
    )
    await room.door.accept(edit)

    texts = await room.rows(inbox.c.text, order=inbox.c.id, kind="message")
    assert texts == ["old words"]
    assert await room.rows(inbox.c.message_id, order=inbox.c.id, kind="message") == ["C1/5"]
    assert await room.rows(inbox.c.reply_to, order=inbox.c.id, kind="message") == ["C1/5"]


async def test_move_is_harmless_when_repeated_unknown_or_back(room: SpineRoom) -> None:
    await room.say("before", thread=OLD)
    unknown = Thread("loop", "T1", "C77", "")

    elsewhere = Thread("loop", "T1", "C78", "")
    for old, new in ((OLD, NEW), (OLD, NEW), (unknown, elsewhere), (NEW, OLD)):
        await room.door.move_place(old, new)

    assert [channel for channel, _ in await places(room)] == ["C9"]
    assert await room.rows(moves.c.new_channel, order=moves.c.old_channel) == ["C9"]


async def test_second_move_is_followed_from_the_first_id(room: SpineRoom) -> None:
    await room.say("one", thread=OLD)
    await room.door.move_place(OLD, NEW)
    await room.say("two", thread=NEW)
    await room.door.move_place(NEW, NEWEST)
    await room.say("three", thread=NEWEST)
    await room.door.move_place(OLD, NEW)

    assert [channel for channel, _ in await places(room)] == ["C10"]
    assert await room.rows(inbox.c.text, order=inbox.c.order_key) == ["one", "two", "three"]
    assert room.door.tell_moves() == ["loop:T1/C1 has another id now: write T1/C10 in its binding."]


async def test_move_into_a_channel_with_a_session_of_its_own_keeps_both(room: SpineRoom) -> None:
    await room.say("in the old one", thread=OLD)
    other = Binding.model_validate({**BINDING, "where": "T1/C9"})
    both = room.settings.model_copy(update={"bindings": (*room.settings.bindings, other)})
    room.settings = both
    room.__post_init__()
    await room.say("in the new one", thread=NEW)

    await room.door.move_place(OLD, NEW)
    await room.say("again in the new one", thread=NEW)

    found = dict(await places(room))
    assert set(found) == {"C1", "C9"}
    assert await room.rows(inbox.c.text, order=inbox.c.id, session_id=found["C9"]) == [
        "in the new one",
        "again in the new one",
    ]


async def test_cursor_of_the_new_channel_begins_anew(room: SpineRoom) -> None:
    await room.say("before", thread=OLD, message_id="70000", order_key="0070000")
    await room.door.move_place(OLD, NEW)
    await room.say("after", thread=NEW, message_id="3", order_key="0000003")

    await room.door.confirm_read(NEW, "0000003", "3")

    assert await room.rows(cursors.c.floor_id, order=cursors.c.channel, channel="C9") == ["3"]
    assert await room.rows(cursors.c.floor_id, order=cursors.c.channel, channel="C1") == []


async def test_move_is_known_after_a_restart_and_ends_with_the_new_id_in_the_binding(
    room: SpineRoom,
) -> None:
    await room.say("before", thread=OLD)
    await room.door.move_place(OLD, NEW)
    room.__post_init__()
    await room.door.read_moves()
    await room.say("after", thread=NEW)
    assert await room.rows(inbox.c.text, order=inbox.c.id) == ["before", "after"]

    rebound = Binding.model_validate({**BINDING, "where": "T1/C9"})
    room.settings = room.settings.model_copy(update={"bindings": (rebound,)})
    room.__post_init__()
    await room.door.read_moves()
    catch_up = CatchUp(room.store, room.clock, {}, room.settings.bindings)
    await catch_up.begin_cursors()

    assert room.door.tell_moves() == []
    assert await room.rows(sessions.c.binding, order=sessions.c.id) == ["loop:T1/C9"]


def test_binding_that_names_the_present_id_is_nearer_than_one_of_before() -> None:
    old = Binding.model_validate(BINDING)
    new = Binding.model_validate({**BINDING, "where": "T1/C9"})
    event = LoopbackPlatform().message(NEW, "hi")
    facts = ThreadFacts(is_followed=False, former_channels=("C1",))

    for order in ([old, new], [new, old]):
        verdict = admit(event, order, facts)
        assert isinstance(verdict, Admitted)
        assert verdict.binding is new
