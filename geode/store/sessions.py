"""Session rows: the thread → session binding, claims with epochs, and the states of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, exists, func, insert, select, update

from geode.errors import StaleEpochError
from geode.messages import Mode, SessionId, SessionState, Thread, TurnId
from geode.store.tables import inbox, sessions, threads


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a session row is made with, once."""

    id: SessionId
    binding: str
    mode: Mode
    is_direct: bool
    earlier_before: str = ""
    """Not empty: people used the thread before this message, and that is still to be read."""


def find_session(tx: Connection, thread: Thread) -> SessionId | None:
    """The session a thread is bound to, if any."""
    found = tx.execute(select(threads.c.session_id).where(*_is_thread(thread))).scalar_one_or_none()
    return SessionId(found) if found is not None else None


def bind_session(tx: Connection, thread: Thread, new: NewSession, now_us: int) -> SessionId:
    """The thread's session, made now if it has none; a binding is never replaced."""
    found = find_session(tx, thread)
    if found is not None:
        return found
    tx.execute(
        insert(sessions).values(
            id=new.id,
            binding=new.binding,
            mode=new.mode,
            is_direct=int(new.is_direct),
            earlier_before=new.earlier_before,
            created_at_us=now_us,
            active_at_us=now_us,
        )
    )
    tx.execute(
        insert(threads).values(
            platform=thread.platform,
            workspace=thread.workspace,
            channel=thread.channel,
            thread=thread.thread,
            session_id=new.id,
        )
    )
    return new.id


def find_thread(tx: Connection, session_id: SessionId) -> Thread:
    """The thread a session is bound to."""
    row = tx.execute(
        select(threads.c.platform, threads.c.workspace, threads.c.channel, threads.c.thread).where(
            threads.c.session_id == session_id
        )
    ).one()
    return Thread(*row)


def take_lease(
    tx: Connection, session_id: SessionId, *, owner: str, until_us: int, turn_id: TurnId
) -> int:
    """Make the session running under a new epoch, which is returned."""
    return tx.execute(
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(
            state=SessionState.RUNNING,
            epoch=sessions.c.epoch + 1,
            lease_owner=owner,
            lease_until_us=until_us,
            turn_id=turn_id,
        )
        .returning(sessions.c.epoch)
    ).scalar_one()


def release_session(
    tx: Connection, session_id: SessionId, state: SessionState, now_us: int
) -> None:
    """Give the lease back; the caller has proven its epoch in the same transaction."""
    tx.execute(
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(state=state, lease_owner="", lease_until_us=0, turn_id="", active_at_us=now_us)
    )


def expire_leases(tx: Connection) -> int:
    """End every lease at once: only for the holder of the state lock, whose rivals are all dead."""
    rows = tx.execute(
        update(sessions)
        .where(sessions.c.state == SessionState.RUNNING)
        .values(lease_until_us=0)
        .returning(sessions.c.id)
    )
    delivered = tx.execute(
        update(threads)
        .where(threads.c.delivery_owner != "")
        .values(delivery_owner="", delivery_until_us=0)
        .returning(threads.c.session_id)
    )
    return len(rows.all()) + len(delivered.all())


def find_waiting(tx: Connection, limit: int) -> list[SessionId]:
    """Idle sessions with messages to answer, oldest message first."""
    rows = tx.execute(
        select(inbox.c.session_id)
        .join(sessions, sessions.c.id == inbox.c.session_id)
        .where(
            sessions.c.state == SessionState.IDLE,
            inbox.c.state == "queued",
            inbox.c.kind == "message",
        )
        .group_by(inbox.c.session_id)
        .order_by(func.min(inbox.c.id))
        .limit(limit)
    )
    return [SessionId(row.session_id) for row in rows]


def read_session(tx: Connection, session_id: SessionId) -> Row[Any] | None:
    """The session's row, locked for the rest of the transaction on Postgres."""
    return tx.execute(
        select(sessions).where(sessions.c.id == session_id).with_for_update()
    ).one_or_none()


def set_earlier_read(tx: Connection, session_id: SessionId) -> bool:
    """Note that the thread's earlier messages are read; False when they were before."""
    noted = tx.execute(
        update(sessions)
        .where(sessions.c.id == session_id, sessions.c.earlier_before != "")
        .values(earlier_before="")
        .returning(sessions.c.id)
    ).scalar_one_or_none()
    return noted is not None


def has_session(tx: Connection, thread: Thread) -> bool:
    """Whether the agent was ever addressed in this thread."""
    return bool(tx.execute(select(exists().where(*_is_thread(thread)))).scalar())


def _is_thread(thread: Thread) -> tuple[Any, ...]:
    return (
        threads.c.platform == thread.platform,
        threads.c.workspace == thread.workspace,
        threads.c.channel == thread.channel,
        threads.c.thread == thread.thread,
    )


def hand_back(tx: Connection, session_id: SessionId, epoch: int) -> None:
    """End our own lease early, so that the next claim need not wait for it to run out."""
    held = tx.execute(
        update(sessions)
        .where(
            sessions.c.id == session_id,
            sessions.c.epoch == epoch,
            sessions.c.state == SessionState.RUNNING,
        )
        .values(lease_until_us=0)
        .returning(sessions.c.id)
    ).scalar_one_or_none()
    if held is None:
        raise StaleEpochError(session_id, epoch)
