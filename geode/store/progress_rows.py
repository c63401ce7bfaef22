"""A turn's progress message in the outbox: where it stands, and whether its answer came."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from geode.messages import Place, SessionId, Thread
from geode.store.outbox import read_head
from geode.store.statements import Statement
from geode.store.tables import outbox, outbox_parts, threads

_ANSWER = Statement(
    select(outbox.c.id)
    .where(outbox.c.turn_id == bindparam("turn"), outbox.c.kind == "answer")
    .limit(1)
)
_PROGRESS = Statement(
    select(outbox_parts.c.message_id, outbox.c.created_at_us)
    .join(outbox, outbox.c.id == outbox_parts.c.outbox_id)
    .where(outbox.c.turn_id == bindparam("turn"), outbox.c.kind == "progress")
    .order_by(outbox_parts.c.number)
    .limit(1)
)


def is_answered(tx: Connection, turn_id: str) -> bool:
    """Whether the turn's answer is already in the outbox."""
    return _ANSWER.scalar(tx, {"turn": turn_id}) is not None


def find_progress(tx: Connection, turn_id: str) -> tuple[str, int]:
    """The message id of a turn's progress message ("" when there is none) and its creation time."""
    row = _PROGRESS.first(tx, {"turn": turn_id})
    return (row.message_id, row.created_at_us) if row is not None else ("", 0)


def find_live_progress(
    tx: Connection, session_id: SessionId, turn_id: str
) -> tuple[Place, str] | None:
    """Where a turn's progress message stands; None once its answer, or anything else, goes out."""
    if read_head(tx, session_id) is not None or is_answered(tx, turn_id):
        return None
    message_id, _ = find_progress(tx, turn_id)
    if not message_id:
        return None
    row = tx.execute(
        select(threads.c.platform, threads.c.workspace, threads.c.channel, threads.c.thread).where(
            threads.c.session_id == session_id
        )
    ).one()
    return Place(Thread(*row)), message_id
