"""/compact shortens what the model is shown, once, and deletes nothing; /why tells refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.commanding import give, told
from fakes.contract_desk import Killed
from fakes.loop_fakes import find_faults
from fakes.scripted_model import call, say
from fakes.spine_room import SpineRoom, Worker, open_room

from geode.reply import command_sentences as said
from geode.steps import ModelReply, StepSnapshot
from geode.store.tables import messages, sessions, timeline

LONG = "the heron stands in the reeds and waits " * 60


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[SpineRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


async def talk(room: SpineRoom, worker: Worker, text: str, *answers: str) -> list[StepSnapshot]:
    """One message and its turn; every call of the model that it made."""
    before = len(worker.model.steps)
    worker.model.add(*map(say, answers))
    await room.say(text)
    await worker.runner.run_session(await room.session_id())
    return worker.model.steps[before:]


def shown(step: StepSnapshot) -> str:
    return "\n".join(message.text for message in step.messages)


async def have_long_talk(room: SpineRoom, worker: Worker) -> None:
    for number in range(4):
        await talk(room, worker, f"{number}: {LONG}", "noted")


def summaries(worker: Worker) -> int:
    """How often the model was asked for one."""
    return sum("<transcript>" in shown(step) for step in worker.model.steps)


async def test_compact_shortens_before_the_next_answer_and_once(room: SpineRoom) -> None:
    worker = room.worker()
    await have_long_talk(room, worker)
    stored = len(await room.rows(messages.c.position, order=messages.c.position))

    answer = await told(room, "compact")
    summary, after = await talk(room, worker, "go on", "herons, four times", "going on")
    (again,) = await talk(room, worker, "and now?", "still going on")

    assert answer == said.COMPACTION
    assert "<transcript>" in shown(summary)
    assert "herons, four times" in shown(after)
    assert shown(after).count("the heron stands") < shown(summary).count("the heron stands")
    assert "herons, four times" in shown(again)
    kinds = await room.rows(timeline.c.kind, order=timeline.c.seq)
    assert kinds.count("compaction") == 1
    assert len(await room.rows(messages.c.position, order=messages.c.position)) == stored + 4


async def test_compact_of_a_short_talk_says_so_and_asks_no_model(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "hello", "hello to you")

    answer = await told(room, "compact")
    (after,) = await talk(room, worker, "and?", "as before")

    assert answer == said.SHORT_ALREADY
    assert "hello to you" in shown(after)
    assert await room.rows(sessions.c.compact_due) == [0]
    assert "command" not in await room.rows(timeline.c.kind, order=timeline.c.seq)


async def test_compact_of_what_was_shortened_already_says_so(room: SpineRoom) -> None:
    worker = room.worker()
    await have_long_talk(room, worker)
    await told(room, "compact")
    await talk(room, worker, "go on", "herons, four times", "going on")

    again = await told(room, "compact", dedupe_key="again")
    if again == said.COMPACTION:
        # What was kept word for word may still be long enough to be shortened once more.
        await talk(room, worker, "go on", "herons, as ever", "going on")
        again = await told(room, "compact", dedupe_key="once more")

    assert again == said.SHORT_ALREADY


async def test_compact_that_helps_nothing_is_not_tried_at_every_turn(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, LONG * 2, "noted")
    await told(room, "compact")

    await talk(room, worker, "go on", LONG * 20, "as before")
    (after,) = await talk(room, worker, "and?", "as before")

    assert "was shortened" not in shown(after)
    assert summaries(worker) == 1


async def test_compact_before_a_new_chapter_says_that_it_begins_anyway(room: SpineRoom) -> None:
    worker = room.worker()
    await have_long_talk(room, worker)
    await told(room, "new")

    assert await told(room, "compact") == said.NEW_ANYWAY


async def test_new_after_compact_takes_the_wish_away(room: SpineRoom) -> None:
    worker = room.worker()
    await have_long_talk(room, worker)
    await told(room, "compact")
    await told(room, "new")

    await talk(room, worker, LONG * 3, "fresh")
    await talk(room, worker, LONG * 3, "fresh too")

    assert summaries(worker) == 0
    assert await told(room, "compact", dedupe_key="again") == said.COMPACTION
    await talk(room, worker, "go on", "in short", "going on")
    assert summaries(worker) == 1


async def test_compact_during_a_turn_counts_from_the_next_one(room: SpineRoom) -> None:
    worker = room.worker()
    await have_long_talk(room, worker)
    answers: list[str] = []

    async def ask_meanwhile(step: StepSnapshot) -> object:
        answers.append(await told(room, "compact"))
        return say("the first answer")

    worker.model.add(ask_meanwhile)  # pyright: ignore[reportArgumentType]
    await room.say("work")
    await worker.runner.run_session(await room.session_id())
    assert summaries(worker) == 0
    summary, _ = await talk(room, worker, "go on", "in short", "going on")

    assert answers == [said.COMPACTION_LATER]
    assert "<transcript>" in shown(summary)


async def test_compact_while_an_earlier_one_is_done_is_done_as_well(room: SpineRoom) -> None:
    worker = room.worker()
    await have_long_talk(room, worker)
    await told(room, "compact")

    async def ask_again(step: StepSnapshot) -> ModelReply:
        await told(room, "compact", dedupe_key="again")
        return say("in short")

    worker.model.add(ask_again, say("going on"))
    await room.say("go on")
    await worker.runner.run_session(await room.session_id())
    await talk(room, worker, LONG * 3, "in short again", "going on")

    assert summaries(worker) == 2


async def test_compact_is_not_lost_when_its_turn_is_stopped_before_it_was_done(
    room: SpineRoom,
) -> None:
    worker = room.worker()
    room.wakes.leases = worker.leases
    await have_long_talk(room, worker)
    await told(room, "compact")

    async def stop_now(step: StepSnapshot) -> ModelReply:
        await give(room, "stop")
        await asyncio.sleep(60)
        return say("too late")

    worker.model.add(stop_now)
    await room.say("go on")
    await worker.runner.run_session(await room.session_id())
    await talk(room, worker, "and now", "in short", "going on")

    assert summaries(worker) == 2
    assert "in short" in shown(worker.model.steps[-1])


async def test_compact_is_still_due_when_the_worker_dies_before_the_turn_ends(
    room: SpineRoom,
) -> None:
    worker = room.worker()
    await have_long_talk(room, worker)
    await told(room, "compact")
    await room.say("go on")
    first = await room.claim(await room.session_id(), "dead")
    assert first is not None
    await room.clock.sleep(3_600)

    worker.model.add(say("in short"), say("going on"))
    await worker.runner.run_session(await room.session_id())

    assert "<transcript>" in shown(worker.model.steps[-2])
    await talk(room, worker, "and now", "still")
    assert summaries(worker) == 1


async def test_compact_that_a_batch_has_stored_is_not_done_again_after_a_kill(
    room: SpineRoom,
) -> None:
    worker = room.worker()
    await have_long_talk(room, worker)
    await told(room, "compact")

    async def die(step: StepSnapshot) -> ModelReply:
        raise Killed

    worker.model.add(say("in short"), call(("list_files", {"path": "."})), die)
    await room.say("go on")
    with pytest.raises(Killed):
        await worker.runner.run_session(await room.session_id())
    await room.clock.sleep(3_600)
    heir = room.worker("heir", [say("going on")])
    await heir.runner.run_session(await room.session_id())

    assert summaries(worker) == 1
    assert find_faults(heir.model.steps[0].messages) == []
    assert "in short" in shown(heir.model.steps[0])
    assert len(heir.model.steps) == 1


async def test_people_who_are_no_operators_cannot_compact(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "hello", "hello to you")

    accepted = await give(room, "compact", "U2")

    assert (accepted.outcome, accepted.reason) == ("refused", "command.not_yours")
    assert await room.rows(sessions.c.compact_due) == [0]


async def test_why_names_tool_and_rule_of_what_was_refused_last(room: SpineRoom) -> None:
    worker = room.worker()
    nothing = await _why_after_hello(room, worker)
    worker.model.add(call(("run_bash", {"command": "rm -rf /"})), say("it was refused"))
    await room.say("clean up")
    await worker.runner.run_session(await room.session_id())

    answer = await told(room, "why", "U2", dedupe_key="again")

    assert nothing == said.NO_REFUSAL
    (line,) = [line for line in answer.splitlines() if line.startswith("- ")]
    assert line.startswith("- `c")
    assert "run" in line
    assert line.endswith("Rule: `mode.removed`.")
    call_id = line.split("`")[1]
    one = await told(room, "why", "U2", dedupe_key="one", argument=call_id.upper())
    assert one.startswith(f"`{call_id}` ")
    assert "was refused" in one
    for number, word in enumerate(("c1", "c9999", "nonsense", "c" + "9" * 40, "*x*")):
        told_none = await told(room, "why", "U2", dedupe_key=f"none {number}", argument=word)
        assert told_none == said.describe_unknown_call(word)


async def test_why_shows_words_of_the_model_as_words(room: SpineRoom) -> None:
    worker = room.worker()
    name = "x` **bold** <@U9>\u202e" + "y" * 500
    worker.model.add(call((name, {})), say("it was refused"))
    await room.say("clean up")
    await worker.runner.run_session(await room.session_id())

    answer = await told(room, "why")

    (line,) = [line for line in answer.splitlines() if line.startswith("- ")]
    assert r"\<@U9\>" in line
    assert "\u202e" not in line
    assert len(line) < 600


async def _why_after_hello(room: SpineRoom, worker: Worker) -> str:
    await talk(room, worker, "hello", "hello to you")
    return await told(room, "why", "U2")
