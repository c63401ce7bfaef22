"""Session rows: the thread → session binding, claims with epochs, and the states of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, exists, func, insert, or_, select, update

from geode.errors import StaleEpochError
from geode.messages import Mode, SessionId, SessionState, Thread, TurnId
from geode.store.gate_tables import approvals
from geode.store.review_tables import reviews
from geode.store.statements import Statement
from geode.store.tables import inbox, sessions, threads, turns

_IS_THREAD = (
    threads.c.platform == bindparam("platform"),
    threads.c.workspace == bindparam("workspace"),
    threads.c.channel == bindparam("channel"),
    threads.c.thread == bindparam("thread"),
)
_FIND = Statement(select(threads.c.session_id).where(*_IS_THREAD))
_FIND_THREAD = Statement(
    select(threads.c.platform, threads.c.workspace, threads.c.channel, threads.c.thread).where(
        threads.c.session_id == bindparam("session")
    )
)
_MAKE = Statement(
    insert(sessions),
    (
        "id",
        "binding",
        "mode",
        "is_direct",
        "earlier_before",
        "parent",
        "created_at_us",
        "active_at_us",
    ),
)
_BIND = Statement(insert(threads), ("platform", "workspace", "channel", "thread", "session_id"))
_READ = Statement(select(sessions).where(sessions.c.id == bindparam("session")).with_for_update())
_TAKE = Statement(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(
        state=SessionState.RUNNING.value,
        epoch=sessions.c.epoch + 1,
        lease_owner=bindparam("owner"),
        lease_until_us=bindparam("until_us"),
        turn_id=bindparam("turn"),
        next_turn=sessions.c.next_turn + bindparam("begun"),
    )
    .returning(sessions.c.epoch)
)
_BEGIN_CHAPTER = Statement(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(chapter=sessions.c.chapter + 1, chapter_due=0, compact_due=0)
)
_RELEASE = Statement(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(
        state=bindparam("new_state"),
        lease_owner="",
        lease_until_us=0,
        turn_id="",
        active_at_us=bindparam("now_us"),
    )
)


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a session row is made with, once."""

    id: SessionId
    binding: str
    mode: Mode
    is_direct: bool
    earlier_before: str = ""
    """Not empty: people used the thread before this message, and that is still to be read."""
    parent: str = ""
    """The session whose turn begins this one."""


@dataclass(frozen=True, slots=True)
class NewLease:
    """What a claim takes."""

    owner: str
    until_us: int
    turn_id: TurnId
    turns_begun: int
    """1 for a turn that begins, 0 for one that is resumed."""


def find_session(tx: Connection, thread: Thread) -> SessionId | None:
    """The session a thread is bound to, if any."""
    found = _FIND.scalar(tx, _key_of(thread))
    return SessionId(found) if found is not None else None


def bind_session(tx: Connection, thread: Thread, new: NewSession, now_us: int) -> SessionId:
    """The thread's session, made now if it has none; a binding is never replaced."""
    found = find_session(tx, thread)
    if found is not None:
        return found
    make_session(tx, new, now_us)
    _BIND.run(tx, {**_key_of(thread), "session_id": new.id})
    return new.id


def make_session(tx: Connection, new: NewSession, now_us: int) -> None:
    """A session row that no thread is bound to."""
    row = {
        "id": new.id,
        "binding": new.binding,
        "mode": new.mode.value,
        "is_direct": int(new.is_direct),
        "earlier_before": new.earlier_before,
        "parent": new.parent,
        "created_at_us": now_us,
        "active_at_us": now_us,
    }
    _MAKE.run(tx, row)


def set_binding(tx: Connection, session_id: SessionId, binding: str, mode: Mode) -> None:
    """The thread is served under another binding, or in another mode, from its next claim on."""
    values = {"binding": binding, "mode": mode.value}
    tx.execute(update(sessions).where(sessions.c.id == session_id).values(values))


def find_thread(tx: Connection, session_id: SessionId) -> Thread:
    """The thread a session is bound to."""
    return Thread(*_FIND_THREAD.first(tx, {"session": session_id}))


def ask_chapter(tx: Connection, session_id: SessionId) -> None:
    """The next turn of the session begins a new chapter."""
    tx.execute(update(sessions).where(sessions.c.id == session_id).values(chapter_due=1))


def ask_compaction(tx: Connection, session_id: SessionId) -> None:
    """The next turn that is claimed shortens the conversation before it asks the model."""
    counted = {"compact_due": sessions.c.compact_due + 1}
    tx.execute(update(sessions).where(sessions.c.id == session_id).values(counted))


def begin_chapter(tx: Connection, session_id: SessionId) -> None:
    """From here on messages belong to the next chapter, which was asked for."""
    _BEGIN_CHAPTER.run(tx, {"session": session_id})


def take_lease(tx: Connection, session_id: SessionId, lease: NewLease) -> int:
    """Make the session running under a new epoch, which is returned."""
    values = {
        "session": session_id,
        "owner": lease.owner,
        "until_us": lease.until_us,
        "turn": lease.turn_id,
        "begun": lease.turns_begun,
    }
    return _TAKE.scalar(tx, values)


def release_session(
    tx: Connection, session_id: SessionId, state: SessionState, now_us: int
) -> None:
    """Give the lease back; the caller has proven its epoch in the same transaction."""
    _RELEASE.run(tx, {"session": session_id, "new_state": str(state), "now_us": now_us})


def pause_session(tx: Connection, session_id: SessionId, state: SessionState, now_us: int) -> None:
    """Give the lease back and let the turn wait for people; its epoch is proven as above."""
    tx.execute(
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(state=state.value, lease_owner="", lease_until_us=0, active_at_us=now_us)
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


def filter_quiet(tx: Connection, names: Sequence[str], before_us: int) -> list[SessionId]:
    """Those of these sessions that are idle, had nothing happen since then, and nothing wait."""
    is_waiting = exists().where(inbox.c.session_id == sessions.c.id, inbox.c.state == "queued")
    rows = tx.execute(
        select(sessions.c.id)
        .where(
            sessions.c.id.in_(names),
            sessions.c.state == SessionState.IDLE,
            sessions.c.active_at_us < before_us,
            ~is_waiting,
        )
        .order_by(sessions.c.id)
    )
    return [SessionId(row.id) for row in rows]


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


def find_decided(tx: Connection, limit: int) -> list[SessionId]:
    """Sessions whose turn waited for people and need not any more: all was decided, or it is
    to be stopped."""
    awaiting = (SessionState.AWAITING_APPROVAL, SessionState.AWAITING_REVIEW)
    is_asked = exists().where(
        approvals.c.turn_id == sessions.c.turn_id, approvals.c.state == "pending"
    )
    is_open = exists().where(reviews.c.turn_id == sessions.c.turn_id, reviews.c.state == "open")
    is_answered = or_(
        and_(sessions.c.state == SessionState.AWAITING_APPROVAL, ~is_asked),
        and_(sessions.c.state == SessionState.AWAITING_REVIEW, ~is_open),
    )
    rows = tx.execute(
        select(sessions.c.id)
        .join(turns, turns.c.id == sessions.c.turn_id)
        .where(sessions.c.state.in_(awaiting), or_(turns.c.stopped_by != "", is_answered))
        .limit(limit)
    )
    return [SessionId(row.id) for row in rows]


def read_session(tx: Connection, session_id: SessionId) -> Any:
    """The session's row or None, locked for the rest of the transaction on Postgres."""
    return _READ.first(tx, {"session": session_id})


def set_earlier_read(tx: Connection, session_id: SessionId) -> bool:
    """Note that the thread's earlier messages are read; False when they were before."""
    noted = tx.execute(
        update(sessions)
        .where(sessions.c.id == session_id, sessions.c.earlier_before != "")
        .values(earlier_before="")
        .returning(sessions.c.id)
    ).scalar_one_or_none()
    return noted is not None


def _key_of(thread: Thread) -> dict[str, str]:
    return {
        "platform": thread.platform,
        "workspace": thread.workspace,
        "channel": thread.channel,
        "thread": thread.thread,
    }


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
