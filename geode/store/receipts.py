"""Effect receipts: written before an effect, settled after it, never deleted by a crash."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, and_, bindparam, insert, or_, select, update

from geode.messages import ReceiptId, SessionId, TurnId
from geode.steps import Effect
from geode.store.tables import receipt_keys, receipts, sessions


class ReceiptState(StrEnum):
    """The only words for what is known of an effect."""

    PREPARED = "prepared"
    """It may begin any moment; after a crash: it may have happened."""
    COMMITTED = "committed"
    NOT_APPLIED = "not_applied"
    UNCERTAIN = "uncertain"
    RECONCILED = "reconciled"
    """Settled later: `result` says happened or did_not, `settled_by` by whom."""


OPEN_STATES = (ReceiptState.PREPARED, ReceiptState.UNCERTAIN)
HAPPENED = "happened"
DID_NOT = "did_not"
BY_RUNTIME = "runtime"


@dataclass(frozen=True, slots=True)
class Intent:
    """An effect that is about to begin."""

    id: ReceiptId
    session_id: SessionId
    turn_id: TurnId
    step: int
    position: int
    epoch: int
    binding: str
    mode: str
    tool: str
    effect: Effect
    call_id: str
    arguments: str
    """Canonical JSON (RFC 8785)."""
    arguments_hash: str
    keys: tuple[str, ...]
    approval: str = ""
    """The approval that this effect takes; empty: it needed none."""
    action_hash: str = ""
    """What exactly was approved."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """What an effect came to."""

    state: ReceiptState
    result: str = ""
    error: str = ""
    settled_by: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One stored receipt."""

    id: ReceiptId
    session_id: SessionId
    turn_id: TurnId
    binding: str
    tool: str
    effect: Effect
    call_id: str
    arguments: str
    state: ReceiptState
    result: str
    error: str
    prepared_at_us: int
    settled_at_us: int
    settled_by: str

    @property
    def is_open(self) -> bool:
        """Whether nobody knows yet if the effect happened."""
        return self.state in OPEN_STATES


_COLUMNS = (
    receipts.c.id,
    receipts.c.session_id,
    receipts.c.turn_id,
    receipts.c.binding,
    receipts.c.tool,
    receipts.c.effect,
    receipts.c.call_id,
    receipts.c.arguments,
    receipts.c.state,
    receipts.c.result,
    receipts.c.error,
    receipts.c.prepared_at_us,
    receipts.c.settled_at_us,
    receipts.c.settled_by,
)


# Statements are built once: building one costs more than running it.
_IS_OPEN = or_(*(receipts.c.state == state.value for state in OPEN_STATES))
_HAS_HAPPENED = or_(
    receipts.c.state == ReceiptState.COMMITTED.value,
    and_(receipts.c.state == ReceiptState.RECONCILED.value, receipts.c.result == HAPPENED),
)
_INSERT = insert(receipts)
_INSERT_KEYS = insert(receipt_keys)
_LOAD = select(*_COLUMNS).where(receipts.c.id == bindparam("id"))
_BLOCKING = (
    select(*_COLUMNS)
    .join(receipt_keys, receipt_keys.c.receipt_id == receipts.c.id)
    .where(receipt_keys.c.key == bindparam("key"), _IS_OPEN)
    .order_by(receipts.c.prepared_at_us, receipts.c.id)
    .limit(1)
)
_IDENTICAL = (
    select(*_COLUMNS)
    .where(
        receipts.c.session_id == bindparam("session_id"),
        receipts.c.turn_id == bindparam("turn_id"),
        receipts.c.tool == bindparam("tool"),
        receipts.c.arguments_hash == bindparam("arguments_hash"),
        _HAS_HAPPENED,
    )
    .order_by(receipts.c.prepared_at_us, receipts.c.id)
    .limit(1)
)
_SETTLE = (
    update(receipts)
    .where(receipts.c.id == bindparam("receipt"), receipts.c.state == bindparam("settles"))
    .values(
        state=bindparam("new_state"),
        result=bindparam("new_result"),
        error=bindparam("new_error"),
        settled_by=bindparam("by"),
        settled_at_us=bindparam("now_us"),
    )
    .returning(receipts.c.id)
)


def insert_receipt(tx: Connection, intent: Intent, now_us: int) -> None:
    """Write `prepared` and the keys it blocks until it is settled."""
    tx.execute(
        _INSERT,
        {
            "id": intent.id,
            "session_id": intent.session_id,
            "turn_id": intent.turn_id,
            "step": intent.step,
            "position": intent.position,
            "binding": intent.binding,
            "mode": intent.mode,
            "tool": intent.tool,
            "effect": intent.effect,
            "call_id": intent.call_id,
            "arguments": intent.arguments,
            "arguments_hash": intent.arguments_hash,
            "state": ReceiptState.PREPARED,
            "epoch": intent.epoch,
            "prepared_at_us": now_us,
        },
    )
    tx.execute(_INSERT_KEYS, [{"receipt_id": intent.id, "key": key} for key in intent.keys])


def find_blocking(tx: Connection, keys: Collection[str]) -> Receipt | None:
    """An open receipt that names one of the keys; the oldest of the first such key."""
    for key in keys:
        row = tx.execute(_BLOCKING, {"key": key}).one_or_none()
        if row is not None:
            return _receipt(row)
    return None


def find_identical(tx: Connection, intent: Intent) -> Receipt | None:
    """A receipt of the same turn whose equal call is known to have happened."""
    row = tx.execute(
        _IDENTICAL,
        {
            "session_id": intent.session_id,
            "turn_id": intent.turn_id,
            "tool": intent.tool,
            "arguments_hash": intent.arguments_hash,
        },
    ).one_or_none()
    return _receipt(row) if row is not None else None


def settle_receipt(
    tx: Connection,
    receipt_id: ReceiptId,
    settlement: Settlement,
    now_us: int,
    *,
    settles: ReceiptState = ReceiptState.PREPARED,
) -> bool:
    """Move a receipt on from the state `settles`; False when it is not in that state."""
    moved = tx.execute(
        _SETTLE,
        {
            "receipt": receipt_id,
            "settles": settles,
            "new_state": settlement.state,
            "new_result": settlement.result,
            "new_error": settlement.error,
            "by": settlement.settled_by,
            "now_us": now_us,
        },
    ).scalar_one_or_none()
    return moved is not None


def load_receipt(tx: Connection, receipt_id: str) -> Receipt | None:
    """The receipt of this id."""
    row = tx.execute(_LOAD, {"id": receipt_id}).one_or_none()
    return _receipt(row) if row is not None else None


def load_receipts(tx: Connection, ids: Collection[ReceiptId]) -> dict[ReceiptId, Receipt]:
    """The receipts of these ids that exist."""
    rows = tx.execute(select(*_COLUMNS).where(receipts.c.id.in_(ids)))
    return {ReceiptId(row.id): _receipt(row) for row in rows}


def list_receipts(
    tx: Connection, limit: int, states: Sequence[ReceiptState] = tuple(ReceiptState)
) -> list[Receipt]:
    """Receipts in these states, newest first."""
    rows = tx.execute(
        select(*_COLUMNS)
        .where(receipts.c.state.in_(states))
        .order_by(receipts.c.prepared_at_us.desc(), receipts.c.id)
        .limit(limit)
    )
    return [_receipt(row) for row in rows]


def list_uncertain(tx: Connection, session_id: SessionId, limit: int) -> list[Receipt]:
    """Effects of the session and its children that wait for a person's word, newest first."""
    of_children = select(sessions.c.id).where(sessions.c.parent == session_id)
    rows = tx.execute(
        select(*_COLUMNS)
        .where(
            or_(receipts.c.session_id == session_id, receipts.c.session_id.in_(of_children)),
            receipts.c.state == ReceiptState.UNCERTAIN.value,
        )
        .order_by(receipts.c.prepared_at_us.desc(), receipts.c.id)
        .limit(limit)
    )
    return [_receipt(row) for row in rows]


def has_open(tx: Connection, session_id: SessionId, turn_id: TurnId) -> bool:
    """Whether the turn has a receipt of which nobody knows the outcome."""
    row = tx.execute(
        select(receipts.c.id)
        .where(
            receipts.c.session_id == session_id,
            receipts.c.turn_id == turn_id,
            _IS_OPEN,
        )
        .limit(1)
    ).one_or_none()
    return row is not None


def list_prepared(tx: Connection, session_id: SessionId, turn_id: TurnId) -> list[Receipt]:
    """The turn's receipts that were never settled."""
    rows = tx.execute(
        select(*_COLUMNS)
        .where(
            receipts.c.session_id == session_id,
            receipts.c.turn_id == turn_id,
            receipts.c.state == ReceiptState.PREPARED.value,
        )
        .order_by(receipts.c.prepared_at_us, receipts.c.id)
    )
    return [_receipt(row) for row in rows]


def _receipt(row: Any) -> Receipt:
    return Receipt(
        id=ReceiptId(row.id),
        session_id=SessionId(row.session_id),
        turn_id=TurnId(row.turn_id),
        binding=row.binding,
        tool=row.tool,
        effect=Effect(row.effect),
        call_id=row.call_id,
        arguments=row.arguments,
        state=ReceiptState(row.state),
        result=row.result,
        error=row.error,
        prepared_at_us=row.prepared_at_us,
        settled_at_us=row.settled_at_us,
        settled_by=row.settled_by,
    )
