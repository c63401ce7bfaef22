"""Turns that go in circles end early, and polling does not (AG-04)."""

from __future__ import annotations

import json
from itertools import count, cycle

import pytest
from fakes.loop_fakes import Body, LoopRoom, find_faults, user
from fakes.scripted_model import call

from geode.loop.guards import (
    REPEATS_MAX,
    REPEATS_WARNED,
    GuardState,
    check_batch,
    digest_call,
    observe_batch,
)
from geode.loop.limits import LoopLimits
from geode.loop.state import TurnEnd, TurnStart
from geode.messages import JsonObject, TerminationReason, ToolCall, ToolResult
from geode.steps import StepSnapshot

R = TerminationReason
N = REPEATS_MAX
LIMITS = LoopLimits(steps_max=60)


async def run_for_ever(bodies: dict[str, Body], *proposals: tuple[str, JsonObject]) -> LoopRoom:
    room = LoopRoom(tools=bodies, limits=LIMITS)
    endless = cycle(proposals)

    def propose(step: StepSnapshot):
        room.model.replies.append(propose)
        return call(next(endless))

    room.model.add(propose)
    return room


def stored(room: LoopRoom, end: TurnEnd) -> tuple[object, ...]:
    return (user("hi"), *room.records.stored, *end.unsaved)


async def test_same_call_is_warned_then_refused_then_ends_the_turn() -> None:
    room = await run_for_ever({"todo": lambda c, a: "same"}, ("todo", {}))

    end = await room.run()

    assert end.reason is R.REPEATED_SUCCESS_NO_PROGRESS
    assert room.ran("todo") == N
    assert len(room.model.steps) <= 2 * N
    warned = [s.step for s in room.model.steps if "gave the same result" in s.messages[-1].text]
    assert warned == [REPEATS_WARNED + 1]
    assert "`todo`" in end.detail
    assert find_faults(stored(room, end)) == []  # type: ignore[arg-type]


async def test_reordered_keys_count_as_the_same_call() -> None:
    room = await run_for_ever(
        {"todo": lambda c, a: "same"}, ("todo", {"a": 1, "b": 2}), ("todo", {"b": 2, "a": 1})
    )

    await room.run()

    assert room.ran("todo") == N


async def test_alternation_of_two_calls_is_caught() -> None:
    room = await run_for_ever(
        {"a": lambda c, a: "same", "b": lambda c, a: "other"}, ("a", {}), ("b", {})
    )

    end = await room.run()

    assert end.reason is R.REPEATED_SUCCESS_NO_PROGRESS
    assert len(room.model.steps) <= 4 * N
    assert room.ran("a") + room.ran("b") <= 2 * N


async def test_polling_whose_result_changes_is_not_blocked() -> None:
    ticks = count()
    room = await run_for_ever({"poll": lambda c, a: f"{next(ticks)} %"}, ("poll", {}))

    end = await room.run()

    assert end.reason is R.MAX_ROUNDS
    assert room.ran("poll") == LIMITS.steps_max - 1


async def test_same_call_in_a_new_turn_is_not_blocked() -> None:
    room = await run_for_ever({"todo": lambda c, a: "same"}, ("todo", {}))
    first = await room.run()
    before = room.ran("todo")

    history = (*stored(room, first), user("again"))
    await room.run(TurnStart(history, first.state.next_turn()))  # type: ignore[arg-type]

    assert room.ran("todo") == before + N


async def test_counters_survive_a_crash_in_the_saved_state() -> None:
    room = await run_for_ever({"todo": lambda c, a: "same"}, ("todo", {}))
    await room.run()
    last = room.records.batches[-1]

    again = GuardState.from_json(json.loads(json.dumps(last.state.guards.to_json())))

    assert [r.count for r in again.repeats.values()] == [N - 1]


async def test_same_error_ends_the_turn_as_repeated_errors() -> None:
    room = await run_for_ever({}, ("broken", {}))

    end = await room.run()

    assert end.reason is R.REPEATED_ERRORS
    assert room.ran("broken") <= 2 * N


async def test_different_calls_that_all_fail_end_the_turn() -> None:
    proposals: list[tuple[str, JsonObject]] = [("broken", {"n": n}) for n in range(50)]
    room = await run_for_ever({}, *proposals)

    end = await room.run()

    assert end.reason is R.REPEATED_ERRORS
    assert len(room.model.steps) == 6
    assert "batches in a row" in room.model.steps[3].messages[-1].text


async def test_identical_calls_of_one_batch_run_at_most_n_times() -> None:
    room = LoopRoom(
        [call(*[("todo", {})] * 9), *[call(("todo", {}))] * 2],
        tools={"todo": lambda c, a: "same"},
    )

    end = await room.run()

    assert room.ran("todo") == N
    assert end.reason is R.REPEATED_SUCCESS_NO_PROGRESS


def test_refused_position_keeps_the_other_calls_of_the_batch() -> None:
    same = ToolCall("1", "todo", {})
    state = GuardState()
    for _ in range(N):
        verdict = check_batch(state, [same])
        state = observe_batch(verdict, [same], [ToolResult("1", "same")]).state

    verdict = check_batch(state, [ToolCall("2", "look", {}), same])

    assert verdict.refused == {1}
    assert verdict.end is None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (ToolCall("1", "a", {"x": 1}), ToolCall("2", "a", {"x": 1})),
        (ToolCall("1", "a", {"x": 1, "y": [1]}), ToolCall("2", "a", {"y": [1], "x": 1})),
        (ToolCall("1", "a", {"n": 2**60, "m": 1}), ToolCall("2", "a", {"m": 1, "n": 2**60})),
        (ToolCall("1", "a", {"s": "\ud800"}), ToolCall("2", "a", {"s": "\ud800"})),
        (ToolCall("1", "a", None, "{bro"), ToolCall("2", "a", None, "{bro")),
    ],
    ids=["id", "key order", "huge integer", "surrogate", "unreadable"],
)
def test_digest_is_equal_for_equal_calls(left: ToolCall, right: ToolCall) -> None:
    assert digest_call(left) == digest_call(right)


@pytest.mark.parametrize(
    "other",
    [
        ToolCall("1", "b", {"x": 1}),
        ToolCall("1", "a", {"x": 2}),
        ToolCall("1", "a", {"x": "1"}),
        ToolCall("1", "a", None, '{"x":1}'),
    ],
)
def test_digest_differs_for_different_calls(other: ToolCall) -> None:
    assert digest_call(other) != digest_call(ToolCall("1", "a", {"x": 1}))
