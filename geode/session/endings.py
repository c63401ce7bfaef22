"""How a turn ends: its candidate for the judge, its answer or its reason, and its totals; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from geode.loop.quoting import is_note, write_note
from geode.loop.state import TurnEnd
from geode.loop.termination import describe_end
from geode.messages import Message, OutboundFile, TerminationReason
from geode.session.claims import Claim
from geode.session.restore import RestoredTurn
from geode.steps import DataClass, Tool
from geode.store.turns import TurnTotals
from geode.verify.decide import Action
from geode.verify.structure import Candidate, CandidateTurn, Observation
from geode.verify.verdict import VerifiedEnd


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """What a turn came to, ready to be committed."""

    end: TurnEnd
    answer: str
    verification: str = ""
    history: tuple[Message, ...] = ()
    """The chapter once `end.unsaved` is stored; empty: the next turn reads it."""
    files: tuple[OutboundFile, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnReview:
    """A turn whose candidate waits for a person, ready to be committed."""

    end: TurnEnd
    candidate: Candidate
    verdict: VerifiedEnd


def end_without_answer(
    restored: RestoredTurn, reason: TerminationReason, detail: str = "", verification: str = ""
) -> FinishedTurn:
    """The end of a turn that gives no answer, with a note for the next one."""
    unsaved = (write_note(f"The turn ended here. {describe_end(reason, detail)}"),)
    end = TurnEnd(
        reason=reason, text="", unsaved=unsaved, state=restored.state, entries=(), detail=detail
    )
    return give_up(restored.history, end, verification)


def give_up(history: tuple[Message, ...], end: TurnEnd, verification: str = "") -> FinishedTurn:
    """The end of a turn without an accepted answer: its reason, as a sentence."""
    chapter = (*history, *end.saved, *end.unsaved)
    return FinishedTurn(end, describe_end(end.reason, end.detail), verification, chapter)


def close_turn(history: tuple[Message, ...], end: TurnEnd, verdict: VerifiedEnd) -> FinishedTurn:
    """The end of a turn whose candidate was accepted, or failed beyond repair and review."""
    if verdict.action is Action.ACCEPT:
        chapter = (*history, *end.saved, *end.unsaved)
        return FinishedTurn(end, verdict.text, verdict.outcome, chapter)
    assert verdict.action is Action.FAIL, "what is revised or escalated has not ended"
    end = replace(end, reason=verdict.reason, text="", detail=verdict.detail)
    return give_up(history, end, verdict.outcome)


def candidate_of(
    claim: Claim, history: Sequence[Message], end: TurnEnd, tools: Mapping[str, Tool]
) -> Candidate:
    """What is judged: the request, the whole candidate, the observations of the turn.

    `tools` says whose data a result may carry; the result of a tool that is not there any more
    counts as personal.
    """
    messages = (*history, *end.unsaved)
    request_at = max(
        place
        for place, message in enumerate(messages)
        if message.role == "user" and not is_note(message)
    )
    names = {call.call_id: call.name for message in messages for call in message.calls}
    return Candidate(
        request=messages[request_at].text,
        text=end.text,
        reason=end.reason,
        observations=tuple(
            _observe(names.get(result.call_id, ""), result.text, tools, is_error=result.is_error)
            for message in messages[request_at:]
            for result in message.results
        ),
        has_uncertain=end.state.has_uncertain,
        turn=CandidateTurn(
            session_id=claim.session_id,
            turn_id=claim.turn_id,
            mode=claim.mode,
            binding=claim.binding,
            requesters=claim.requesters,
            attempt=end.state.attempts,
        ),
    )


def _observe(name: str, text: str, tools: Mapping[str, Tool], *, is_error: bool) -> Observation:
    tool = tools.get(name)
    is_personal = tool is None or tool.policy.data_class is DataClass.PERSONAL
    return Observation(name, text, is_error=is_error, is_personal=is_personal)


def totals_of(finished: FinishedTurn) -> TurnTotals:
    """What the turn's row says of it."""
    end = finished.end
    return TurnTotals(
        reason=end.reason,
        verification=finished.verification,
        steps=end.state.step,
        spent_us=end.state.spent_us,
        usage=end.usage,
        cost_micro_usd=end.cost_micro_usd,
        judging=end.state.judging,
        repairing=end.state.repairing,
        repairs=end.state.attempts,
    )
