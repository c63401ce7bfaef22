"""From a candidate to a decision: structure first, then the judge, then the policy."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest
from fakes.loop_fakes import HandClock

from geode.errors import ModelError
from geode.llm.errors import Overloaded
from geode.messages import Mode, SessionId, TerminationReason, TurnId
from geode.ports import SystemClock
from geode.verify.decide import Action, Room, policy_action
from geode.verify.judge import Judgement, JudgeOutcome, JudgeTerms
from geode.verify.structure import (
    Candidate,
    CandidateTurn,
    StructureCode,
    StructureVerdict,
    check_structure,
)
from geode.verify.turn_check import VerifyBudget, VerifyParts, verify_turn_async
from geode.verify.verdict import VerifiedEnd

R = TerminationReason
TURN = TurnId("t1")
GOOD = Candidate("what is up", "all is well", R.NATURAL)
EMPTY = Candidate("what is up", " \n", R.NATURAL)
OPEN = Candidate("what is up", "let me look", R.NATURAL, has_open_calls=True)


@dataclass
class FixedJudge:
    """Gives one judgement, or fails as told; counts how often it was asked."""

    answer: Judgement | ModelError
    asked: int = 0

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        self.asked += 1
        if isinstance(self.answer, ModelError):
            raise self.answer
        return self.answer


class SilentJudge:
    """Never answers."""

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        await asyncio.Event().wait()
        raise AssertionError


def judged(outcome: JudgeOutcome, *, is_retry_worthwhile: bool = False) -> FixedJudge:
    return FixedJudge(Judgement(outcome, ("no source",), "Name it.", is_retry_worthwhile))


async def verify(
    candidate: Candidate, judge: object = None, *, left: int = 2, deadline: float = 2000.0
) -> VerifiedEnd:
    return await verify_turn_async(
        replace(candidate, turn=CandidateTurn(SessionId("s1"), TURN, Mode.DAEMON)),
        VerifyParts(judge or judged(JudgeOutcome.PASSED), HandClock()),  # type: ignore[arg-type]
        VerifyBudget(left, deadline),
    )


def test_structure_is_sound_for_text() -> None:
    assert check_structure(GOOD) == StructureVerdict()


def test_empty_turn_is_repairable_and_open_calls_are_not() -> None:
    assert check_structure(EMPTY).code is StructureCode.EMPTY_TURN
    assert check_structure(EMPTY).is_repairable
    assert check_structure(OPEN).code is StructureCode.MODEL_ACTION_REQUIRED
    assert not check_structure(OPEN).is_repairable


async def test_what_passed_is_accepted_and_recorded() -> None:
    end = await verify(GOOD)

    assert (end.action, end.outcome, end.reason) == (Action.ACCEPT, "passed", R.NATURAL)
    assert end.text == GOOD.text
    assert end.entries[0].kind == "verification"
    assert end.entries[0].body["outcome"] == "passed"


@pytest.mark.parametrize("candidate", [EMPTY, OPEN])
async def test_structural_failure_skips_the_judge(candidate: Candidate) -> None:
    judge = judged(JudgeOutcome.PASSED)

    end = await verify(candidate, judge)

    assert judge.asked == 0
    assert end.action is not Action.ACCEPT


async def test_empty_turn_is_revised_within_the_budget_with_a_note() -> None:
    end = await verify(EMPTY, left=1)

    assert end.action is Action.REVISE
    assert "plain text" in end.note


@pytest.mark.parametrize(
    ("candidate", "left", "deadline"),
    [
        (EMPTY, 0, 2000.0),
        (EMPTY, 2, 1001.0),
        (Candidate("x", "", R.NATURAL, has_uncertain=True), 2, 2000.0),
    ],
    ids=["budget spent", "no time", "unsettled effect"],
)
async def test_empty_turn_that_may_not_be_repaired_fails(
    candidate: Candidate, left: int, deadline: float
) -> None:
    end = await verify(candidate, left=left, deadline=deadline)

    assert (end.action, end.reason) == (Action.FAIL, R.PROVIDER_ERROR)
    assert "empty" in end.detail


async def test_open_call_fails_with_its_own_reason() -> None:
    end = await verify(OPEN)

    assert (end.action, end.reason) == (Action.FAIL, R.MODEL_ACTION_REQUIRED)


async def test_failed_judgement_is_revised_when_a_retry_is_worthwhile() -> None:
    end = await verify(GOOD, judged(JudgeOutcome.FAILED, is_retry_worthwhile=True))

    assert end.action is Action.REVISE
    assert "no source" in end.note
    assert "Name it." in end.note


@pytest.mark.parametrize(
    ("judge", "left", "rule"),
    [
        (judged(JudgeOutcome.FAILED), 2, "failed"),
        (judged(JudgeOutcome.FAILED, is_retry_worthwhile=True), 0, "escalate_budget_exhausted"),
        (judged(JudgeOutcome.VERIFICATION_ERROR), 2, "verification_error"),
        (FixedJudge(Overloaded()), 2, "verification_error"),
    ],
    ids=["not worthwhile", "budget spent", "error", "provider down"],
)
async def test_what_cannot_be_accepted_or_repaired_escalates(
    judge: FixedJudge, left: int, rule: str
) -> None:
    end = await verify(GOOD, judge, left=left)

    assert (end.action, end.reason) == (Action.ESCALATE, R.EXTERNAL_VERIFICATION_REQUIRED)
    assert end.entries[0].body["rule"] == rule
    assert end.text == GOOD.text


async def test_judge_that_does_not_answer_in_time_is_a_verification_error() -> None:
    clock = SystemClock()
    budget = VerifyBudget(2, clock.monotonic() + 0.02)

    end = await verify_turn_async(GOOD, VerifyParts(SilentJudge(), clock), budget)

    assert end.misses == ("judge_timed_out",)
    assert end.action is Action.ESCALATE


async def test_judge_is_not_asked_without_time() -> None:
    judge = judged(JudgeOutcome.PASSED)

    end = await verify(GOOD, judge, deadline=1000.0)

    assert judge.asked == 0
    assert end.misses == ("no_time_left",)


async def test_judge_is_asked_once() -> None:
    judge = judged(JudgeOutcome.PASSED)

    end = await verify(GOOD, judge)

    assert judge.asked == 1
    assert (end.action, end.outcome) == (Action.ACCEPT, "passed")


@pytest.mark.parametrize("code", list(StructureCode))
@pytest.mark.parametrize("outcome", [None, *JudgeOutcome])
@pytest.mark.parametrize("left", [0, 1])
def test_policy_never_accepts_what_is_unsound_or_failed(
    code: StructureCode, outcome: JudgeOutcome | None, left: int
) -> None:
    judgement = Judgement(outcome, is_retry_worthwhile=True) if outcome else None

    decision = policy_action(
        StructureVerdict(code, is_repairable=code is StructureCode.EMPTY_TURN),
        judgement,
        Room(left),
    )

    is_good = code is StructureCode.SOUND and outcome is JudgeOutcome.PASSED
    assert (decision.action is Action.ACCEPT) == is_good
    assert decision.action is not Action.REVISE or left > 0
