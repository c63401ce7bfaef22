"""From structure and judgement to what happens to a candidate; pure and total."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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


def policy_action(structure: StructureVerdict, judgement: Judgement | None, room: Room) -> Decision:
    """Decide; a structural failure comes first and no judgement hides it.

    `judgement` is None when the structure already failed, as the judge is then not asked.
    """
    if structure.is_sound:
        return _follow_judgement(judgement, room)
    if structure.code is StructureCode.MODEL_ACTION_REQUIRED:
        return Decision(Action.FAIL, "model_action_required")
    if structure.is_repairable and room.may_repair:
        return Decision(Action.REVISE, structure.code.value)
    return Decision(Action.FAIL, f"{structure.code.value}_budget_exhausted")


def _follow_judgement(judgement: Judgement | None, room: Room) -> Decision:
    if judgement is None or judgement.outcome is JudgeOutcome.VERIFICATION_ERROR:
        return Decision(Action.ESCALATE, "verification_error")
    if judgement.outcome is not JudgeOutcome.FAILED:
        return Decision(Action.ACCEPT, judgement.outcome.value)
    if not judgement.is_retry_worthwhile:
        return Decision(Action.ESCALATE, "failed")
    if room.may_repair:
        return Decision(Action.REVISE, "failed_retryable")
    return Decision(Action.ESCALATE, "escalate_budget_exhausted")
