"""Calls that wait for people: asked once, decided once, and each approval begins one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, and_, bindparam, exists, func, insert, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import SessionId, TurnId
from geode.store.gate_tables import approvals, session_grants
from geode.store.tables import sessions

PENDING = "pending"
APPROVED = "approved"
DENIED = "denied"
EXPIRED = "expired"
UNDELIVERABLE = "undeliverable"
WITHDRAWN = "withdrawn"
ONCE = "once"
SESSION = "session"


@dataclass(frozen=True, slots=True)
class NewApproval:
    """A call that a person is to be asked about."""

    id: str
    """The call's operation id."""
    session_id: SessionId
    turn_id: TurnId
    chapter: int
    step: int
    position: int
    tool: str
    tool_digest: str
    effect: str
    arguments: str
    """Canonical JSON (RFC 8785), whole."""
    requesters: tuple[str, ...]
    request_hash: str
    """Over tool, definition and arguments: what an equal request is known by."""
    action_hash: str
    """Over these, and in whose name, where and for which place of the batch."""
    why: str = ""
    """Why it asks, as a sentence for people."""
    may_last: bool = False
    """Whether it may be granted for the session too."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A stored one."""

    id: str
    session_id: SessionId
    turn_id: TurnId
    chapter: int
    tool: str
    tool_digest: str
    arguments: str
    requesters: tuple[str, ...]
    action_hash: str
    state: str
    scope: str
    reason: str
    decided_by: str
    decided_at_us: int
    is_used: bool

    @property
    def is_pending(self) -> bool:
        """Whether it waits for somebody."""
        return self.state == PENDING


@dataclass(frozen=True, slots=True)
class Word:
    """How a question ended."""

    state: str
    by: str
    """Platform and id, or who else ended it."""
    reason: str = ""
    scope: str = ""


_FIND = select(approvals).where(approvals.c.id == bindparam("id"))
_DECIDE = (
    update(approvals)
    .where(approvals.c.id == bindparam("which"), approvals.c.state == PENDING)
    .values(
        state=bindparam("new_state"),
        scope=bindparam("new_scope"),
        reason=bindparam("new_reason"),
        decided_by=bindparam("by"),
        decided_at_us=bindparam("now_us"),
    )
    .returning(approvals.c.id)
)
_USE = (
    update(approvals)
    .where(
        approvals.c.id == bindparam("which"),
        approvals.c.state == APPROVED,
        approvals.c.used_at_us == 0,
        approvals.c.action_hash == bindparam("hash"),
    )
    .values(used_at_us=bindparam("now_us"))
    .returning(approvals.c.id)
)


def add_approval(
    tx: Connection,
    new: NewApproval,
    now_us: int,
    *,
    expires_at_us: int,
    state: str = PENDING,
    reason: str = "",
) -> None:
    """Store the question; it is asked by a card of its own, opened in the same transaction.

    `reason`: why it was over before anybody was asked.
    """
    values = {
        "id": new.id,
        "session_id": new.session_id,
        "turn_id": new.turn_id,
        "chapter": new.chapter,
        "step": new.step,
        "position": new.position,
        "tool": new.tool,
        "tool_digest": new.tool_digest,
        "effect": new.effect,
        "arguments": new.arguments,
        "requesters": orjson.dumps(new.requesters).decode(),
        "request_hash": new.request_hash,
        "action_hash": new.action_hash,
        "state": state,
        "reason": reason,
        "asked_at_us": now_us,
        "expires_at_us": expires_at_us,
    }
    tx.execute(insert(approvals), values)


def find_approval(tx: Connection, approval_id: str) -> Approval | None:
    """The question about this call, in whatever state."""
    row = tx.execute(_FIND, {"id": approval_id}).first()
    return None if row is None else _approval(row)


def list_of_turn(tx: Connection, turn_id: str) -> list[Approval]:
    """The turn's questions in the order of its calls."""
    rows = tx.execute(
        select(approvals)
        .where(approvals.c.turn_id == turn_id)
        .order_by(approvals.c.step, approvals.c.position)
    )
    return [_approval(row) for row in rows]


def list_pending(tx: Connection, session_id: SessionId) -> list[Approval]:
    """The session's open questions, oldest first."""
    rows = tx.execute(
        select(approvals)
        .where(approvals.c.session_id == session_id, approvals.c.state == PENDING)
        .order_by(approvals.c.asked_at_us, approvals.c.position)
    )
    return [_approval(row) for row in rows]


def has_pending(tx: Connection, turn_id: str) -> bool:
    """Whether somebody is still to decide on a call of the turn."""
    is_pending = and_(approvals.c.turn_id == turn_id, approvals.c.state == PENDING)
    return bool(tx.execute(select(exists().where(is_pending))).scalar_one())


def decide_approval(tx: Connection, approval_id: str, word: Word, now_us: int) -> bool:
    """End an open question; False when it was not open, and then nothing is written."""
    values = {
        "which": approval_id,
        "new_state": word.state,
        "new_scope": word.scope,
        "new_reason": word.reason,
        "by": word.by,
        "now_us": now_us,
    }
    return tx.execute(_DECIDE, values).scalar_one_or_none() is not None


def use_approval(tx: Connection, approval_id: str, action_hash: str, now_us: int) -> bool:
    """Take an approval for exactly this action; False when it has none that is still unused."""
    values = {"which": approval_id, "hash": action_hash, "now_us": now_us}
    return tx.execute(_USE, values).scalar_one_or_none() is not None


def find_denied(
    tx: Connection, session_id: SessionId, chapter: int, request_hash: str
) -> Approval | None:
    """The last time that a person said no to an equal request in this chapter."""
    row = tx.execute(
        select(approvals)
        .where(
            approvals.c.session_id == session_id,
            approvals.c.request_hash == request_hash,
            approvals.c.chapter == chapter,
            approvals.c.state == DENIED,
        )
        .order_by(approvals.c.decided_at_us.desc())
        .limit(1)
    ).first()
    return None if row is None else _approval(row)


def count_asked(tx: Connection, session_id: SessionId, since_us: int) -> int:
    """Questions that the session asked since then."""
    counted = select(func.count()).where(
        approvals.c.session_id == session_id, approvals.c.asked_at_us >= since_us
    )
    return int(tx.execute(counted).scalar_one())


def list_waiting(tx: Connection, limit: int) -> list[tuple[str, Approval]]:
    """Open questions, oldest first, each with the binding of its session."""
    rows = tx.execute(
        select(approvals, sessions.c.binding)
        .join(sessions, sessions.c.id == approvals.c.session_id)
        .where(approvals.c.state == PENDING)
        .order_by(approvals.c.asked_at_us)
        .limit(limit)
    )
    return [(row.binding, _approval(row)) for row in rows]


def has_due(tx: Connection, now_us: int) -> bool:
    """Whether an open question's time is over."""
    return bool(find_due(tx, now_us, 1))


def find_due(tx: Connection, now_us: int, limit: int) -> list[Approval]:
    """Open questions whose time is over."""
    rows = tx.execute(
        select(approvals)
        .where(
            approvals.c.state == PENDING,
            approvals.c.expires_at_us > 0,
            approvals.c.expires_at_us <= now_us,
        )
        .limit(limit)
    )
    return [_approval(row) for row in rows]


def grant_session(tx: Connection, approval: Approval, by: str, now_us: int) -> None:
    """From now on the same tool need not ask in this chapter for the same people."""
    rows = [
        {
            "session_id": approval.session_id,
            "chapter": approval.chapter,
            "tool": approval.tool,
            "tool_digest": approval.tool_digest,
            "requester": requester,
            "granted_by": by,
            "granted_at_us": now_us,
        }
        for requester in approval.requesters
    ]
    if rows:
        tx.execute(upsert(session_grants).on_conflict_do_nothing(), rows)


def find_grantor(tx: Connection, new: NewApproval) -> str | None:
    """Who granted the tool for the session to everyone that this call is made for; else None."""
    found = (
        tx.execute(
            select(session_grants.c.requester, session_grants.c.granted_by).where(
                session_grants.c.session_id == new.session_id,
                session_grants.c.chapter == new.chapter,
                session_grants.c.tool == new.tool,
                session_grants.c.tool_digest == new.tool_digest,
                or_(*(session_grants.c.requester == each for each in new.requesters)),
            )
        ).all()
        if new.requesters
        else ()
    )
    known = {row.requester: row.granted_by for row in found}
    if not known or known.keys() != set(new.requesters):
        return None
    return str(next(iter(known.values())))


def _approval(row: Any) -> Approval:
    return Approval(
        id=row.id,
        session_id=SessionId(row.session_id),
        turn_id=TurnId(row.turn_id),
        chapter=row.chapter,
        tool=row.tool,
        tool_digest=row.tool_digest,
        arguments=row.arguments,
        requesters=tuple(orjson.loads(row.requesters)),
        action_hash=row.action_hash,
        state=row.state,
        scope=row.scope,
        reason=row.reason,
        decided_by=row.decided_by,
        decided_at_us=row.decided_at_us,
        is_used=row.used_at_us != 0,
    )
