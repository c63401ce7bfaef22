"""Leases with epochs: every write of a worker proves first that the session is still its own."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select, update

from geode.errors import StaleEpochError
from geode.messages import SessionId, SessionState
from geode.store.statements import Statement
from geode.store.tables import sessions

_HELD_EPOCH = Statement(
    select(sessions.c.epoch)
    .where(
        sessions.c.id == bindparam("session_id"),
        sessions.c.state == SessionState.RUNNING.value,
    )
    .with_for_update()
)
_RENEW = Statement(
    update(sessions)
    .where(
        sessions.c.id == bindparam("session"),
        sessions.c.epoch == bindparam("held"),
        sessions.c.state == SessionState.RUNNING.value,
    )
    .values(lease_until_us=bindparam("until_us"))
    .returning(sessions.c.id)
)


def require_epoch(tx: Connection, session_id: SessionId, epoch: int) -> None:
    """Pass only while `epoch` still holds the running session; locks its row on Postgres.

    Raises `StaleEpochError`; call it first in every unit a worker writes.
    """
    held = _HELD_EPOCH.scalar(tx, {"session_id": session_id})
    if held != epoch:
        raise StaleEpochError(session_id, epoch)


def renew_leases(tx: Connection, held: dict[SessionId, int], until_us: int) -> set[SessionId]:
    """Extend the leases that are still held; the ids returned are the renewed ones."""
    renewed: set[SessionId] = set()
    for session_id, epoch in held.items():
        values = {"session": session_id, "held": epoch, "until_us": until_us}
        if _RENEW.scalar(tx, values) is not None:
            renewed.add(session_id)
    return renewed


def find_expired(tx: Connection, now_us: int, limit: int) -> list[SessionId]:
    """Running sessions whose lease has run out, oldest first; children go with their parents."""
    rows = tx.execute(
        select(sessions.c.id)
        .where(
            sessions.c.state == SessionState.RUNNING,
            sessions.c.lease_until_us < now_us,
            sessions.c.parent == "",
        )
        .order_by(sessions.c.lease_until_us)
        .limit(limit)
    )
    return [SessionId(row.id) for row in rows]
