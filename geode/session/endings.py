"""How a turn ends: its candidate for the judge, its answer or its reason, and its totals; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from geode.loop.quoting import is_note, write_note
from geode.loop.state import TurnEnd
from geode.loop.termination import describe_end
from geode.messages import Message, OutboundFile, TerminationReason
from geode.session.restore import RestoredTurn
from geode.store.turns import TurnTotals
from geode.verify.decide import Action
from geode.verify.structure import Candidate
from geode.verify.turn_check import VerifiedEnd


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """What a turn came to, ready to be committed."""

    end: TurnEnd
    answer: str
    verification: str = ""
    history: tuple[Message, ...] = ()
    """The chapter once `end.unsaved` is stored; empty: the next turn reads it."""
    files: tuple[OutboundFile, ...] = ()


def end_without_answer(restored: RestoredTurn, reason: TerminationReason) -> FinishedTurn:
    """The end of a turn that gives no answer, with a note for the next one."""
    unsaved = (write_note(f"The turn ended here. {describe_end(reason)}"),)
    end = TurnEnd(reason=reason, text="", unsaved=unsaved, state=restored.state, entries=())
    return give_up(restored.history, end)


def give_up(history: tuple[Message, ...], end: TurnEnd, verification: str = "") -> FinishedTurn:
    """The end of a turn without an accepted answer: its reason, as a sentence."""
    chapter = (*history, *end.saved, *end.unsaved)
    return FinishedTurn(end, describe_end(end.reason, end.detail), verification, chapter)


def close_turn(history: tuple[Message, ...], end: TurnEnd, verdict: VerifiedEnd) -> FinishedTurn:
    """The end of a turn whose candidate was judged."""
    if verdict.action is Action.ACCEPT:
        chapter = (*history, *end.saved, *end.unsaved)
        return FinishedTurn(end, verdict.text, verdict.outcome, chapter)
    # Reviews come with the judge; until then only a lack of time for the verdict escalates.
    is_escalated = verdict.action is Action.ESCALATE
    reason = TerminationReason.TIME_BUDGET_EXPIRED if is_escalated else verdict.reason
    end = replace(end, reason=reason, text="", detail=verdict.detail)
    return give_up(history, end, verdict.outcome)


def candidate_of(history: Sequence[Message], end: TurnEnd) -> Candidate:
    """What is judged: the request, the whole candidate, the observations of the turn."""
    messages = (*history, *end.unsaved)
    asked = [
        place
        for place, message in enumerate(messages)
        if message.role == "user" and not is_note(message)
    ]
    request_at = asked[-1]
    return Candidate(
        request=messages[request_at].text,
        text=end.text,
        reason=end.reason,
        observations=tuple(
            result.text for message in messages[request_at:] for result in message.results
        ),
        has_uncertain=end.state.has_uncertain,
    )


def totals_of(finished: FinishedTurn) -> TurnTotals:
    """What the turn's row says of it."""
    end = finished.end
    return TurnTotals(
        reason=end.reason,
        verification=finished.verification,
        steps=end.state.step,
        spent_us=end.state.spent_us,
        usage=end.usage,
        cost_micro_usd=end.cost_micro_usd or 0,
    )
