"""From the loop's proposal to stop to what becomes of the turn: verified, repaired or reviewed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from geode.loop.quoting import defuse, write_note
from geode.loop.state import (
    CONTINUATIONS_MAX,
    LoopState,
    TurnEnd,
    TurnPause,
    TurnStart,
    continue_turn,
)
from geode.messages import DELIVERABLE, Message, TerminationReason
from geode.records.checkpoint import CheckpointSave, write_checkpoint
from geode.reply.review_cards import tell_rejected
from geode.session.claims import Claim
from geode.session.endings import (
    FinishedTurn,
    TurnReview,
    candidate_of,
    close_turn,
    end_without_answer,
    give_up,
)
from geode.session.restore import RestoredTurn
from geode.session.services import Session
from geode.steps import Tool
from geode.store import reviews
from geode.store.database import Store, Tx
from geode.verify.decide import Action
from geode.verify.facts import CheckFacts, tell_check
from geode.verify.skipping import skip_verification
from geode.verify.structure import Candidate
from geode.verify.turn_check import VerifyBudget, VerifyParts, verify_turn_async
from geode.verify.verdict import VerifiedEnd

REVISION = (
    "Your last answer was not delivered. An operator read it and asks for another version, in "
    "these words: "
)
REJECTED = "The turn ended here: an operator read your last answer and did not release it. "
CHANGED = "What the store holds is not the answer that was reviewed, so it was not delivered."
Outcome = FinishedTurn | TurnPause | TurnReview


@dataclass(frozen=True, slots=True)
class CompletionParts:
    """What turns are brought to their end with."""

    store: Store
    verify: VerifyParts
    find_tools: Callable[[], Mapping[str, Tool]]
    """Every registered tool, for whose data its results carry."""
    limit_of: Callable[[Claim], float | None]
    """Seconds that a turn of the claim's place may take; None: without end."""


class Completion:
    """A proposal to stop is never by itself completion: one candidate after another is verified."""

    def __init__(self, parts: CompletionParts) -> None:
        self._parts = parts
        self._clock = parts.verify.clock

    async def complete(self, claim: Claim, session: Session, restored: RestoredTurn) -> Outcome:
        """Run the loop until a candidate is accepted or the turn ends or waits otherwise.

        A decided review of the turn's last candidate is taken up first: a released one ends the
        turn without the model.
        """
        attempt = await self._take_up(claim, restored)
        if isinstance(attempt, FinishedTurn):
            return attempt
        while True:
            end = attempt.proposed or await session.loop.arun(attempt.start)
            if isinstance(end, TurnPause):
                return end
            if end.reason not in DELIVERABLE:
                return give_up(attempt.start.history, end)
            candidate = candidate_of(
                claim, (*attempt.start.history, *end.saved), end, self._parts.find_tools()
            )
            skipped = skip_verification(candidate) if claim.skips_verification else None
            if skipped is not None:
                end = self._charge(end, candidate, skipped, 0.0)
                return close_turn(attempt.start.history, end, skipped)
            began = self._clock.monotonic()
            verdict = await verify_turn_async(
                candidate,
                self._parts.verify,
                VerifyBudget(CONTINUATIONS_MAX - end.state.attempts, attempt.deadline),
            )
            end = self._charge(end, candidate, verdict, self._clock.monotonic() - began)
            if verdict.action is Action.ESCALATE:
                return TurnReview(end, candidate, verdict)
            if verdict.action is not Action.REVISE:
                return close_turn(attempt.start.history, end, verdict)
            attempt = await self._repair(claim, attempt, end, verdict.note)

    async def _take_up(self, claim: Claim, restored: RestoredTurn) -> FinishedTurn | _Attempt:
        review = claim.review
        state = restored.state
        if review is None:
            return self._begin(claim, restored, state)
        match review.state:
            case reviews.RELEASED:
                return _release(restored, review)
            case reviews.REVISING:
                return await self._revise(claim, restored, REVISION + defuse(review.words))
            case reviews.REJUDGING:
                state = replace(state, granted_us=state.spent_us)
                proposed = _propose(replace(restored, state=state), review)
                return replace(self._begin(claim, restored, state), proposed=proposed)
            case _:
                return _reject(restored, review)

    def _begin(self, claim: Claim, restored: RestoredTurn, state: LoopState) -> _Attempt:
        deadline = self._deadline(claim, state)
        start = TurnStart(
            restored.history,
            state,
            self._remaining_s(deadline),
            open_batch=restored.open_batch,
        )
        return _Attempt(start, deadline)

    async def _revise(self, claim: Claim, restored: RestoredTurn, note: str) -> _Attempt:
        """A person's words begin another attempt, with time of its own."""
        state = restored.state.begin_revision()
        told = (write_note(note),)
        await self._save(claim, told, TurnEnd(TerminationReason.UNKNOWN, "", (), state, ()))
        history = (*restored.history, *told)
        return self._begin(claim, RestoredTurn(history, state), state)

    async def _repair(self, claim: Claim, attempt: _Attempt, end: TurnEnd, note: str) -> _Attempt:
        """One continuation of the budget is used, and that is stored before the model is asked."""
        remaining_s = self._remaining_s(attempt.deadline)
        start = continue_turn(attempt.start, end, note, remaining_s)
        told = start.history[len(attempt.start.history) + len(end.saved) :]
        await self._save(claim, told, replace(end, state=start.state))
        return _Attempt(start, attempt.deadline)

    async def _save(self, claim: Claim, messages: tuple[Message, ...], end: TurnEnd) -> None:
        save = CheckpointSave(
            session_id=claim.session_id,
            turn_id=claim.turn_id,
            epoch=claim.epoch,
            messages=messages,
            state=end.state.to_json(),
            batch=None,
            entries=end.entries,
            reply_to=claim.reply_to,
        )

        def unit(tx: Tx) -> None:
            now_us = self._clock.now_us()
            write_checkpoint(tx, save, now_us)
            reviews.mark_applied(tx, claim.turn_id, now_us)

        await self._parts.store.write("turn.revise", unit)

    def _charge(
        self, end: TurnEnd, candidate: Candidate, verdict: VerifiedEnd, elapsed_s: float
    ) -> TurnEnd:
        """The end with what the verification took: its time and its cost are the turn's."""
        facts = CheckFacts(self._parts.verify.judge_model, elapsed_s)
        told = tell_check(candidate, verdict, facts)
        state = replace(
            end.state,
            spent_us=end.state.spent_us + max(0, int(elapsed_s * 1_000_000)),
            judging=end.state.judging + verdict.spend,
        )
        return replace(end, state=state, entries=(*end.entries, *told.entries))

    def _deadline(self, claim: Claim, state: LoopState) -> float:
        limit_s = self._parts.limit_of(claim)
        if limit_s is None:
            return float("inf")
        left_s = max(0.0, limit_s - (state.spent_us - state.granted_us) / 1_000_000)
        return self._clock.monotonic() + left_s

    def _remaining_s(self, deadline: float) -> float | None:
        return None if deadline == float("inf") else deadline - self._clock.monotonic()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One run of the loop, or the candidate that stands in its place."""

    start: TurnStart
    deadline: float
    proposed: TurnEnd | None = None


def _propose(restored: RestoredTurn, review: reviews.Review) -> TurnEnd:
    reason = TerminationReason(review.reason)
    return TurnEnd(reason, review.pending_text, (), restored.state, ())


def _reject(restored: RestoredTurn, review: reviews.Review) -> FinishedTurn:
    reason = TerminationReason.EXTERNAL_VERIFICATION_REQUIRED
    # The words of the reason itself are those of an answer that still waits.
    note = write_note(REJECTED + (defuse(review.words) or "They gave no reason."))
    end = TurnEnd(reason, "", (note,), restored.state, ())
    finished = give_up(restored.history, end, verification="rejected")
    return replace(finished, answer=tell_rejected(review))


def _release(restored: RestoredTurn, review: reviews.Review) -> FinishedTurn:
    if reviews.hash_candidate(review.pending_text, review.reason) != review.candidate_hash:
        return end_without_answer(restored, TerminationReason.UNKNOWN, CHANGED, "changed")
    end = _propose(restored, review)
    return FinishedTurn(end, review.pending_text, "released", restored.history)
