"""From structure, judgement and hooks to what happens to a candidate; pure and total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from geode.hooks.candidates import Accept, Continue, Escalate, PostVerify, Revise, Stop, Strengthen
from geode.verify.judge import Judgement, JudgeOutcome
from geode.verify.structure import StructureCode, StructureVerdict


class Action(StrEnum):
    """What happens to a candidate."""

    ACCEPT = "accept"
    REVISE = "revise"
    """The same request is run again with the miss as a note."""
    ESCALATE = "escalate"
    """A person decides; the candidate is kept and not delivered."""
    FAIL = "fail"
    """There is nothing to deliver and nothing to review."""


@dataclass(frozen=True, slots=True)
class Room:
    """What another attempt could use."""

    attempts_left: int
    has_time: bool = True
    has_uncertain: bool = False
    """An unsettled effect of the turn forbids any automatic repair."""

    @property
    def may_repair(self) -> bool:
        """Whether another attempt may start."""
        return self.attempts_left > 0 and self.has_time and not self.has_uncertain


@dataclass(frozen=True, slots=True)
class Decision:
    """The action and the id of the rule that gave it."""

    action: Action
    rule: str
    is_final: bool = False
    """Nobody knows what is wrong, so no hook may ask for a repair: a person must look."""


def add_misses(judgement: Judgement, added: Sequence[Strengthen]) -> Judgement:
    """The judgement with what hooks missed: a pass with a miss has failed, an error stays one.

    A miss can be mended by another attempt unless the judge said that none is worthwhile.
    """
    missed = tuple(miss for each in added for miss in each.misses)
    if not missed:
        return judgement
    reasons = (judgement.reflection, *(each.reason for each in added if each.misses))
    told = replace(
        judgement,
        misses=(*judgement.misses, *missed),
        reflection=" ".join(each for each in reasons if each),
    )
    if judgement.outcome in (JudgeOutcome.FAILED, JudgeOutcome.VERIFICATION_ERROR):
        return told
    return replace(told, outcome=JudgeOutcome.FAILED, is_retry_worthwhile=True)


def policy_action(
    structure: StructureVerdict,
    judgement: Judgement | None,
    room: Room,
    *,
    has_failed_hook: bool = False,
) -> Decision:
    """Decide; a structural failure comes first and no judgement hides it.

    `judgement` holds the misses of hooks; it is None when the structure already failed, as the
    judge is then not asked. What a failed hook could not look at is never accepted or repaired.
    """
    if structure.is_sound:
        return _follow_judgement(judgement, room, has_failed_hook=has_failed_hook)
    if structure.code is StructureCode.MODEL_ACTION_REQUIRED:
        return Decision(Action.FAIL, "model_action_required")
    if structure.is_repairable and room.may_repair:
        return Decision(Action.REVISE, structure.code.value)
    return Decision(Action.FAIL, f"{structure.code.value}_budget_exhausted")


def _follow_judgement(
    judgement: Judgement | None, room: Room, *, has_failed_hook: bool
) -> Decision:
    if judgement is None or judgement.outcome is JudgeOutcome.VERIFICATION_ERROR:
        return Decision(Action.ESCALATE, "verification_error", is_final=True)
    if has_failed_hook:
        return Decision(Action.ESCALATE, "hook_failed", is_final=True)
    if judgement.outcome is JudgeOutcome.PASSED:
        return Decision(Action.ACCEPT, "passed")
    if not judgement.is_retry_worthwhile:
        return Decision(Action.ESCALATE, "failed")
    return _repair("failed_retryable", room)


def apply_post_verify(decision: Decision, said: PostVerify, room: Room) -> Decision:
    """The policy's decision about a sound candidate after the word of the PostVerify hooks.

    `room` is that of this moment: what was to be repaired may have no time left by now.
    """
    match said:
        case Accept() if decision.action is Action.REVISE:
            return Decision(Action.ESCALATE, "accepted_though_failed")
        case Escalate() if decision.action is not Action.ESCALATE:
            rule = "post_verify_failed" if said.has_failed else "post_verify_escalated"
            return Decision(Action.ESCALATE, rule)
        case Revise() if decision.action is not Action.REVISE and not decision.is_final:
            return _repair("post_verify_revised", room)
        case _:
            if decision.action is Action.REVISE:
                return _repair(decision.rule, room)
            return decision


def apply_stop(decision: Decision, said: Stop, room: Room) -> Decision:
    """The decision after the word of the Stop hooks: only what is accepted can be held up."""
    if decision.action is not Action.ACCEPT:
        return decision
    if isinstance(said, Escalate):
        return Decision(Action.ESCALATE, "stop_failed")
    if isinstance(said, Continue):
        return _repair("stop_continued", room)
    return decision


def _repair(rule: str, room: Room) -> Decision:
    """Another attempt, or a person where there can be none."""
    if room.may_repair:
        return Decision(Action.REVISE, rule)
    if room.has_uncertain:
        return Decision(Action.ESCALATE, "escalate_unsettled_effect")
    return Decision(Action.ESCALATE, "escalate_budget_exhausted")
