"""Rows of child sessions: begun by a turn, fenced with it, counted to it; they have no thread."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from geode.messages import SessionId, SessionState
from geode.steps import Usage
from geode.store.statements import Statement
from geode.store.tables import sessions, turns

_FENCE = Statement(
    update(sessions)
    .where(
        sessions.c.parent == bindparam("of"),
        sessions.c.state == SessionState.RUNNING.value,
    )
    .values(epoch=sessions.c.epoch + 1)
)


def fence_children(tx: Connection, parent: SessionId) -> None:
    """From here on no worker of an earlier claim of the parent writes for its children."""
    _FENCE.run(tx, {"of": parent})


def take_over(tx: Connection, child: SessionId) -> bool:
    """Fence one child that is at work; False when it has ended."""
    taken = tx.execute(
        update(sessions)
        .where(sessions.c.id == child, sessions.c.state == SessionState.RUNNING.value)
        .values(epoch=sessions.c.epoch + 1)
        .returning(sessions.c.id)
    )
    return bool(taken.all())


def list_at_work(tx: Connection, parent: SessionId) -> list[SessionId]:
    """The parent's children that have not ended, oldest first."""
    rows = tx.execute(
        select(sessions.c.id)
        .where(sessions.c.parent == parent, sessions.c.state == SessionState.RUNNING.value)
        .order_by(sessions.c.created_at_us, sessions.c.id)
    )
    return [SessionId(row.id) for row in rows]


def find_home(tx: Connection, session_id: SessionId) -> SessionId:
    """Whose thread hears of the session: its parent's, or its own."""
    parent = tx.execute(select(sessions.c.parent).where(sessions.c.id == session_id)).scalar_one()
    return SessionId(parent or session_id)


def sum_steps(tx: Connection, parent: SessionId, since_us: int) -> int:
    """Model calls of the parent's children that began since then."""
    found = tx.execute(
        select(func.sum(turns.c.steps))
        .join(sessions, sessions.c.id == turns.c.session_id)
        .where(sessions.c.parent == parent, turns.c.started_at_us >= since_us)
    ).scalar_one_or_none()
    return int(found or 0)


def read_child_turn(tx: Connection, child: SessionId) -> Any:
    """The one turn of a child, or None when the child was never begun."""
    return tx.execute(select(turns).where(turns.c.session_id == child)).one_or_none()


def count_to_parent(tx: Connection, turn_id: str, usage: Usage, cost_micro_usd: int | None) -> None:
    """Add what a child used to its parent's turn, whether that still runs or has ended."""
    tx.execute(
        update(turns)
        .where(turns.c.id == turn_id)
        .values(
            input_tokens=turns.c.input_tokens + usage.input_tokens,
            output_tokens=turns.c.output_tokens + usage.output_tokens,
            cache_read_tokens=turns.c.cache_read_tokens + usage.cache_read_tokens,
            cache_write_tokens=turns.c.cache_write_tokens + usage.cache_write_tokens,
            cost_micro_usd=turns.c.cost_micro_usd + (cost_micro_usd or 0),
            unpriced=turns.c.unpriced + int(cost_micro_usd is None),
        )
    )
