"""/new begins a chapter in the same session: what was said before is not known any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.commanding import give, said_of, told
from fakes.scripted_model import call, say
from fakes.spine_room import SpineRoom, Worker, open_room

from geode.messages import SessionId
from geode.reply import command_sentences as said
from geode.steps import ModelReply, StepSnapshot
from geode.store import conversation
from geode.store.database import Tx
from geode.store.tables import inbox, messages, sessions, threads, timeline, turns


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


async def talk(room: SpineRoom, worker: Worker, text: str, answer: str) -> str:
    """One message and its answer; what the model was shown of it is returned."""
    worker.model.add(say(answer))
    await room.say(text)
    await worker.runner.run_session(await room.session_id())
    return shown(worker.model.steps[-1])


def shown(step: StepSnapshot) -> str:
    return "\n".join(message.text for message in step.messages)


async def chapters(room: SpineRoom) -> list[int]:
    return await room.rows(messages.c.chapter, order=messages.c.position)


async def test_new_hides_the_old_chapter_and_goes_on_with_one_chain(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "the word is heron", "noted")

    answer = await told(room, "new")
    after = await talk(room, worker, "which word?", "I do not know")

    assert answer == said.NEW_CHAPTER
    assert "heron" not in after
    assert "noted" not in after
    assert await chapters(room) == [1, 1, 2, 2]
    assert await room.rows(messages.c.position, order=messages.c.position) == [0, 1, 2, 3]
    assert await room.rows(turns.c.number, turns.c.chapter, order=turns.c.number) == [
        (1, 1),
        (2, 2),
    ]
    assert len(await room.rows(threads.c.session_id, order=threads.c.session_id)) == 1
    kinds = await room.rows(timeline.c.kind, order=timeline.c.seq)
    assert kinds.count("command") == 1


async def test_new_chapter_remembers_itself(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "the word is heron", "noted")
    await told(room, "new")

    await talk(room, worker, "the word is otter", "noted too")
    third = await talk(room, worker, "which word?", "otter")

    assert "otter" in third
    assert "heron" not in third
    assert await room.rows(sessions.c.chapter, sessions.c.chapter_due) == [(2, 0)]


async def test_new_drops_the_summary_of_a_long_chapter(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "one", "first")
    session_id = await room.session_id()
    await room.store.write("state", lambda tx: _pretend_shortened(tx, session_id))
    await told(room, "new")

    after = await talk(room, worker, "which word?", "no idea")

    assert "heron" not in after
    assert "which word?" in after


def _pretend_shortened(tx: Tx, session_id: SessionId) -> None:
    known = conversation.load_checkpoint(tx, session_id)
    assert known is not None
    state = {**known.state, "context_start": 1, "summary": "the word is heron"}
    conversation.save_checkpoint(tx, session_id, replace(known, state=state), epoch=1, now_us=1)


async def test_new_survives_a_restart_before_and_after_its_turn_begins(room: SpineRoom) -> None:
    await talk(room, room.worker("one"), "the word is heron", "noted")
    await told(room, "new")
    heir = room.worker("heir", [say("resumed")])
    await room.say("which word?")
    session_id = await room.session_id()
    await room.claim(session_id, "dead")
    await room.clock.sleep(100)

    await heir.runner.run_session(session_id)

    assert "heron" not in shown(heir.model.steps[0])
    assert "which word?" in shown(heir.model.steps[0])
    assert await room.rows(turns.c.chapter, turns.c.attempts, order=turns.c.number) == [
        (1, 1),
        (2, 2),
    ]


async def test_new_during_a_turn_leaves_its_messages_together_and_says_when_it_counts(
    room: SpineRoom,
) -> None:
    async def ask_for_new(step: StepSnapshot) -> ModelReply:
        await give(room, "new", "U2")
        return call(("list_files", {"path": "."}))

    worker = room.worker(replies=[ask_for_new, say("done")])
    await room.say("work")
    await worker.runner.run_session(await room.session_id())

    after = await talk(room, worker, "and now?", "fresh")

    assert await said_of(room, "new", "U2") == [said.NEW_CHAPTER_LATER]
    assert await room.said("answer") == ["done", "fresh"]
    assert await chapters(room) == [1, 1, 1, 1, 2, 2]
    assert "work" not in after


async def test_message_that_waits_at_new_belongs_to_the_new_chapter(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "the word is heron", "noted")
    await room.say("waits", sender="U2")

    answer = await told(room, "new")
    worker.model.add(say("fresh"))
    await worker.runner.run_session(await room.session_id())

    assert answer == said.NEW_CHAPTER_LATER
    assert "waits" in shown(worker.model.steps[-1])
    assert "heron" not in shown(worker.model.steps[-1])


async def test_new_twice_begins_one_chapter(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "one", "first")
    await told(room, "new")
    await told(room, "new", dedupe_key="again")

    await talk(room, worker, "two", "second")

    assert await room.rows(sessions.c.chapter) == [2]


async def test_edit_of_an_old_message_that_waits_is_not_told_in_the_new_chapter(
    room: SpineRoom,
) -> None:
    worker = room.worker(replies=[say("first")])
    old = await room.say("the word is heron")
    await worker.runner.run_session(await room.session_id())
    edit = replace(old, kind="edit", text="the word is grey heron", dedupe_key="edit")
    await room.door.accept(edit)

    await told(room, "new")
    after = await talk(room, worker, "which word?", "no idea")

    assert "heron" not in after
    assert await room.rows(inbox.c.kind, inbox.c.state) == [
        ("message", "done"),
        ("edit", "removed"),
        ("message", "done"),
    ]


async def test_command_that_is_days_old_is_told_once_and_not_obeyed(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "the word is heron", "noted")
    old_us = room.clock.now_us() - 2 * 86_400_000_000

    for key in ("old 1", "old 2"):
        late = {"sent_at_us": old_us, "is_catch_up": True, "dedupe_key": key}
        accepted = await give(room, "new", **late)
        assert accepted.reason == "too_old"

    assert len(await room.said("too_old")) == 1
    assert "heron" in await talk(room, worker, "which word?", "heron")
