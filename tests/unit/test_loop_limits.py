"""Limits of a turn: pure choices first, then the loop under a clock that a test turns."""

from __future__ import annotations

import asyncio
from math import inf

import pytest
from fakes.loop_fakes import LoopRoom, user
from fakes.scripted_model import call, say

from geode.llm.errors import Unavailable
from geode.loop.limits import (
    LoopLimits,
    RoundKind,
    Spent,
    TimePlan,
    choose_round,
    plan_time,
    reserve_time,
)
from geode.loop.state import LoopState, TurnStart
from geode.messages import TerminationReason

R = TerminationReason
TIME = TimePlan(wrap_up_at=100, tools_end_at=110, work_ends_at=120)


def spent(**values: object) -> Spent:
    known = {
        "now": 0.0,
        "steps": 0,
        "steps_allowed": 20,
        "cost_micro_usd": 0,
        "has_results": False,
    }
    return Spent(**(known | values))  # type: ignore[arg-type]


@pytest.mark.parametrize(("budget_s", "reserve_s"), [(300, 60), (120, 30), (100, 25), (8, 2)])
def test_reserve_is_a_quarter_and_at_most_a_minute(budget_s: float, reserve_s: float) -> None:
    assert reserve_time(budget_s) == reserve_s


def test_time_plan_ends_work_before_the_reserve() -> None:
    assert plan_time(1000, 300, 300) == TimePlan(1210, 1225, 1240)


def test_time_plan_keeps_the_whole_reserve_when_part_of_the_budget_is_spent() -> None:
    assert plan_time(1000, 100, 300).work_ends_at == 1040
    assert plan_time(1000, 50, 300).work_ends_at == 1000


def test_time_plan_without_a_budget_never_ends() -> None:
    assert plan_time(1000, None, None).work_ends_at == inf


CHOICES = {
    "open": (spent(), RoundKind.OPEN, None),
    "wrap up with results": (spent(now=100, has_results=True), RoundKind.WRAP_UP, None),
    "no wrap up without results": (spent(now=100), RoundKind.OPEN, None),
    "text only when tools have no time": (spent(now=110), RoundKind.LAST, None),
    "time over": (spent(now=120, has_results=True), None, R.TIME_BUDGET_EXPIRED),
    "last step": (spent(steps=19), RoundKind.LAST, None),
    "steps over": (spent(steps=20), None, R.MAX_ROUNDS),
    "cost near": (spent(cost_micro_usd=80, has_results=True), RoundKind.WRAP_UP, None),
    "cost near without results": (spent(cost_micro_usd=80), RoundKind.OPEN, None),
    "cost over": (spent(cost_micro_usd=100), None, R.COST_BUDGET_EXCEEDED),
    "cost unknown under a cap": (spent(cost_micro_usd=None), None, R.COST_BUDGET_EXCEEDED),
}


@pytest.mark.parametrize(("used", "kind", "end"), CHOICES.values(), ids=CHOICES.keys())
def test_round_is_chosen_by_the_nearest_limit(
    used: Spent, kind: RoundKind | None, end: TerminationReason | None
) -> None:
    choice = choose_round(LoopLimits(cost_micro_usd_max=100), TIME, used)

    assert choice.end is end
    if kind is not None:
        assert choice.kind is kind


def test_unknown_cost_without_a_cap_is_no_limit() -> None:
    assert choose_round(LoopLimits(), TIME, spent(cost_micro_usd=None)).end is None


async def test_loop_wraps_up_before_the_reserve_when_there_are_results() -> None:
    room = LoopRoom(
        [call(("look", {})), say("done: look. missing: the rest")],
        limits=LoopLimits(time_budget_s=300),
    )

    def look(context, arguments):
        assert context.deadline == 1000 + 225
        room.clock.now_s += 215
        return "seen"

    room.processor.bodies["look"] = look

    end = await room.run(TurnStart((user("hi"),), remaining_s=300))

    assert (end.reason, end.text) == (R.ACTIONABLE_PARTIAL, "done: look. missing: the rest")
    last = room.model.steps[-1]
    assert not last.may_call_tools
    assert last.deadline == 1000 + 240
    assert "nearly used up" in last.messages[-1].text


async def test_loop_ends_when_the_wrap_up_still_calls_tools() -> None:
    room = LoopRoom([call(("look", {})), call(("look", {"n": 2}))])
    room.processor.bodies["look"] = lambda c, a: _turn(room, 215)

    end = await room.run(TurnStart((user("hi"),), remaining_s=300))

    assert (end.reason, end.text) == (R.TIME_BUDGET_EXPIRED, "")


async def test_loop_asks_no_model_when_no_time_is_left() -> None:
    room = LoopRoom()

    end = await room.run(TurnStart((user("hi"),), remaining_s=0))

    assert end.reason is R.TIME_BUDGET_EXPIRED
    assert room.model.steps == []


async def test_loop_ends_by_time_when_the_provider_used_it_up() -> None:
    room = LoopRoom()

    def too_late(step):
        room.clock.now_s = step.deadline
        raise Unavailable(detail="no time left")

    room.model.add(too_late)

    end = await room.run(TurnStart((user("hi"),), remaining_s=300))

    assert end.reason is R.TIME_BUDGET_EXPIRED


async def test_loop_does_not_wait_for_a_provider_beyond_the_time() -> None:
    async def hang(step):
        await asyncio.Event().wait()
        return say("never")

    room = LoopRoom([hang])

    end = await room.run(TurnStart((user("hi"),), remaining_s=0.02))

    assert end.reason is R.TIME_BUDGET_EXPIRED


async def test_loop_runs_no_tool_when_only_the_wrap_up_has_time() -> None:
    room = LoopRoom(tools={"look": lambda c, a: "seen"})

    def slow_call(step):
        room.clock.now_s += 230
        return call(("look", {}))

    room.model.add(slow_call, say("nothing found yet"))

    end = await room.run(TurnStart((user("hi"),), remaining_s=300))

    assert room.ran("look") == 0
    assert (end.reason, end.text) == (R.FORCED_TEXT, "nothing found yet")


async def test_loop_stops_before_a_call_when_the_cost_is_reached() -> None:
    room = LoopRoom(
        [call(("look", {}), cost_micro_usd=500)], limits=LoopLimits(cost_micro_usd_max=500)
    )

    end = await room.run()

    assert end.reason is R.COST_BUDGET_EXCEEDED
    assert len(room.model.steps) == 1


async def test_loop_counts_the_steps_of_an_earlier_attempt_of_the_turn() -> None:
    room = LoopRoom([say("rest")], limits=LoopLimits(steps_max=5))

    end = await room.run(TurnStart((user("hi"),), LoopState(step=4)))

    assert end.reason is R.FORCED_TEXT


def _turn(room: LoopRoom, seconds: float) -> str:
    room.clock.now_s += seconds
    return "seen"
