"""Answers that wait for a person: kept whole, decided once, and each decision is taken up once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, and_, exists, func, insert, select, update

from geode.messages import SessionId, TurnId
from geode.store.review_tables import reviews
from geode.store.tables import sessions

OPEN = "open"
RELEASED = "released"
REVISING = "revising"
REJECTED = "rejected"
REJUDGING = "rejudging"
WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation of the turn, as a reviewer is shown it."""

    tool: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class NewReview:
    """A candidate that was not accepted."""

    session_id: SessionId
    turn_id: TurnId
    chapter: int
    pending_text: str
    """The candidate, whole."""
    reason: str
    """The deliverable stop that it would end the turn with."""
    outcome: str
    """The judge's word: `failed`, `verification_error`, or `passed` when a hook objected."""
    rule: str
    """The rule of the decision to escalate."""
    misses: tuple[str, ...] = ()
    reflection: str = ""
    evidence: tuple[Evidence, ...] = ()
    is_personal: bool = False
    """It was given to no judge for what it may carry of somebody's own data: no content is shown
    outside the asker's own place."""


@dataclass(frozen=True, slots=True)
class Review:
    """A stored one."""

    id: str
    session_id: SessionId
    turn_id: TurnId
    chapter: int
    number: int
    """Counts the candidates of the turn that were reviewed, from 1."""
    pending_text: str
    candidate_hash: str
    reason: str
    outcome: str
    rule: str
    misses: tuple[str, ...]
    reflection: str
    evidence: tuple[Evidence, ...]
    is_personal: bool
    state: str
    words: str
    decided_by: str
    decider_name: str
    asked_at_us: int
    decided_at_us: int
    applied_at_us: int

    @property
    def is_open(self) -> bool:
        """Whether it waits for somebody."""
        return self.state == OPEN


@dataclass(frozen=True, slots=True)
class ReviewWord:
    """What somebody decided."""

    state: str
    by: str
    """Platform and id, `operator:NAME` on the command line, or the runtime."""
    words: str = ""
    name: str = ""
    """As the person is shown in the chat."""


def hash_candidate(text: str, reason: str) -> str:
    """SHA-256 over what would be delivered, and as what."""
    return hashlib.sha256(f"{reason}\0{text}".encode()).hexdigest()


def name_review(turn_id: str, number: int, candidate_hash: str) -> str:
    """The id names the candidate too: it can never stand for another one."""
    digest = hashlib.sha256(f"{turn_id}\0{number}\0{candidate_hash}".encode()).hexdigest()
    return f"v{digest[:16]}"


def add_review(tx: Connection, new: NewReview, now_us: int) -> Review:
    """Store an open review of the turn's newest candidate."""
    counted = select(func.count()).where(reviews.c.turn_id == new.turn_id)
    number = int(tx.execute(counted).scalar_one()) + 1
    digest = hash_candidate(new.pending_text, new.reason)
    review_id = name_review(new.turn_id, number, digest)
    evidence = [[each.tool, each.text, each.is_error] for each in new.evidence]
    values = {
        "id": review_id,
        "session_id": new.session_id,
        "turn_id": new.turn_id,
        "chapter": new.chapter,
        "number": number,
        "pending_text": new.pending_text,
        "candidate_hash": digest,
        "reason": new.reason,
        "outcome": new.outcome,
        "rule": new.rule,
        "misses": orjson.dumps(new.misses).decode(),
        "reflection": new.reflection,
        "evidence": orjson.dumps(evidence).decode(),
        "is_personal": int(new.is_personal),
        "asked_at_us": now_us,
        "reminded_at_us": now_us,
    }
    tx.execute(insert(reviews), values)
    found = find_review(tx, review_id)
    assert found is not None, "it was stored just now"
    return found


def find_review(tx: Connection, review_id: str) -> Review | None:
    """The review, in whatever state."""
    row = tx.execute(select(reviews).where(reviews.c.id == review_id)).first()
    return None if row is None else _review(row)


def find_open(tx: Connection, session_id: str) -> Review | None:
    """The session's review that waits for somebody."""
    is_open = and_(reviews.c.session_id == session_id, reviews.c.state == OPEN)
    row = tx.execute(select(reviews).where(is_open)).first()
    return None if row is None else _review(row)


def find_undone(tx: Connection, turn_id: str) -> Review | None:
    """The decided review of the turn whose decision the turn has not taken up yet."""
    row = tx.execute(
        select(reviews).where(
            reviews.c.turn_id == turn_id, reviews.c.state != OPEN, reviews.c.applied_at_us == 0
        )
    ).first()
    return None if row is None else _review(row)


def list_open(
    tx: Connection, *, bindings: Sequence[str] | None = None, limit: int = 50
) -> list[Review]:
    """Open reviews, oldest first; of sessions under these bindings, or of all."""
    found = select(reviews).where(reviews.c.state == OPEN).order_by(reviews.c.asked_at_us)
    if bindings is not None:
        found = found.join(sessions, sessions.c.id == reviews.c.session_id).where(
            sessions.c.binding.in_(bindings)
        )
    return [_review(row) for row in tx.execute(found.limit(limit))]


def list_of_turn(tx: Connection, turn_id: str) -> list[Review]:
    """The turn's reviews in the order of its candidates."""
    found = select(reviews).where(reviews.c.turn_id == turn_id).order_by(reviews.c.number)
    return [_review(row) for row in tx.execute(found)]


def has_open(tx: Connection, turn_id: str) -> bool:
    """Whether somebody is still to decide on a candidate of the turn."""
    is_open = and_(reviews.c.turn_id == turn_id, reviews.c.state == OPEN)
    return bool(tx.execute(select(exists().where(is_open))).scalar_one())


def decide_review(tx: Connection, review_id: str, word: ReviewWord, now_us: int) -> bool:
    """End an open review; False when it was not open, and then nothing is written."""
    decided = tx.execute(
        update(reviews)
        .where(reviews.c.id == review_id, reviews.c.state == OPEN)
        .values(
            state=word.state,
            words=word.words,
            decided_by=word.by,
            decider_name=word.name,
            decided_at_us=now_us,
        )
        .returning(reviews.c.id)
    )
    return decided.scalar_one_or_none() is not None


def mark_applied(tx: Connection, turn_id: str, now_us: int) -> None:
    """The turn took up what was decided, in the caller's transaction."""
    tx.execute(
        update(reviews)
        .where(reviews.c.turn_id == turn_id, reviews.c.state != OPEN, reviews.c.applied_at_us == 0)
        .values(applied_at_us=now_us)
    )


def find_unreminded(tx: Connection, before_us: int, limit: int) -> list[Review]:
    """Open reviews that nobody was reminded of since then."""
    rows = tx.execute(
        select(reviews)
        .where(reviews.c.state == OPEN, reviews.c.reminded_at_us <= before_us)
        .order_by(reviews.c.reminded_at_us)
        .limit(limit)
    )
    return [_review(row) for row in rows]


def note_reminded(tx: Connection, review_id: str, now_us: int) -> None:
    """Somebody was reminded just now."""
    tx.execute(update(reviews).where(reviews.c.id == review_id).values(reminded_at_us=now_us))


def _review(row: Any) -> Review:
    evidence = [Evidence(tool, text, bool(bad)) for tool, text, bad in orjson.loads(row.evidence)]
    return Review(
        id=row.id,
        session_id=SessionId(row.session_id),
        turn_id=TurnId(row.turn_id),
        chapter=row.chapter,
        number=row.number,
        pending_text=row.pending_text,
        candidate_hash=row.candidate_hash,
        reason=row.reason,
        outcome=row.outcome,
        rule=row.rule,
        misses=tuple(orjson.loads(row.misses)),
        reflection=row.reflection,
        evidence=tuple(evidence),
        is_personal=bool(row.is_personal),
        state=row.state,
        words=row.words,
        decided_by=row.decided_by,
        decider_name=row.decider_name,
        asked_at_us=row.asked_at_us,
        decided_at_us=row.decided_at_us,
        applied_at_us=row.applied_at_us,
    )
