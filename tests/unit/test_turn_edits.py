"""Edits and deletions reach the agent only for messages that it saw or will see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.scripted_model import say
from fakes.spine_room import THREAD, SpineRoom, open_room

from geode.messages import InboundMessage
from geode.ports import Accepted
from geode.store.tables import inbox


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


def edited(message: InboundMessage, text: str, key: str = "e1") -> InboundMessage:
    return replace(message, kind="edit", text=text, dedupe_key=key)


def deleted(message: InboundMessage, key: str = "d1") -> InboundMessage:
    return replace(message, kind="delete", text="", dedupe_key=key)


async def test_edit_that_arrives_after_its_messages_deletion_is_told_to_nobody(
    room: SpineRoom,
) -> None:
    """The platform's events may arrive out of order; a deleted text must not come back."""
    message = await room.say("secret, sorry")
    await room.door.accept(deleted(message))

    accepted = await room.door.accept(edited(message, "secret, really"))

    assert accepted == Accepted("changed", "unknown")
    assert await room.rows(inbox.c.text, inbox.c.state) == [("secret, sorry", "removed")]


async def test_edit_of_a_message_that_was_too_old_is_told_to_nobody(room: SpineRoom) -> None:
    first = await room.say("hello")
    old = room.platform.message(THREAD, "long ago", is_catch_up=True, sent_at_us=1)
    assert (await room.door.accept(old)).reason == "too_old"

    await room.door.accept(edited(old, "long ago, but new"))

    assert await room.rows(inbox.c.message_id, inbox.c.state) == [
        (first.message_id, "queued"),
        (old.message_id, "skipped"),
    ]


async def test_edit_of_a_queued_message_is_what_the_turn_sees(room: SpineRoom) -> None:
    message = await room.say("draft")
    await room.door.accept(edited(message, "final"))
    worker = room.worker(replies=[say("ok")])

    await worker.runner.run_session(await room.session_id())

    request = worker.model.steps[0].messages[-1].text
    assert "final" in request
    assert "draft" not in request


async def test_deleted_message_starts_no_turn_and_its_text_reaches_nobody(
    room: SpineRoom,
) -> None:
    message = await room.say("never mind")
    await room.door.accept(deleted(message))
    worker = room.worker(replies=[say("never said")])

    assert not await worker.runner.run_session(await room.session_id())
    assert worker.model.steps == []


async def test_edit_of_an_answered_message_is_told_with_the_next_turn(room: SpineRoom) -> None:
    message = await room.say("two eggs")
    worker = room.worker(replies=[say("noted"), say("three then")])
    session_id = await room.session_id()
    await worker.runner.run_session(session_id)
    await room.door.accept(edited(message, "three eggs"))
    assert not await worker.runner.run_session(session_id)

    await room.say("and milk")
    await worker.runner.run_session(session_id)

    request = worker.model.steps[1].messages[-1].text
    assert "<edited" in request
    assert "three eggs" in request


def read_back(message: InboundMessage, text: str, *, is_edited: bool = True) -> InboundMessage:
    """The message as a history shows it later."""
    return replace(message, text=text, is_catch_up=True, is_edited=is_edited)


async def test_edit_in_an_outage_changes_a_message_that_still_waits(room: SpineRoom) -> None:
    message = await room.say("draft")

    first = await room.door.accept(read_back(message, "final"))
    again = await room.door.accept(read_back(message, "final"))

    assert (first.outcome, again.outcome) == ("changed", "duplicate")
    assert await room.rows(inbox.c.text, inbox.c.state) == [("final", "queued")]


async def test_message_read_back_before_its_live_edit_does_not_undo_it(room: SpineRoom) -> None:
    message = await room.say("draft")
    await room.door.accept(edited(message, "final"))

    accepted = await room.door.accept(read_back(message, "draft", is_edited=False))

    assert accepted == Accepted("duplicate")
    assert await room.rows(inbox.c.text) == ["final"]


async def test_edit_in_an_outage_leaves_what_a_turn_has_taken(room: SpineRoom) -> None:
    message = await room.say("draft")
    await room.claim(await room.session_id())

    accepted = await room.door.accept(read_back(message, "final"))

    assert accepted == Accepted("duplicate")
    assert await room.rows(inbox.c.text, inbox.c.kind) == [("draft", "message")]


async def test_deleted_message_does_not_come_back_with_a_catch_up(room: SpineRoom) -> None:
    message = await room.say("secret")
    await room.door.accept(deleted(message))

    await room.door.accept(read_back(message, "secret, really"))

    assert await room.rows(inbox.c.text, inbox.c.state) == [("secret", "removed")]
