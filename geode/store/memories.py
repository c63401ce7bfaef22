"""Notes of a binding: one row per saved call, read newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import ReceiptId, SessionId
from geode.store.leases import require_epoch
from geode.store.tables import memories


@dataclass(frozen=True, slots=True)
class NewMemory:
    """One note, the call that makes it, and the worker that writes it."""

    binding: str
    session_id: SessionId
    epoch: int
    operation_id: ReceiptId
    text: str


def insert_memory(tx: Connection, new: NewMemory, now_us: int) -> None:
    """Store one note under the worker's epoch; the same operation again changes nothing."""
    require_epoch(tx, new.session_id, new.epoch)
    tx.execute(
        upsert(memories)
        .values(
            binding=new.binding,
            session_id=new.session_id,
            operation_id=new.operation_id,
            text=new.text,
            created_at_us=now_us,
        )
        .on_conflict_do_nothing(index_elements=["operation_id"])
    )


def has_memory(tx: Connection, operation_id: ReceiptId) -> bool:
    """Whether the operation's note is stored."""
    found = tx.execute(
        select(memories.c.id).where(memories.c.operation_id == operation_id)
    ).scalar_one_or_none()
    return found is not None


def page_memories(
    tx: Connection, binding: str, *, before_id: int | None, limit: int
) -> Sequence[tuple[int, str]]:
    """The binding's notes with their ids, newest first, those older than `before_id`."""
    query = select(memories.c.id, memories.c.text).where(memories.c.binding == binding)
    if before_id is not None:
        query = query.where(memories.c.id < before_id)
    rows = tx.execute(query.order_by(memories.c.id.desc()).limit(limit))
    return [(row.id, row.text) for row in rows]
