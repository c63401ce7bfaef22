"""Reviews as an operator looks at them: where each waits, for how long, and all that it holds."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Connection, Select, select

from geode.messages import JsonObject, JsonValue
from geode.store.review_tables import reviews
from geode.store.reviews import OPEN
from geode.store.tables import sessions, threads

SECOND_US = 1_000_000


def list_reviews(tx: Connection, limit: int, now_us: int) -> list[JsonObject]:
    """Open reviews, oldest first, without anything of their candidates."""
    rows = tx.execute(
        _select().where(reviews.c.state == OPEN).order_by(reviews.c.asked_at_us).limit(limit)
    )
    return [_describe(row, now_us) for row in rows]


def show_review(tx: Connection, review_id: str, now_us: int) -> JsonObject | None:
    """One review in whatever state, with its candidate and evidence whole; None: there is none."""
    row = tx.execute(_select().where(reviews.c.id == review_id)).first()
    if row is None:
        return None
    evidence: list[JsonValue] = [
        {"tool": tool, "text": text, "is_error": bool(is_error)}
        for tool, text, is_error in orjson.loads(row.evidence)
    ]
    return {
        **_describe(row, now_us),
        "turn": row.turn_id,
        "number": row.number,
        "reason": row.reason,
        "candidate_hash": row.candidate_hash,
        "candidate": row.pending_text,
        "reflection": row.reflection,
        "evidence": evidence,
        "words": row.words,
        "decided_by": row.decided_by,
        "decided_at_us": row.decided_at_us,
    }


def _select() -> Select[Any]:
    place = (threads.c.platform, threads.c.workspace, threads.c.channel, threads.c.thread)
    return (
        select(reviews, sessions.c.binding, *place)
        .join(sessions, sessions.c.id == reviews.c.session_id)
        .join(threads, threads.c.session_id == reviews.c.session_id, isouter=True)
    )


def _describe(row: Any, now_us: int) -> JsonObject:
    place = (row.platform, row.workspace, row.channel, row.thread)
    return {
        "id": row.id,
        "state": row.state,
        "session": row.session_id,
        "binding": row.binding,
        "place": "/".join(part for part in place if part),
        "platform": row.platform or "",
        "conversation": row.thread or "",
        "outcome": row.outcome,
        "rule": row.rule,
        "misses": list[JsonValue](orjson.loads(row.misses)),
        "is_personal": bool(row.is_personal),
        "asked_at_us": row.asked_at_us,
        "age_s": max(0, now_us - row.asked_at_us) // SECOND_US,
    }
