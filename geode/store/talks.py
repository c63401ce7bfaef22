"""A conversation as its client waits on it: is anything under way, what came of a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, func, or_, select

from geode.messages import SessionState, TerminationReason, Thread
from geode.store import reviews
from geode.store.outbox import OPEN_STATES
from geode.store.reviews import Review
from geode.store.sessions import find_session
from geode.store.tables import cards, inbox, outbox, outbox_parts, sessions, turns

CARDS_MAX = 20
_MARKS = {each.value: each.name for each in TerminationReason}
AWAITING = (SessionState.AWAITING_APPROVAL, SessionState.AWAITING_REVIEW)


@dataclass(frozen=True, slots=True)
class Talk:
    """A session at one moment."""

    session_id: str = ""
    """Empty: nothing was asked in the conversation yet."""
    state: str = SessionState.IDLE.value
    queued: int = 0
    """Messages that wait for a turn."""
    undelivered: int = 0
    """Outbox rows on their way."""
    review: Review | None = None
    """The answer that waits for somebody's decision; of it clients are told the name alone."""

    @property
    def is_busy(self) -> bool:
        """Whether something will be said without anybody doing anything."""
        is_decided = self.state == SessionState.AWAITING_REVIEW and self.review is None
        is_running = self.state == SessionState.RUNNING or is_decided
        waits = self.queued > 0 and self.state not in AWAITING
        return is_running or waits or self.undelivered > 0


@dataclass(frozen=True, slots=True)
class Asking:
    """What came of one message so far."""

    state: Literal["unknown", "queued", "running", "awaiting", "answered"]
    reason: str = ""
    """Why its turn ended."""
    message_ids: tuple[str, ...] = ()
    """What was said in answer, by the ids that the channel gave."""
    verification: str = ""
    """What its check came to."""
    review: str = ""
    """The review that has to be decided before there is an answer."""

    @property
    def termination(self) -> str:
        """The mark of how the turn ended: `EXTERNAL_VERIFICATION_REQUIRED` has no answer."""
        return _MARKS.get(self.reason, "")


def look_at(tx: Connection, thread: Thread) -> Talk:
    """The conversation as it stands."""
    session_id = find_session(tx, thread)
    if session_id is None:
        return Talk()
    state = tx.execute(select(sessions.c.state).where(sessions.c.id == session_id)).scalar_one()
    queued = select(func.count()).where(
        inbox.c.session_id == session_id, inbox.c.state == "queued", inbox.c.kind == "message"
    )
    is_open = or_(*(outbox.c.state == each for each in OPEN_STATES))
    undelivered = select(func.count()).where(outbox.c.session_id == session_id, is_open)
    return Talk(
        session_id,
        str(state),
        tx.execute(queued).scalar_one(),
        tx.execute(undelivered).scalar_one(),
        _find_review(tx, session_id, state),
    )


def find_asking(tx: Connection, session_id: str, message_id: str) -> Asking:
    """What came of a message of the session so far."""
    row = tx.execute(
        select(inbox.c.state, inbox.c.turn_id, sessions.c.state.label("session"))
        .join(sessions, sessions.c.id == inbox.c.session_id)
        .where(
            inbox.c.session_id == session_id,
            inbox.c.message_id == message_id,
            inbox.c.kind == "message",
        )
    ).first()
    if row is None:
        return Asking("unknown")
    if row.state in ("removed", "skipped"):
        return Asking("answered", row.state)
    if not row.turn_id:
        return _find_waiting(tx, session_id, row.session) or Asking("queued")
    turn = tx.execute(
        select(turns.c.reason, turns.c.verification, turns.c.ended_at_us).where(
            turns.c.id == row.turn_id
        )
    ).one()
    if not turn.ended_at_us:
        return _find_waiting(tx, session_id, row.session) or Asking("running")
    return _find_answer(tx, session_id, row.turn_id, turn)


def _find_waiting(tx: Connection, session_id: str, state: str) -> Asking | None:
    """What the session waits for people for; None: it goes on by itself."""
    review = _find_review(tx, session_id, state)
    if review is not None:
        reason = TerminationReason.EXTERNAL_VERIFICATION_REQUIRED.value
        return Asking("awaiting", reason, review=review.id)
    return Asking("awaiting") if state == SessionState.AWAITING_APPROVAL else None


def _find_review(tx: Connection, session_id: str, state: str) -> Review | None:
    if state != SessionState.AWAITING_REVIEW:
        return None
    return reviews.find_open(tx, session_id)


def _find_answer(tx: Connection, session_id: str, turn_id: str, turn: Any) -> Asking:
    answer = tx.execute(
        select(outbox.c.id, outbox.c.state).where(
            outbox.c.session_id == session_id,
            outbox.c.kind == "answer",
            outbox.c.episode == turn_id,
        )
    ).one()
    if answer.state in OPEN_STATES:
        return Asking("running")
    parts = tx.execute(
        select(outbox_parts.c.message_id)
        .where(outbox_parts.c.outbox_id == answer.id, outbox_parts.c.message_id != "")
        .order_by(outbox_parts.c.number)
    ).scalars()
    return Asking("answered", turn.reason, tuple(parts), turn.verification)


def list_card_keys(tx: Connection, session_id: str) -> list[str]:
    """The keys under which the session's open cards were sent, oldest first."""
    found = tx.execute(
        select(outbox_parts.c.outbox_id, outbox_parts.c.number)
        .join(outbox, outbox.c.id == outbox_parts.c.outbox_id)
        .join(cards, cards.c.id == outbox.c.episode)
        .where(
            outbox.c.session_id == session_id,
            outbox.c.kind == "card",
            cards.c.state == "open",
        )
        .order_by(outbox.c.id)
        .limit(CARDS_MAX)
    )
    return [f"{row.outbox_id}:{row.number}" for row in found]
