"""Intent before effect, outcome after: what a tool did to the world survives a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from geode.errors import ControlError
from geode.messages import JsonObject, ReceiptId, SessionId, ToolCall, ToolResult, TurnId
from geode.ports import Clock
from geode.records.call_entries import CallEnding, entry_of_outcome
from geode.records.outcomes import (
    BatchOutcome,
    Blocked,
    Prepared,
    PrepareOutcome,
    Stored,
    explain_uncertain,
    result_of,
)
from geode.records.reconcile import read_back, settlement_read_back
from geode.records.settling import Word, settle_uncertain
from geode.reply.effect_cards import BY_OPERATOR
from geode.steps import Tool, ToolContext
from geode.store import effects
from geode.store import receipts as rows
from geode.store.database import Store, Tx
from geode.store.effects import Closing, Owner
from geode.store.leases import require_epoch
from geode.store.receipts import Intent, Receipt, ReceiptState, Settlement
from geode.store.timeline import TimelineEntry

RECENT_MAX = 200


class EffectReceiptStore:
    """Every effect's receipt; a worker's writes carry its epoch, an operator's need none."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def prepare(self, intent: Intent, entries: Sequence[TimelineEntry]) -> PrepareOutcome:
        """Commit `prepared` and the entries, or say in one look why the effect may not run.

        Call it only under the locks of the intent's keys: a foreign `prepared` is then a dead
        worker's. Raises `StaleEpochError`, or another `StoreError` when nothing was written.
        """
        now_us = self._clock.now_us()
        known = await self._store.write(
            "receipt.prepare", lambda tx: effects.open_intent(tx, intent, entries, now_us)
        )
        if known is None:
            return Prepared()
        is_own = known.id == intent.id and known.state is not ReceiptState.PREPARED
        if is_own or not known.is_open:
            return Stored(result_of(known, intent.call_id))
        return Blocked(known)

    async def check_epoch(self, context: ToolContext) -> None:
        """A fresh look right before an effect; raises `StaleEpochError` from a lost lease."""
        await self._store.read(lambda tx: require_epoch(tx, context.session_id, context.epoch))

    async def settle(
        self, context: ToolContext, settlement: Settlement, entries: Sequence[TimelineEntry]
    ) -> bool:
        """Commit what the call's effect came to; False when its receipt is not `prepared`."""
        closing = Closing(context.operation_id, settlement, entries)
        now_us = self._clock.now_us()
        return await self._store.write(
            "receipt.settle",
            lambda tx: effects.close_receipt(tx, _owner_of(context), closing, now_us),
        )

    async def settle_by_operator(self, receipt_id: str, *, happened: bool, who: str) -> Receipt:
        """Record a person's word on an uncertain effect, and end its card.

        Raises `ControlError` for an effect in any other state.
        """
        word = Word(happened, f"{BY_OPERATOR}{who}")
        now_us = self._clock.now_us()
        closed = await self._store.write(
            "receipt.operator", lambda tx: settle_uncertain(tx, receipt_id, word, now_us)
        )
        if closed is None:
            raise ControlError(f"There is no effect {receipt_id[:80]!r}.")
        receipt, is_settled = closed
        if not is_settled:
            raise ControlError(f"The effect {receipt.id} is {receipt.state}, not uncertain.")
        return receipt

    async def get(self, receipt_id: str) -> Receipt | None:
        """The receipt of this id."""
        return await self._store.read(lambda tx: rows.load_receipt(tx, receipt_id))

    async def list_open(self) -> list[Receipt]:
        """Effects of which nobody knows yet whether they happened, newest first."""
        return await self._store.read(
            lambda tx: rows.list_receipts(tx, RECENT_MAX, rows.OPEN_STATES)
        )

    async def list_recent(self, limit: int = 50) -> list[Receipt]:
        """The last effects in any state, newest first."""
        return await self._store.read(lambda tx: rows.list_receipts(tx, min(limit, RECENT_MAX)))

    async def has_open(self, session_id: SessionId, turn_id: TurnId) -> bool:
        """Whether the turn has an unsettled receipt; no automatic repair starts meanwhile."""
        return await self._store.read(lambda tx: rows.has_open(tx, session_id, turn_id))

    async def recover_batch(
        self, batch: Sequence[tuple[ToolCall, ToolContext]], tools: Mapping[str, Tool]
    ) -> BatchOutcome:
        """Close the orphan batch of an interrupted turn without running any call again.

        `tools` is the whole catalogue, for reading the world back. The contexts carry the new
        epoch. Running it twice gives the same results.
        """
        ids = [context.operation_id for _, context in batch]
        found = await self._store.read(lambda tx: rows.load_receipts(tx, ids))
        closings = [
            await _closing_of(call, context, found[context.operation_id], tools)
            for call, context in batch
            if context.operation_id in found
            and found[context.operation_id].state is ReceiptState.PREPARED
        ]
        if closings:
            owner = _owner_of(batch[0][1])
            now_us = self._clock.now_us()
            found |= await self._store.write(
                "receipt.recover",
                lambda tx: effects.close_receipts(tx, owner, closings, now_us),
            )
        return _outcome_of(batch, found)

    async def abandon_turn(self, owner: Owner, turn_id: TurnId) -> list[Receipt]:
        """Settle as uncertain what a turn left `prepared` when its batch cannot be read."""
        now_us = self._clock.now_us()

        def unit(tx: Tx) -> list[Receipt]:
            left = rows.list_prepared(tx, owner.session_id, turn_id)
            closings = [_closing_unread(receipt) for receipt in left]
            return list(effects.close_receipts(tx, owner, closings, now_us).values())

        return await self._store.write("receipt.abandon", unit)


def _owner_of(context: ToolContext) -> Owner:
    return Owner(context.session_id, context.epoch)


async def _closing_of(
    call: ToolCall, context: ToolContext, receipt: Receipt, tools: Mapping[str, Tool]
) -> Closing:
    settlement = await _settlement_of(receipt, context, tools)
    is_uncertain = settlement.state is ReceiptState.UNCERTAIN
    ending: CallEnding = "uncertain" if is_uncertain else "reconciled"
    text = settlement.result or settlement.error
    entry = entry_of_outcome(call, context, ending=ending, text=text)
    return Closing(receipt.id, settlement, [entry])


async def _settlement_of(
    receipt: Receipt, context: ToolContext, tools: Mapping[str, Tool]
) -> Settlement:
    """What the world says of an effect whose outcome was never written."""
    happened = await read_back(tools.get(receipt.tool), context, orjson.loads(receipt.arguments))
    if happened is not None:
        return settlement_read_back(happened=happened, error="cancelled or interrupted")
    return _unread(receipt)


def _unread(receipt: Receipt) -> Settlement:
    why = "it was interrupted, and what it did cannot be read back."
    return Settlement(
        ReceiptState.UNCERTAIN, error=explain_uncertain(receipt.tool, receipt.id, why)
    )


def _closing_unread(receipt: Receipt) -> Closing:
    settlement = _unread(receipt)
    body: JsonObject = {
        "operation": receipt.id,
        "call_id": receipt.call_id,
        "tool": receipt.tool,
        "ending": "uncertain",
        "text": settlement.error,
    }
    return Closing(receipt.id, settlement, [TimelineEntry("tool_outcome", body, receipt.turn_id)])


def _outcome_of(
    batch: Sequence[tuple[ToolCall, ToolContext]], found: Mapping[ReceiptId, Receipt]
) -> BatchOutcome:
    results: list[ToolResult] = []
    entries: list[TimelineEntry] = []
    uncertain: list[ReceiptId] = []
    for call, context in batch:
        receipt = found.get(context.operation_id)
        if receipt is None:
            text = "Interrupted before it began; nothing was done."
            results.append(ToolResult(call.call_id, text, is_error=True))
            entries.append(entry_of_outcome(call, context, ending="interrupted"))
            continue
        results.append(result_of(receipt, call.call_id))
        if receipt.state is ReceiptState.UNCERTAIN:
            uncertain.append(receipt.id)
    return BatchOutcome(tuple(results), tuple(entries), tuple(uncertain))
