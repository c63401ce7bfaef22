"""/compact shortens what the model is shown, once, and deletes nothing; /why tells refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.commanding import give, told
from fakes.scripted_model import call, say
from fakes.spine_room import SpineRoom, Worker, open_room

from geode.reply import command_sentences as said
from geode.steps import StepSnapshot
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


async def due(room: SpineRoom) -> list[int]:
    return await room.rows(sessions.c.compact_due)


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
    assert await due(room) == [0]
    kinds = await room.rows(timeline.c.kind, order=timeline.c.seq)
    assert kinds.count("compaction") == 1
    assert len(await room.rows(messages.c.position, order=messages.c.position)) == stored + 4


async def test_compact_of_a_short_talk_changes_nothing_and_is_done(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "hello", "hello to you")
    await told(room, "compact")

    _, after = await talk(room, worker, "and?", "longer than what it sums up" * 9, "as before")

    assert "hello to you" in shown(after)
    assert await due(room) == [0]


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
    assert await due(room) == [1]
    summary, _ = await talk(room, worker, "go on", "in short", "going on")

    assert answers == [said.COMPACTION_LATER]
    assert "<transcript>" in shown(summary)
    assert await due(room) == [0]


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
    assert await due(room) == [0]


async def test_people_who_are_no_operators_cannot_compact(room: SpineRoom) -> None:
    worker = room.worker()
    await talk(room, worker, "hello", "hello to you")

    accepted = await give(room, "compact", "U2")

    assert (accepted.outcome, accepted.reason) == ("refused", "command.not_yours")
    assert await due(room) == [0]


async def test_why_names_tool_and_rule_of_what_was_refused_last(room: SpineRoom) -> None:
    worker = room.worker()
    nothing = await _why_after_hello(room, worker)
    worker.model.add(call(("run_bash", {"command": "rm -rf /"})), say("it was refused"))
    await room.say("clean up")
    await worker.runner.run_session(await room.session_id())

    answer = await told(room, "why", "U2", dedupe_key="again")

    assert nothing == said.NO_REFUSAL
    (line,) = [line for line in answer.splitlines() if line.startswith("- ")]
    assert "run" in line
    assert "Rule: `" in line


async def _why_after_hello(room: SpineRoom, worker: Worker) -> str:
    await talk(room, worker, "hello", "hello to you")
    return await told(room, "why", "U2")
