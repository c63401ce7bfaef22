"""Turn rows: begun once, resumed a counted number of times, ended with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Row, insert, select, update

from geode.messages import Mode, SessionId, TerminationReason, TurnId, Usage
from geode.store.tables import sessions, turns


@dataclass(frozen=True, slots=True)
class NewTurn:
    """What a turn row is made with."""

    id: TurnId
    session_id: SessionId
    chapter: int
    mode: Mode
    requesters: tuple[str, ...]
    reply_to: str
    model: str


@dataclass(frozen=True, slots=True)
class TurnTotals:
    """What a turn came to."""

    reason: TerminationReason
    verification: str
    steps: int
    spent_us: int
    usage: Usage
    cost_micro_usd: int


def begin_turn(tx: Connection, new: NewTurn, now_us: int) -> int:
    """Insert the turn under the session's next number, which is returned."""
    number = tx.execute(
        update(sessions)
        .where(sessions.c.id == new.session_id)
        .values(next_turn=sessions.c.next_turn + 1)
        .returning(sessions.c.next_turn)
    ).scalar_one()
    tx.execute(
        insert(turns).values(
            id=new.id,
            session_id=new.session_id,
            number=number - 1,
            chapter=new.chapter,
            mode=new.mode,
            requesters=orjson.dumps(new.requesters).decode(),
            reply_to=new.reply_to,
            model=new.model,
            started_at_us=now_us,
        )
    )
    return number - 1


def read_turn(tx: Connection, turn_id: str) -> Row[Any]:
    """The turn's row."""
    return tx.execute(select(turns).where(turns.c.id == turn_id)).one()


def count_attempt(tx: Connection, turn_id: str, change: int) -> int:
    """Add one for a claim, take one back for an orderly drain; the new count is returned."""
    return tx.execute(
        update(turns)
        .where(turns.c.id == turn_id)
        .values(attempts=turns.c.attempts + change)
        .returning(turns.c.attempts)
    ).scalar_one()


def end_turn(tx: Connection, turn_id: TurnId, totals: TurnTotals, now_us: int) -> None:
    """Close the turn with what it came to."""
    tx.execute(
        update(turns)
        .where(turns.c.id == turn_id)
        .values(
            state="done",
            reason=totals.reason,
            verification=totals.verification,
            steps=totals.steps,
            spent_us=totals.spent_us,
            input_tokens=totals.usage.input_tokens,
            output_tokens=totals.usage.output_tokens,
            cache_read_tokens=totals.usage.cache_read_tokens,
            cache_write_tokens=totals.usage.cache_write_tokens,
            cost_micro_usd=totals.cost_micro_usd,
            ended_at_us=now_us,
        )
    )


def requesters_of(row: Row[Any]) -> tuple[str, ...]:
    """The senders whose messages began the turn."""
    return tuple(orjson.loads(row.requesters))
