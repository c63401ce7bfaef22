"""The units of work around an effect: each proves its epoch and writes its timeline rows along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from geode.errors import ApprovalGoneError
from geode.messages import ReceiptId, SessionId
from geode.steps import Effect
from geode.store.approvals import use_approval
from geode.store.leases import require_epoch
from geode.store.receipts import (
    Intent,
    Receipt,
    ReceiptState,
    Settlement,
    find_blocking,
    find_identical,
    insert_receipt,
    load_receipt,
    load_receipts,
    settle_receipt,
)
from geode.store.timeline import TimelineEntry, append_entries


@dataclass(frozen=True, slots=True)
class Owner:
    """The worker that writes: a session under one epoch."""

    session_id: SessionId
    epoch: int


@dataclass(frozen=True, slots=True)
class Closing:
    """One receipt to be settled, with its timeline rows."""

    id: ReceiptId
    settlement: Settlement
    entries: Sequence[TimelineEntry] = ()


def open_intent(
    tx: Connection, intent: Intent, entries: Sequence[TimelineEntry], now_us: int
) -> Receipt | None:
    """Write `prepared`; or write nothing and return the receipt that stands in the way.

    That is the intent's own receipt, an equal communication of the turn that has happened, or an
    open receipt on one of its keys. Its approval is taken in the same transaction; raises
    `ApprovalGoneError` when there is none for exactly this action.
    """
    require_epoch(tx, intent.session_id, intent.epoch)
    known = load_receipt(tx, intent.id)
    if known is None and intent.effect is Effect.COMMUNICATE:
        known = find_identical(tx, intent)
    known = known or find_blocking(tx, intent.keys)
    if known is None:
        _take_approval(tx, intent, now_us)
        insert_receipt(tx, intent, now_us)
        append_entries(tx, intent.session_id, entries, now_us)
    return known


def _take_approval(tx: Connection, intent: Intent, now_us: int) -> None:
    if intent.approval and not use_approval(tx, intent.approval, intent.action_hash, now_us):
        raise ApprovalGoneError(intent.approval)


def close_receipts(
    tx: Connection, owner: Owner, closings: Sequence[Closing], now_us: int
) -> dict[ReceiptId, Receipt]:
    """Settle those that are still `prepared`; all of them are returned as they now stand."""
    require_epoch(tx, owner.session_id, owner.epoch)
    for closing in closings:
        if settle_receipt(tx, closing.id, closing.settlement, now_us):
            append_entries(tx, owner.session_id, closing.entries, now_us)
    return load_receipts(tx, [closing.id for closing in closings])


def close_receipt(tx: Connection, owner: Owner, closing: Closing, now_us: int) -> bool:
    """Settle one receipt; False when it is not `prepared`, and then nothing is written."""
    require_epoch(tx, owner.session_id, owner.epoch)
    moved = settle_receipt(tx, closing.id, closing.settlement, now_us)
    if moved:
        append_entries(tx, owner.session_id, closing.entries, now_us)
    return moved


def close_uncertain(
    tx: Connection, receipt_id: str, word: str, by: str, now_us: int
) -> tuple[Receipt, bool] | None:
    """Record a person's word on an uncertain effect; a receipt in any other state is left alone.

    Returns the receipt as it now stands and whether this word settled it; None when there is none.
    """
    receipt = load_receipt(tx, receipt_id)
    if receipt is None:
        return None
    settlement = Settlement(ReceiptState.RECONCILED, word, receipt.error, settled_by=by)
    uncertain = ReceiptState.UNCERTAIN
    if not settle_receipt(tx, receipt.id, settlement, now_us, settles=uncertain):
        return receipt, False
    entry = TimelineEntry(
        "effect_settled",
        {"operation": receipt.id, "tool": receipt.tool, "result": word, "by": by},
        receipt.turn_id,
    )
    append_entries(tx, receipt.session_id, [entry], now_us)
    return load_receipt(tx, receipt.id) or receipt, True
