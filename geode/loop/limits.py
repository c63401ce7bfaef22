"""Hard stops of one turn: calls, time with the verdict's reserve, cost and context; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from geode.messages import TerminationReason

RESERVE_SHARE = 0.25
RESERVE_S_MAX = 60.0
"""Time kept for the verdict at the end of a turn."""
WRAP_UP_SHARE = 0.2
WRAP_UP_S_MAX = 30.0
"""Time before the reserve in which the loop only wraps up."""
COST_WRAP_UP_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Hard stops for one turn; reaching one ends the turn with a sentence that says so."""

    steps_max: int = 20
    """Model calls, including those that return only tool calls; the last must answer in text."""
    time_budget_s: float | None = None
    """The turn's whole budget, from which the reserve is taken; None: no limit."""
    cost_micro_usd_max: int | None = None
    """Checked before a call, so the last call may overshoot it."""
    context_tokens_max: int = 150_000
    """What a request may hold: the model's window less `output_tokens_max`."""
    output_tokens_max: int = 8192
    calls_max: int = 32
    """Tool calls of one answer; further ones are refused."""


@dataclass(frozen=True, slots=True)
class TimePlan:
    """A turn's moments, in monotonic seconds."""

    wrap_up_at: float = inf
    """From here on the model is told to wrap up."""
    tools_end_at: float = inf
    """No tool runs longer, so that a wrap-up can still be written."""
    work_ends_at: float = inf
    """No model call runs longer; what follows is the verdict's."""


def reserve_time(budget_s: float) -> float:
    """Seconds kept for the verdict out of a budget."""
    return min(budget_s * RESERVE_SHARE, RESERVE_S_MAX)


def plan_time(now: float, remaining_s: float | None, budget_s: float | None) -> TimePlan:
    """The moments of a turn that has `remaining_s` of its budget left."""
    if remaining_s is None:
        return TimePlan()
    work_s = max(0.0, remaining_s - reserve_time(remaining_s if budget_s is None else budget_s))
    wrap_s = min(work_s * WRAP_UP_SHARE, WRAP_UP_S_MAX)
    end = now + work_s
    return TimePlan(end - wrap_s, end - wrap_s / 2, end)


class RoundKind(StrEnum):
    """What the next model call may do."""

    OPEN = "open"
    LAST = "last"
    """The last permitted round: text only, delivered as `forced_text`."""
    WRAP_UP = "wrap_up"
    """A limit is near and there are results: text only, delivered as `actionable_partial`."""


@dataclass(frozen=True, slots=True)
class RoundChoice:
    """The next round, or the reason why there is none."""

    kind: RoundKind = RoundKind.OPEN
    limit: TerminationReason = TerminationReason.MAX_ROUNDS
    """The limit that the round keeps; the turn's end if the model still does not answer."""
    end: TerminationReason | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the turn has used when the next call is chosen."""

    now: float
    steps: int
    steps_allowed: int
    cost_micro_usd: int | None
    """None: at least one call had no known price."""
    has_results: bool


def choose_round(limits: LoopLimits, time: TimePlan, spent: Spent) -> RoundChoice:
    """Check every limit before a call; time first, as it cannot be given back."""
    timed, priced = TerminationReason.TIME_BUDGET_EXPIRED, TerminationReason.COST_BUDGET_EXCEEDED
    ended = _find_reached(limits, time, spent)
    if ended is not None:
        return ended
    if spent.has_results and spent.now >= time.wrap_up_at:
        return RoundChoice(RoundKind.WRAP_UP, timed)
    cap, cost = limits.cost_micro_usd_max, spent.cost_micro_usd or 0
    if spent.has_results and cap is not None and cost >= cap * COST_WRAP_UP_SHARE:
        return RoundChoice(RoundKind.WRAP_UP, priced)
    if spent.now >= time.tools_end_at:
        return RoundChoice(RoundKind.LAST, timed)
    if spent.steps + 1 >= spent.steps_allowed:
        return RoundChoice(RoundKind.LAST, TerminationReason.MAX_ROUNDS)
    return RoundChoice()


def _find_reached(limits: LoopLimits, time: TimePlan, spent: Spent) -> RoundChoice | None:
    if spent.now >= time.work_ends_at:
        return RoundChoice(end=TerminationReason.TIME_BUDGET_EXPIRED)
    cap, cost = limits.cost_micro_usd_max, spent.cost_micro_usd
    if cap is not None and cost is None:
        detail = "The model has no known price, so no cap can hold."
        return RoundChoice(end=TerminationReason.COST_BUDGET_EXCEEDED, detail=detail)
    if cap is not None and cost is not None and cost >= cap:
        return RoundChoice(end=TerminationReason.COST_BUDGET_EXCEEDED)
    if spent.steps >= spent.steps_allowed:
        return RoundChoice(end=TerminationReason.MAX_ROUNDS)
    return None
