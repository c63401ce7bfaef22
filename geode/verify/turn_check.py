"""One verification of one candidate: hooks, structure, judge, policy, hooks, in this order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from math import inf

from geode.errors import ModelError
from geode.hooks.candidates import JudgedCandidate, ShownCandidate, ShownObservation
from geode.hooks.registry import HookRegistry
from geode.messages import DELIVERABLE
from geode.ports import Clock
from geode.records.guard import Raised, run_guarded
from geode.verify.decide import (
    Action,
    Decision,
    Room,
    add_misses,
    apply_post_verify,
    apply_stop,
    policy_action,
)
from geode.verify.judge import Judge, Judgement, JudgeOutcome, JudgeTerms
from geode.verify.structure import Candidate, check_structure
from geode.verify.verdict import Findings, VerifiedEnd, close_findings

JUDGE_S_MAX = 120.0
REPAIR_S_MIN = 5.0
"""With less time left no other attempt is begun."""


@dataclass(frozen=True, slots=True)
class VerifyParts:
    """What verifications are made with."""

    judge: Judge
    clock: Clock
    hooks: HookRegistry = field(default_factory=HookRegistry)

    @property
    def judge_model(self) -> str:
        """The judge's name for the record, where it has one."""
        return str(getattr(self.judge, "name", ""))


@dataclass(frozen=True, slots=True)
class VerifyBudget:
    """What a verification and the repair it may ask for can use."""

    attempts_left: int
    deadline: float = inf
    """Monotonic seconds at which the turn's whole budget ends."""


async def verify_turn_async(
    candidate: Candidate, parts: VerifyParts, budget: VerifyBudget
) -> VerifiedEnd:
    """Check, judge at most once, decide; a judge or a hook that fails or is late escalates.

    Hooks are shown copies: they add to the candidate and decide with it, and change nothing of it.
    """
    assert candidate.reason in DELIVERABLE, "only a deliverable end is verified"
    return await _Verification(parts, budget).run(candidate)


class _Verification:
    def __init__(self, parts: VerifyParts, budget: VerifyBudget) -> None:
        self._parts = parts
        self._budget = budget

    async def run(self, candidate: Candidate) -> VerifiedEnd:
        added = await self._parts.hooks.pre_verify(show_candidate(candidate), self._left_s)
        required = tuple(text for each in added for text in each.requirements)
        candidate = replace(candidate, requirements=(*candidate.requirements, *required))
        structure = check_structure(candidate)
        judgement = None
        if structure.is_sound:
            judgement = add_misses(await self._judge(candidate), added)
        decision = policy_action(
            structure,
            judgement,
            self._room(candidate),
            has_failed_hook=any(each.has_failed for each in added),
        )
        findings = Findings(candidate, structure, judgement, added, decision)
        if judgement is not None:
            findings = await self._hear_hooks(findings, judgement)
        return close_findings(findings)

    async def _hear_hooks(self, findings: Findings, judgement: Judgement) -> Findings:
        """PostVerify, then Stop; an unsound candidate has no judgement to show them."""
        hooks, candidate = self._parts.hooks, findings.candidate
        judged = _show_judged(candidate, judgement, findings.decision)
        post = await hooks.post_verify(judged, self._left_s)
        decision = apply_post_verify(findings.decision, post, self._room(candidate))
        findings = replace(findings, post_verify=post, decision=decision)
        if decision.action is not Action.ACCEPT:
            return findings
        stop = await hooks.stop(judged, self._left_s)
        decision = apply_stop(decision, stop, self._room(candidate))
        return replace(findings, stop=stop, decision=decision)

    async def _judge(self, candidate: Candidate) -> Judgement:
        limit_s = min(JUDGE_S_MAX, self._left_s())
        if limit_s <= 0:
            return _no_verdict("no_time_left")
        terms = JudgeTerms(self._parts.clock.monotonic() + limit_s)

        async def ask() -> Judgement:
            try:
                return await self._parts.judge.judge(candidate, terms)
            except ModelError as error:
                return _no_verdict("judge_failed", str(error))

        try:
            async with asyncio.timeout(limit_s):
                answer = await run_guarded("judge", ask)
        except TimeoutError:
            return _no_verdict("judge_timed_out")
        return _no_verdict("judge_failed") if isinstance(answer, Raised) else answer

    def _left_s(self) -> float:
        return self._budget.deadline - self._parts.clock.monotonic()

    def _room(self, candidate: Candidate) -> Room:
        return Room(
            self._budget.attempts_left,
            has_time=self._left_s() >= REPAIR_S_MIN,
            has_uncertain=candidate.has_uncertain,
        )


def show_candidate(candidate: Candidate) -> ShownCandidate:
    """The copy of a candidate that hooks are shown."""
    shown = ShownCandidate(
        request=candidate.request,
        text=candidate.text,
        reason=candidate.reason.value,
        observations=tuple(
            ShownObservation(each.tool, each.text, each.is_error, each.is_personal)
            for each in candidate.observations
        ),
        has_uncertain=candidate.has_uncertain,
    )
    turn = candidate.turn
    if turn is None:
        return shown
    return replace(
        shown,
        attempt=turn.attempt,
        session_id=turn.session_id,
        turn_id=turn.turn_id,
        mode=turn.mode,
        binding=turn.binding,
        requesters=turn.requesters,
    )


def _show_judged(candidate: Candidate, judgement: Judgement, decision: Decision) -> JudgedCandidate:
    return JudgedCandidate(
        candidate=show_candidate(candidate),
        outcome=judgement.outcome.value,
        misses=judgement.misses,
        reflection=judgement.reflection,
        is_retry_worthwhile=judgement.is_retry_worthwhile,
        action=decision.action.value,
    )


def _no_verdict(code: str, sentence: str = "") -> Judgement:
    return Judgement(JudgeOutcome.VERIFICATION_ERROR, (code,), sentence)
