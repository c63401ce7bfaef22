"""Answers that are cut, refused, paused or empty (LM-03, LM-06)."""

from __future__ import annotations

import pytest
from fakes.loop_fakes import LoopRoom, assistant, find_faults, user
from fakes.scripted_model import USAGE, call, say

from geode.loop.state import TurnStart
from geode.loop.termination import describe_end
from geode.messages import Message, TerminationReason, Text, ToolCall
from geode.steps import ModelReply, StopCause

R = TerminationReason
WHOLE = ToolCall("c1", "read_file", {"path": "b.md"})
HALF = ToolCall("c2", "write_file", {"path": "a.md"})
TOOLS = {"read_file": lambda c, a: "text", "write_file": lambda c, a: "written"}
CUT_STOPS = [StopCause.MAX_TOKENS, StopCause.CONTEXT_WINDOW, StopCause.UNKNOWN]


def reply(message: Message, stop: StopCause) -> ModelReply:
    return ModelReply(message, stop, USAGE, "scripted-model", 0)


@pytest.mark.parametrize("stop", [*CUT_STOPS, StopCause.PAUSE, StopCause.END])
async def test_cut_answer_runs_none_of_its_calls(stop: StopCause) -> None:
    room = LoopRoom([call(WHOLE, HALF, stop=stop), say("done in pieces")], tools=TOOLS)

    end = await room.run()

    assert room.ran("read_file") == room.ran("write_file") == 0
    assert room.records.batches == []
    assert end.text == "done in pieces"
    answered = end.unsaved[1].results
    assert [r.call_id for r in answered] == ["c1", "c2"]
    assert all(r.is_error and "cut" in r.text for r in answered)
    assert find_faults(room.model.steps[1].messages) == []


@pytest.mark.parametrize("stop", CUT_STOPS)
async def test_cut_calls_are_tried_two_more_times_then_told(stop: StopCause) -> None:
    room = LoopRoom([call(WHOLE, HALF, stop=stop)] * 3, tools=TOOLS)

    end = await room.run()

    assert len(room.model.steps) == 3
    assert end.reason in {R.MODEL_ACTION_REQUIRED, R.CONTEXT_EXHAUSTED}
    assert "cut" in describe_end(end.reason, end.detail)
    assert room.ran("write_file") == 0
    assert find_faults((user("hi"), *end.unsaved)) == []


async def test_cut_text_is_continued_and_joined() -> None:
    room = LoopRoom([say("Hel", StopCause.MAX_TOKENS), say("lo world")])

    end = await room.run()

    assert (end.reason, end.text) == (R.NATURAL, "Hello world")


@pytest.mark.parametrize("stop", CUT_STOPS)
async def test_text_that_stays_cut_is_delivered_with_a_mark(stop: StopCause) -> None:
    room = LoopRoom([say("one ", stop), say("two ", stop), say("three ", stop)])

    end = await room.run()

    assert end.reason is R.FORCED_TEXT
    assert end.text.startswith("one two three")
    assert "This answer is cut" in end.text
    assert len(room.model.steps) == 3


async def test_complete_call_is_unaffected() -> None:
    room = LoopRoom([call(WHOLE, HALF), say("done")], tools=TOOLS)

    await room.run()

    assert room.ran("read_file") == room.ran("write_file") == 1


async def test_refusal_is_shown_as_such_without_a_retry() -> None:
    room = LoopRoom([reply(assistant(), StopCause.REFUSAL)])

    end = await room.run()

    assert end.reason is R.MODEL_REFUSAL
    assert len(room.model.steps) == 1
    assert [m.role for m in end.unsaved] == ["user"]


async def test_paused_answer_is_sent_back_to_go_on() -> None:
    paused = assistant(opaque=b'[{"type":"server_tool_use","id":"s1"}]')
    room = LoopRoom([reply(paused, StopCause.PAUSE), say("done")])

    end = await room.run()

    assert end.text == "done"
    assert room.model.steps[1].messages[-1] == paused


async def test_paused_answer_ends_after_some_tries() -> None:
    paused = assistant(opaque=b'[{"type":"server_tool_use","id":"s1"}]')
    room = LoopRoom([reply(paused, StopCause.PAUSE)] * 9)

    end = await room.run()

    assert end.reason is R.MODEL_ACTION_REQUIRED
    assert len(room.model.steps) == 5


EMPTY = {
    "no blocks": assistant(),
    "empty text": assistant(Text("")),
    "blank text": assistant(Text(" \n")),
    "two blank texts": assistant(Text(""), Text("\t")),
}


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY.keys())
async def test_empty_answer_is_asked_once_more_and_never_stored(empty: Message) -> None:
    room = LoopRoom([reply(empty, StopCause.END), say("here")])

    end = await room.run()

    assert end.text == "here"
    assert find_faults(room.model.steps[1].messages) == []
    assert [m.role for m in end.unsaved] == ["user", "assistant"]


async def test_second_empty_answer_ends_the_run_with_nothing_to_deliver() -> None:
    room = LoopRoom([reply(assistant(), StopCause.END)] * 2)

    end = await room.run()

    assert (end.reason, end.text) == (R.NATURAL, "")
    assert "empty" in end.detail


async def test_calls_without_text_store_no_text_block() -> None:
    message = assistant(Text(" "), ToolCall("c1", "read_file", {}))
    room = LoopRoom([reply(message, StopCause.TOOL_USE), say("done")], tools=TOOLS)

    await room.run()

    assert [type(block) for block in room.records.stored[0].blocks] == [ToolCall]
    assert find_faults(room.model.steps[1].messages) == []


async def test_next_turn_is_accepted_after_an_empty_one() -> None:
    room = LoopRoom([reply(assistant(), StopCause.END)] * 2 + [say("ok")])
    first = await room.run()

    history = (user("hi"), *first.unsaved, user("again"))
    end = await room.run(TurnStart(history, first.state.next_turn()))

    assert end.text == "ok"
    assert find_faults(room.model.steps[-1].messages) == []
