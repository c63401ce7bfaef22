"""A child session's rows from its beginning to its end; what a parent left behind ends here too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geode.delegation import DELEGATE_TASK
from geode.gate.approvals import Approvals
from geode.gate.meet import CHILD_MODE
from geode.loop.quoting import write_note
from geode.loop.state import TurnEnd
from geode.messages import (
    UNATTENDED,
    Message,
    ReceiptId,
    SessionId,
    SessionState,
    TerminationReason,
    TurnId,
)
from geode.records.checkpoint import CheckpointSave, SessionCheckpoint, write_checkpoint
from geode.records.receipts import EffectReceiptStore
from geode.records.settling import Word, settle_uncertain
from geode.session.claims import Claim
from geode.session.restore import RestoredTurn, TurnRestorer
from geode.session.toolbox import Toolbox
from geode.store import children, conversation, receipts, sessions, turns
from geode.store.database import Store, Tx
from geode.store.leases import require_epoch
from geode.store.receipts import BY_RUNTIME
from geode.store.sessions import NewLease, NewSession
from geode.store.timeline import TimelineEntry, append_entries
from geode.store.turns import NewTurn, TurnTotals

CHILD_MARK = "c"
UNCERTAIN_MAX = 50
LEASE_US = 3_600_000_000
"""A child's lease is looked at by nobody: it is fenced together with its parent."""


def name_child(operation_id: ReceiptId) -> SessionId:
    """The child that a call begins: the same name before and after a crash."""
    return SessionId(f"{CHILD_MARK}{operation_id}")


@dataclass(frozen=True, slots=True)
class Birth:
    """What a child begins with."""

    operation_id: ReceiptId
    parent: Claim
    model: str
    request: Message

    @property
    def turn_id(self) -> TurnId:
        """The child's only turn."""
        return TurnId(f"t{name_child(self.operation_id)}")


def begin_child(tx: Tx, birth: Birth, now_us: int) -> Claim:
    """Make the child's rows and claim it; raises `StaleEpochError` when the parent lost its lease.

    No inbox row and no thread belong to it, so nothing but its parent ever runs it.
    """
    parent, child = birth.parent, name_child(birth.operation_id)
    require_epoch(tx, parent.session_id, parent.epoch)
    new = NewSession(child, parent.binding, CHILD_MODE, is_direct=False, parent=parent.session_id)
    sessions.make_session(tx, new, now_us)
    turns.begin_turn(
        tx,
        NewTurn(
            id=birth.turn_id,
            session_id=child,
            number=1,
            chapter=1,
            mode=CHILD_MODE,
            requesters=parent.requesters,
            reply_to=parent.reply_to,
            model=birth.model,
        ),
        now_us,
    )
    sessions.take_lease(tx, child, NewLease(parent.session_id, now_us + LEASE_US, birth.turn_id, 1))
    conversation.append_messages(tx, child, birth.turn_id, (birth.request,))
    begun = {"operation": birth.operation_id, "parent": parent.session_id, "model": birth.model}
    append_entries(tx, child, [TimelineEntry("turn_started", {**begun}, birth.turn_id)], now_us)
    told = {"operation": birth.operation_id, "session": child}
    entry = TimelineEntry("child_started", {**told}, parent.turn_id)
    append_entries(tx, parent.session_id, [entry], now_us)
    return read_child(tx, parent, child)


def read_child(tx: Tx, parent: Claim, child: SessionId) -> Claim:
    """A child as it is stored, under its present epoch."""
    row, turn = sessions.read_session(tx, child), children.read_child_turn(tx, child)
    return Claim(
        session_id=child,
        epoch=row.epoch,
        turn_id=TurnId(turn.id),
        thread=parent.thread,
        binding=row.binding,
        mode=CHILD_MODE,
        chapter=row.chapter,
        attempts=1,
        requesters=turns.requesters_of(turn),
        reply_to=turn.reply_to,
        history=conversation.load_messages(tx, child, row.chapter),
        position=row.next_position,
        checkpoint=conversation.load_checkpoint(tx, child),
        started_at_us=turn.started_at_us,
    )


def end_child(
    tx: Tx, parent: Claim, child: Claim, end: TurnEnd, uncertain: Sequence[ReceiptId], now_us: int
) -> None:
    """The child's last transaction; what it used counts to its parent's turn."""
    entry = TimelineEntry("turn_ended", {"reason": end.reason.value}, child.turn_id)
    save = CheckpointSave(
        session_id=child.session_id,
        turn_id=child.turn_id,
        epoch=child.epoch,
        messages=end.unsaved,
        state=end.state.to_json(),
        batch=None,
        entries=(*end.entries, entry),
        uncertain=tuple(uncertain),
        reply_to=child.reply_to,
    )
    write_checkpoint(tx, save, now_us)
    totals = TurnTotals(
        reason=end.reason,
        verification="",
        steps=end.state.step,
        spent_us=end.state.spent_us,
        usage=end.usage,
        cost_micro_usd=end.cost_micro_usd,
    )
    turns.end_turn(tx, child.turn_id, totals, now_us)
    children.count_to_parent(tx, parent.turn_id, totals.usage, totals.cost_micro_usd)
    sessions.release_session(tx, child.session_id, SessionState.IDLE, now_us)


class FamilyRestorer(TurnRestorer):
    """Restores a turn; the children that it had begun are ended first, and never resumed."""

    def __init__(
        self,
        store: Store,
        receipts: EffectReceiptStore,
        checkpoints: SessionCheckpoint,
        toolbox: Toolbox,
        approvals: Approvals,
    ) -> None:
        super().__init__(receipts, checkpoints, toolbox, approvals)
        self._store = store

    async def restore(self, claim: Claim, *, is_ending: bool = False) -> RestoredTurn:
        """As in `TurnRestorer`; only attended turns have children."""
        if claim.mode not in UNATTENDED:
            await self._end_children(claim)
        return await super().restore(claim, is_ending=is_ending)

    async def _end_children(self, claim: Claim) -> None:
        left = await self._store.read(lambda tx: children.list_at_work(tx, claim.session_id))
        for child in left:
            await self.interrupt(claim, child)
        known = await self._store.read(lambda tx: _find_known(tx, claim))
        if known:
            now_us = self._store.clock.now_us()
            await self._store.write("child.settle", lambda tx: _settle_known(tx, known, now_us))

    async def interrupt(self, parent: Claim, child_id: SessionId) -> None:
        """End a child that does not go on; its open effects are read back or asked about."""

        def take_over(tx: Tx) -> Claim | None:
            require_epoch(tx, parent.session_id, parent.epoch)
            is_at_work = children.take_over(tx, child_id)
            return read_child(tx, parent, child_id) if is_at_work else None

        child = await self._store.write("child.take", take_over)
        if child is None:
            return
        restored = await super().restore(child, is_ending=True)
        end, now_us = _end_of(restored), self._store.clock.now_us()
        await self._store.write(
            "child.end", lambda tx: end_child(tx, parent, child, end, (), now_us)
        )


def _end_of(restored: RestoredTurn) -> TurnEnd:
    unsaved = (write_note("The session that began this one does not go on; it ends here."),)
    return TurnEnd(
        TerminationReason.INTERRUPTED, "", unsaved=unsaved, state=restored.state, entries=()
    )


def _find_known(tx: Tx, claim: Claim) -> list[ReceiptId]:
    """Uncertain calls of the turn whose child has ended: that is all there is to know of them."""
    return [
        receipt.id
        for receipt in receipts.list_uncertain(tx, claim.session_id, UNCERTAIN_MAX)
        if receipt.turn_id == claim.turn_id
        and receipt.tool == DELEGATE_TASK
        and has_child_ended(tx, receipt.id)
    ]


def has_child_ended(tx: Tx, operation_id: ReceiptId) -> bool | None:
    """True: the call's child is over; False: it never began; None: it is at work."""
    turn = children.read_child_turn(tx, name_child(operation_id))
    if turn is None:
        return False
    return True if turn.state == "done" else None


def _settle_known(tx: Tx, known: Sequence[ReceiptId], now_us: int) -> None:
    for receipt_id in known:
        settle_uncertain(tx, receipt_id, Word(True, BY_RUNTIME), now_us)
