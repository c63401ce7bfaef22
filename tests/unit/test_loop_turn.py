"""A turn from its request to its end, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from fakes.loop_fakes import LoopRoom, assistant, find_faults, results, user
from fakes.scripted_model import call, say

from geode.errors import StaleEpochError, StorageFullError
from geode.loop.limits import LoopLimits
from geode.loop.state import LoopState, TurnStart, continue_turn
from geode.messages import JsonObject, TerminationReason, ToolCall
from geode.steps import StopCause, Usage

R = TerminationReason


async def test_loop_answers_in_text_without_a_save() -> None:
    room = LoopRoom([say("hello")])

    end = await room.run()

    assert (end.reason, end.text) == (R.NATURAL, "hello")
    assert room.records.batches == []
    assert [m.role for m in end.unsaved] == ["assistant"]
    assert end.usage == Usage(10, 5)


async def test_loop_saves_a_batch_before_any_tool_of_it_runs() -> None:
    room = LoopRoom(
        [call(("look", {}), ("peek", {})), say("done")],
        tools={"look": lambda c, a: "seen", "peek": lambda c, a: "peeked"},
    )

    end = await room.run()

    assert room.events == ["save 1", "run look", "run peek"]
    assert end.reason is R.NATURAL


async def test_loop_saves_once_per_batch_and_leaves_the_rest_to_the_end() -> None:
    room = LoopRoom(
        [call(("look", {"n": 1})), call(("look", {"n": 2})), say("done")],
        tools={"look": lambda c, a: f"seen {a['n']}"},
    )

    end = await room.run()

    assert [b.step for b in room.records.batches] == [1, 2]
    assert [m.role for m in room.records.batches[1].messages] == ["tool", "assistant"]
    assert [m.role for m in end.unsaved] == ["tool", "assistant"]
    stored = (user("hi"), *room.records.stored, *end.unsaved)
    assert find_faults(stored) == []


async def test_loop_runs_no_tool_when_the_batch_cannot_be_saved() -> None:
    room = LoopRoom([call(("look", {}))], tools={"look": lambda c, a: "seen"})
    room.records.error = StorageFullError("disk full")

    with pytest.raises(StorageFullError):
        await room.run()

    assert room.ran("look") == 0


async def test_loop_lets_a_lost_lease_through() -> None:
    room = LoopRoom([call(("look", {}))], tools={"look": lambda c, a: "seen"})
    room.records.error = StaleEpochError("s1", 7)

    with pytest.raises(StaleEpochError):
        await room.run()


async def test_loop_gives_each_call_its_place_in_the_saved_batch() -> None:
    room = LoopRoom(
        [call(("look", {}), ("look", {"x": 1})), say("done")], tools={"look": lambda c, a: "seen"}
    )

    await room.run(TurnStart((user("hi"),), LoopState(step=4)))

    places = [(c.step, c.position, c.epoch, c.requesters) for c in room.processor.contexts]
    assert places == [(5, 0, 7, ("U1",)), (5, 1, 7, ("U1",))]


async def test_loop_goes_on_after_a_crash_that_left_tool_results() -> None:
    look = ToolCall("c1", "look", {})
    history = (user("hi"), assistant(look), results(("c1", "seen")))
    room = LoopRoom([say("done")])

    end = await room.run(TurnStart(history, LoopState(step=1, results=1)))

    assert end.text == "done"
    assert end.state.step == 2
    assert room.model.steps[0].messages == history


async def test_loop_sends_the_same_plan_and_prompt_in_each_step() -> None:
    room = LoopRoom(
        [call(("look", {})), call(("look", {"n": 1})), say("done")],
        tools={"look": lambda c, a: "seen"},
    )

    await room.run()

    assert len({id(step.plan) for step in room.model.steps}) == 1
    assert len({id(step.system) for step in room.model.steps}) == 1
    assert [step.step for step in room.model.steps] == [1, 2, 3]


async def test_loop_forces_text_in_the_last_permitted_round() -> None:
    room = LoopRoom(
        [call(("look", {})), say("this is what I have")],
        tools={"look": lambda c, a: "seen"},
        limits=LoopLimits(steps_max=2),
    )

    end = await room.run()

    assert (end.reason, end.text) == (R.FORCED_TEXT, "this is what I have")
    assert [step.may_call_tools for step in room.model.steps] == [True, False]
    assert "last step" in room.model.steps[1].messages[-1].text


async def test_loop_ends_with_max_rounds_when_the_last_round_still_calls() -> None:
    room = LoopRoom(
        [call(("look", {})), call(("look", {"n": 2}))],
        tools={"look": lambda c, a: "seen"},
        limits=LoopLimits(steps_max=2),
    )

    end = await room.run()

    assert (end.reason, end.text) == (R.MAX_ROUNDS, "")
    assert room.ran("look") == 1
    assert find_faults((user("hi"), *room.records.stored, *end.unsaved)) == []


async def test_loop_keeps_a_note_about_a_failure_for_the_next_turn() -> None:
    room = LoopRoom([call(("look", {}))], limits=LoopLimits(steps_max=1))

    end = await room.run()

    assert "The turn ended here." in end.unsaved[-1].text


async def test_loop_refuses_calls_beyond_the_number_of_one_answer() -> None:
    calls: list[tuple[str, JsonObject]] = [("look", {"n": n}) for n in range(6)]
    room = LoopRoom(
        [call(*calls), say("done")],
        tools={"look": lambda c, a: "seen"},
        limits=LoopLimits(calls_max=4),
    )

    end = await room.run()

    assert room.ran("look") == 4
    answered = end.unsaved[0].results
    assert [r.is_error for r in answered] == [False] * 4 + [True] * 2
    assert [r.call_id for r in answered] == [f"call_{n}" for n in range(1, 7)]
    refused = [e for e in room.records.batches[0].entries if e.kind == "tool_refused"]
    assert len(refused) == 2


async def test_loop_renames_call_ids_that_are_not_unique_in_one_answer() -> None:
    twins = (ToolCall("x", "look", {"n": 1}), ToolCall("x", "look", {"n": 2}))
    room = LoopRoom([call(*twins), say("done")], tools={"look": lambda c, a: f"seen {a['n']}"})

    end = await room.run()

    ids = [c.call_id for c in room.records.batches[0].calls]
    assert len(set(ids)) == 2
    assert [r.text for r in end.unsaved[0].results] == ["seen 1", "seen 2"]


async def test_loop_never_stores_a_blank_tool_result() -> None:
    room = LoopRoom([call(("look", {})), say("done")], tools={"look": lambda c, a: " \n"})

    end = await room.run()

    assert end.unsaved[0].results[0].text == "(no output)"


async def test_loop_reports_phases_and_tools_but_no_text() -> None:
    made_up = ("The answer is 42", {})
    replies = [call(("look", {}), made_up, text="I will look"), call(made_up), say("secret")]
    room = LoopRoom(replies, tools={"look": lambda c, a: "seen"})

    await room.run()

    told = [step for step in room.progress.steps if step != ("thinking", ())]
    assert told == [("tools", ("look",))]
    assert room.progress.notes == []


async def test_loop_tells_one_wait_per_turn() -> None:
    def wait_twice(step):
        step.on_wait(12.3)
        step.on_wait(40)
        return say("done")

    room = LoopRoom([wait_twice])

    await room.run()

    assert room.progress.notes == ["The model provider asks to wait 13 s; I go on after that."]


async def test_loop_lets_a_cancellation_through() -> None:
    room = LoopRoom([asyncio.CancelledError()])

    with pytest.raises(asyncio.CancelledError):
        await room.run()


async def test_loop_state_survives_as_json() -> None:
    room = LoopRoom(
        [call(("look", {"n": 1})), call(("look", {"n": 2})), say("done")],
        tools={"look": lambda c, a: "seen"},
    )
    room.processor.uncertain = ("r1",)

    end = await room.run()

    stored = json.loads(json.dumps(end.state.to_json()))
    assert LoopState.from_json(stored) == end.state
    assert end.state.has_uncertain
    assert LoopState.from_json({}) == LoopState()


async def test_loop_counts_running_time_and_keeps_it_over_runs() -> None:
    def slow(step):
        room.clock.now_s += 2
        return say("done")

    room = LoopRoom([slow])

    end = await room.run(TurnStart((user("hi"),), LoopState(spent_us=5_000_000)))

    assert end.state.spent_us == 7_000_000


async def test_loop_cost_is_unknown_once_one_price_is() -> None:
    room = LoopRoom(
        [call(("look", {}), cost_micro_usd=30), say("done", cost_micro_usd=None)],
        tools={"look": lambda c, a: "seen"},
    )

    end = await room.run()

    assert room.records.batches[0].state.cost_micro_usd == 30
    assert end.cost_micro_usd is None


async def test_loop_repairs_the_same_request_with_the_miss_as_a_note() -> None:
    room = LoopRoom([say(""), say(""), say("now with text")])
    start = TurnStart((user("hi"),))

    first = await room.run(start)
    second = await room.run(continue_turn(start, first, "say something", None))

    assert (first.reason, first.text) == (R.NATURAL, "")
    assert (second.reason, second.text) == (R.NATURAL, "now with text")
    assert second.state.attempts == 1
    assert second.state.step == 3
    assert "say something" in room.model.steps[-1].messages[-1].text
    told = room.model.steps[-1].messages
    assert told[1 : 1 + len(first.unsaved)] == first.unsaved


async def test_loop_repairs_with_every_call_and_result_of_the_first_attempt() -> None:
    room = LoopRoom(
        [call(("look", {"at": 1})), call(("look", {"at": 2})), say(""), say(""), say("two seen")],
        tools={"look": lambda c, a: f"seen {a['at']}"},
    )
    start = TurnStart((user("hi"),))

    first = await room.run(start)
    again = continue_turn(start, first, "say something", None)
    second = await room.run(again)

    assert second.text == "two seen"
    shown = room.model.steps[-1].messages
    assert [c.arguments for m in shown for c in m.calls] == [{"at": 1}, {"at": 2}]
    assert [r.text for m in shown for r in m.results] == ["seen 1", "seen 2"]
    assert (*again.history, *second.unsaved)[: len(shown)] == shown
    assert again.history[: 1 + len(first.saved)] == (*start.history, *first.saved)


async def test_loop_gives_a_repair_one_more_round_when_the_steps_are_used_up() -> None:
    room = LoopRoom([say("bad"), say("better")], limits=LoopLimits(steps_max=1))
    start = TurnStart((user("hi"),))

    first = await room.run(start)
    second = await room.run(continue_turn(start, first, "better please", None))

    assert (second.reason, second.text) == (R.FORCED_TEXT, "better")


def test_loop_state_of_the_next_turn_keeps_only_the_view() -> None:
    state = LoopState(
        step=9, spent_us=1, context_start=4, summary="s", attempts=2, observed_tokens=7
    )

    following = state.next_turn()

    assert following == LoopState(context_start=4, summary="s", observed_tokens=7)


async def test_loop_marks_a_whole_answer_by_its_round_kind_not_by_its_words() -> None:
    reply = replace(say("partial"), stop=StopCause.END)
    room = LoopRoom([reply])

    end = await room.run()

    assert end.reason is R.NATURAL


async def test_loop_ignores_a_view_pointer_that_belongs_to_another_chapter() -> None:
    room = LoopRoom([say("fresh")])
    state = LoopState(context_start=40, summary="old things", observed_tokens=900_000)

    end = await room.run(TurnStart((user("hello"),), state))

    assert end.text == "fresh"
    assert room.model.steps[0].messages == (user("hello"),)
    assert (end.state.context_start, end.state.summary) == (0, "")
