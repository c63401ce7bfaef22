"""The structural check of a candidate: what no judge can overrule; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from geode.messages import Mode, SessionId, TerminationReason, TurnId


@dataclass(frozen=True, slots=True)
class CandidateTurn:
    """Whose candidate it is; data for hooks and records, no authority."""

    session_id: SessionId
    turn_id: TurnId
    mode: Mode
    binding: str = ""
    requesters: tuple[str, ...] = ()
    attempt: int = 0
    """Repairs before this candidate."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of one tool call of the turn."""

    tool: str
    text: str
    is_error: bool = False
    is_personal: bool = False
    """The tool may have read somebody's own data, or nobody knows the tool any more."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a turn wants to answer, with what a verdict may look at."""

    request: str
    text: str
    reason: TerminationReason
    """A deliverable one."""
    observations: tuple[Observation, ...] = ()
    """The results of the turn's tool calls, in order."""
    has_open_calls: bool = False
    """The candidate still proposes a call that has no result."""
    has_uncertain: bool = False
    """An effect of the turn has an unknown outcome."""
    requirements: tuple[str, ...] = ()
    """What the operator's own code asks of it beside the request: bounded, input for the judge."""
    turn: CandidateTurn | None = None
    """None: nobody's, as in a trial of the judge."""

    @property
    def is_personal(self) -> bool:
        """Whether it may carry personal observations; only the answering provider may see it."""
        return any(each.is_personal for each in self.observations)


class StructureCode(StrEnum):
    """What the structural check finds."""

    SOUND = "sound"
    EMPTY_TURN = "empty_turn"
    MODEL_ACTION_REQUIRED = "model_action_required"


@dataclass(frozen=True, slots=True)
class StructureVerdict:
    """The finding, and whether another attempt of the model can mend it."""

    code: StructureCode = StructureCode.SOUND
    is_repairable: bool = False
    note: str = ""
    """What the model is told with a repair."""

    @property
    def is_sound(self) -> bool:
        """Whether the candidate may go to the judge."""
        return self.code is StructureCode.SOUND


EMPTY_NOTE = (
    "Your turn ended without any text, so there is nothing to deliver. "
    "Answer the request now in plain text."
)


def check_structure(candidate: Candidate) -> StructureVerdict:
    """An answer has text and leaves no call open."""
    if candidate.has_open_calls:
        return StructureVerdict(StructureCode.MODEL_ACTION_REQUIRED)
    if not candidate.text.strip():
        return StructureVerdict(StructureCode.EMPTY_TURN, is_repairable=True, note=EMPTY_NOTE)
    return StructureVerdict()
