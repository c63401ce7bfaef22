"""A question to people, put into the store for tests of what comes around it."""

from __future__ import annotations

from sqlalchemy import Connection, select

from geode.messages import SessionId, TurnId
from geode.store.approvals import NewApproval, add_approval
from geode.store.reviews import NewReview, add_review
from geode.store.tables import sessions


def question(
    session_id: str = "s1",
    turn_id: str = "t1",
    *,
    number: int = 0,
    requesters: tuple[str, ...] = ("U1",),
) -> NewApproval:
    """A question about one small call."""
    return NewApproval(
        id=f"r{turn_id}{number}",
        session_id=SessionId(session_id),
        turn_id=TurnId(turn_id),
        chapter=1,
        step=1,
        position=number,
        tool="write_file",
        tool_digest="d",
        effect="mutate",
        arguments='{"path":"a"}',
        requesters=requesters,
        request_hash=f"q{number}",
        action_hash=f"a{turn_id}{number}",
        may_last=True,
    )


def put_questions(tx: Connection) -> None:
    """One open question for the turn of every session that has a turn."""
    rows = tx.execute(select(sessions.c.id, sessions.c.turn_id)).all()
    for row in rows:
        if row.turn_id:
            add_approval(tx, question(row.id, row.turn_id), 1, expires_at_us=0)


def put_reviews(tx: Connection) -> None:
    """One open review for the turn of every session that has a turn."""
    rows = tx.execute(select(sessions.c.id, sessions.c.turn_id)).all()
    for row in rows:
        if row.turn_id:
            add_review(tx, candidate(row.id, row.turn_id), 1)


def candidate(session_id: str = "s1", turn_id: str = "t1", text: str = "the draft") -> NewReview:
    """An answer that failed its check."""
    return NewReview(
        session_id=SessionId(session_id),
        turn_id=TurnId(turn_id),
        chapter=1,
        pending_text=text,
        reason="natural",
        outcome="failed",
        rule="failed",
        misses=("names no source",),
    )
