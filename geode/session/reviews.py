"""Letting a turn wait for a review: candidate, card and the session's state in one commit."""

from __future__ import annotations

from dataclasses import dataclass

from geode.messages import UNATTENDED, ReceiptId, SessionState
from geode.records.checkpoint import CheckpointSave, write_checkpoint
from geode.records.reviewing import ReviewPlace, open_review
from geode.session.claims import Claim
from geode.session.endings import TurnReview
from geode.settings import Binding
from geode.store import reviews, sessions, turns
from geode.store.database import Tx
from geode.store.reviews import Evidence, NewReview
from geode.verify.structure import Candidate

EVIDENCE_MAX = 20
EVIDENCE_CHARS_MAX = 2_000
"""Of one observation; what is cut says so."""


@dataclass(frozen=True, slots=True)
class ReviewSave:
    """Everything that a turn which waits for a review stores."""

    claim: Claim
    waiting: TurnReview
    binding: Binding | None
    uncertain: tuple[ReceiptId, ...] = ()


def write_review(tx: Tx, save: ReviewSave, now_us: int) -> bool:
    """Store it; False, and nothing is stored, when the turn was stopped meanwhile."""
    claim, end = save.claim, save.waiting.end
    if turns.is_stopped(tx, claim.turn_id):
        return False
    checkpoint = CheckpointSave(
        session_id=claim.session_id,
        turn_id=claim.turn_id,
        epoch=claim.epoch,
        messages=end.unsaved,
        state=end.state.to_json(),
        batch=None,
        entries=end.entries,
        uncertain=save.uncertain,
        reply_to=claim.reply_to,
    )
    write_checkpoint(tx, checkpoint, now_us)
    reviews.mark_applied(tx, claim.turn_id, now_us)
    open_review(tx, describe_review(save), place_of(save), now_us)
    turns.forgive_attempts(tx, claim.turn_id)
    sessions.pause_session(tx, claim.session_id, SessionState.AWAITING_REVIEW, now_us)
    return True


def describe_review(save: ReviewSave) -> NewReview:
    """The candidate with what was found, and the evidence bounded."""
    claim, verdict, candidate = save.claim, save.waiting.verdict, save.waiting.candidate
    return NewReview(
        session_id=claim.session_id,
        turn_id=claim.turn_id,
        chapter=claim.chapter,
        pending_text=candidate.text,
        reason=candidate.reason.value,
        outcome=verdict.outcome,
        rule=verdict.rule,
        misses=verdict.misses,
        reflection=verdict.reflection,
        evidence=_collect_evidence(candidate),
        is_personal=candidate.is_personal,
    )


def place_of(save: ReviewSave) -> ReviewPlace:
    """Where people are asked: in the thread; nobody is notified where nobody could press."""
    claim = save.claim
    is_bound = save.binding is not None and claim.mode in UNATTENDED
    return ReviewPlace(
        claim.session_id if is_bound else None,
        claim.reply_to,
        reply_to=claim.reply_to,
        is_attended=claim.mode not in UNATTENDED,
    )


def _collect_evidence(candidate: Candidate) -> tuple[Evidence, ...]:
    kept = candidate.observations[-EVIDENCE_MAX:]
    return tuple(Evidence(each.tool, _cut(each.text), each.is_error) for each in kept)


def _cut(text: str) -> str:
    if len(text) <= EVIDENCE_CHARS_MAX:
        return text
    return f"{text[:EVIDENCE_CHARS_MAX]} [… {len(text) - EVIDENCE_CHARS_MAX:,} characters more]"
