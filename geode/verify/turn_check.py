"""One verification of one candidate: structure, judge, policy, in this order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from geode.errors import ModelError
from geode.messages import DELIVERABLE, JsonObject, TerminationReason
from geode.ports import Clock
from geode.steps import Spend
from geode.store.timeline import TimelineEntry
from geode.verify.decide import Action, Decision, Room, policy_action
from geode.verify.judge import Judge, Judgement, JudgeOutcome, JudgeTerms
from geode.verify.structure import Candidate, StructureVerdict, check_structure

JUDGE_S_MAX = 120.0
REPAIR_S_MIN = 5.0
"""With less time left no other attempt is begun."""


@dataclass(frozen=True, slots=True)
class VerifyParts:
    """What verifications are made with."""

    judge: Judge
    clock: Clock


@dataclass(frozen=True, slots=True)
class VerifyBudget:
    """What a verification and the repair it may ask for can use."""

    attempts_left: int
    deadline: float = inf
    """Monotonic seconds at which the turn's whole budget ends."""


@dataclass(frozen=True, slots=True)
class VerifiedEnd:
    """What became of a candidate; the driver of the turn does the rest.

    `ACCEPT`: deliver `text` under `reason`. `REVISE`: run the loop again (`continue_turn`) with
    `note`. `ESCALATE`: keep `text`, deliver nothing. `FAIL`: tell `reason` and `detail`.
    """

    action: Action
    reason: TerminationReason
    text: str
    outcome: str
    """For the turn's row: the judge's outcome, or the structural code when that failed."""
    note: str = ""
    detail: str = ""
    misses: tuple[str, ...] = ()
    rule: str = ""
    """Of the decision."""
    reflection: str = ""
    spend: Spend = field(default_factory=Spend)
    """What the judge used."""
    entries: tuple[TimelineEntry, ...] = ()


async def verify_turn_async(
    candidate: Candidate, parts: VerifyParts, budget: VerifyBudget
) -> VerifiedEnd:
    """Check, judge at most once, decide; a judge that fails or takes too long escalates."""
    assert candidate.reason in DELIVERABLE, "only a deliverable end is verified"
    clock = parts.clock
    structure = check_structure(candidate)
    judgement = None
    if structure.is_sound:
        judgement = await _ask(parts, candidate, budget.deadline)
    left_s = budget.deadline - clock.monotonic()
    room = Room(
        budget.attempts_left,
        has_time=left_s >= REPAIR_S_MIN,
        has_uncertain=candidate.has_uncertain,
    )
    decision = policy_action(structure, judgement, room)
    return _close(candidate, structure, judgement, decision)


async def _ask(parts: VerifyParts, candidate: Candidate, deadline: float) -> Judgement:
    now = parts.clock.monotonic()
    limit_s = min(JUDGE_S_MAX, deadline - now)
    if limit_s <= 0:
        return Judgement(JudgeOutcome.VERIFICATION_ERROR, ("no_time_left",))
    try:
        async with asyncio.timeout(limit_s):
            return await parts.judge.judge(candidate, JudgeTerms(now + limit_s))
    except TimeoutError:
        return Judgement(JudgeOutcome.VERIFICATION_ERROR, ("judge_timed_out",))
    except ModelError as error:
        return Judgement(JudgeOutcome.VERIFICATION_ERROR, ("judge_failed",), str(error))


_FAILURES: Mapping[str, tuple[TerminationReason, str]] = {
    "model_action_required": (TerminationReason.MODEL_ACTION_REQUIRED, ""),
    "empty_turn_budget_exhausted": (
        TerminationReason.PROVIDER_ERROR,
        "Its answer was empty, also when it was asked again.",
    ),
}


def _close(
    candidate: Candidate,
    structure: StructureVerdict,
    judgement: Judgement | None,
    decision: Decision,
) -> VerifiedEnd:
    reason, detail = candidate.reason, ""
    if decision.action is Action.FAIL:
        reason, detail = _FAILURES[decision.rule]
    elif decision.action is Action.ESCALATE:
        reason = TerminationReason.EXTERNAL_VERIFICATION_REQUIRED
    turn = candidate.turn
    outcome = judgement.outcome.value if judgement is not None else structure.code.value
    misses = judgement.misses if judgement is not None else (structure.code.value,)
    body: JsonObject = {
        "action": decision.action.value,
        "rule": decision.rule,
        "outcome": outcome,
        "structure": structure.code.value,
        "attempt": turn.attempt if turn is not None else 0,
        "misses": list(misses),
    }
    return VerifiedEnd(
        action=decision.action,
        reason=reason,
        text=candidate.text,
        outcome=outcome,
        note=structure.note or _write_miss(judgement),
        detail=detail,
        misses=misses,
        rule=decision.rule,
        reflection=judgement.reflection if judgement is not None else "",
        spend=judgement.spend if judgement is not None else Spend(),
        entries=(TimelineEntry("verification", body, turn.turn_id if turn is not None else ""),),
    )


def _write_miss(judgement: Judgement | None) -> str:
    if judgement is None or judgement.outcome is not JudgeOutcome.FAILED:
        return ""
    missed = "; ".join(judgement.misses) or "the answer does not meet the request"
    return f"Your answer was not accepted: {missed}. {judgement.reflection}".strip()
