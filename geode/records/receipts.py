"""Intent before effect, outcome after: what a tool did to the world survives a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy import Connection

from geode.errors import ControlError
from geode.messages import (
    Effect,
    ReceiptId,
    SessionId,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    TurnId,
)
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
from geode.records.reconcile import read_back, settlement_read_back, word_of
from geode.store import receipts as rows
from geode.store.database import Store
from geode.store.leases import require_epoch
from geode.store.receipts import Intent, Receipt, ReceiptState, Settlement
from geode.store.timeline import TimelineEntry, append_entries

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

        def unit(tx: Connection) -> PrepareOutcome:
            require_epoch(tx, intent.session_id, intent.epoch)
            known = rows.load_receipt(tx, intent.id)
            if known is None and intent.effect is Effect.COMMUNICATE:
                known = rows.find_identical(tx, intent)
            if known is not None and known.state is not ReceiptState.PREPARED:
                return Stored(result_of(known, intent.call_id))
            blocking = known or rows.find_blocking(tx, intent.keys)
            if blocking is not None:
                return Blocked(blocking)
            now_us = self._clock.now_us()
            rows.insert_receipt(tx, intent, now_us)
            append_entries(tx, intent.session_id, entries, now_us)
            return Prepared()

        return await self._store.write("receipt.prepare", unit)

    async def check_epoch(self, context: ToolContext) -> None:
        """A fresh look right before an effect; raises `StaleEpochError` from a lost lease."""
        await self._store.read(lambda tx: require_epoch(tx, context.session_id, context.epoch))

    async def settle(
        self, context: ToolContext, settlement: Settlement, entries: Sequence[TimelineEntry]
    ) -> bool:
        """Commit what the call's effect came to; False when its receipt is not `prepared`."""

        def unit(tx: Connection) -> bool:
            require_epoch(tx, context.session_id, context.epoch)
            now_us = self._clock.now_us()
            moved = rows.settle_receipt(tx, context.operation_id, settlement, now_us)
            if moved:
                append_entries(tx, context.session_id, entries, now_us)
            return moved

        return await self._store.write("receipt.settle", unit)

    async def settle_by_operator(self, receipt_id: str, *, happened: bool, who: str) -> Receipt:
        """Record a person's word on an uncertain effect; raises `ControlError` for any other."""

        def unit(tx: Connection) -> Receipt:
            receipt = rows.load_receipt(tx, receipt_id)
            if receipt is None:
                raise ControlError(f"There is no effect {receipt_id[:80]!r}.")
            if receipt.state is not ReceiptState.UNCERTAIN:
                raise ControlError(f"The effect {receipt.id} is {receipt.state}, not uncertain.")
            word = word_of(happened=happened)
            now_us = self._clock.now_us()
            settlement = Settlement(
                ReceiptState.RECONCILED, word, receipt.error, settled_by=f"operator:{who}"
            )
            rows.settle_receipt(tx, receipt.id, settlement, now_us, settles=ReceiptState.UNCERTAIN)
            entry = TimelineEntry(
                "effect_settled",
                {"operation": receipt.id, "tool": receipt.tool, "result": word, "by": who},
                receipt.turn_id,
            )
            append_entries(tx, receipt.session_id, [entry], now_us)
            settled = rows.load_receipt(tx, receipt.id)
            assert settled is not None
            return settled

        return await self._store.write("receipt.operator", unit)

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
        decided = [
            (call, context, await _settlement_of(found[context.operation_id], context, tools))
            for call, context in batch
            if context.operation_id in found
            and found[context.operation_id].state is ReceiptState.PREPARED
        ]
        if decided:
            found = await self._store.write(
                "receipt.recover", lambda tx: self._close(tx, decided, ids)
            )
        return _outcome_of(batch, found)

    def _close(
        self,
        tx: Connection,
        decided: Sequence[tuple[ToolCall, ToolContext, Settlement]],
        ids: Sequence[ReceiptId],
    ) -> dict[ReceiptId, Receipt]:
        now_us = self._clock.now_us()
        for call, context, settlement in decided:
            require_epoch(tx, context.session_id, context.epoch)
            if rows.settle_receipt(tx, context.operation_id, settlement, now_us):
                ending: CallEnding = (
                    "uncertain" if settlement.state is ReceiptState.UNCERTAIN else "reconciled"
                )
                text = settlement.result or settlement.error
                entry = entry_of_outcome(call, context, ending=ending, text=text)
                append_entries(tx, context.session_id, [entry], now_us)
        return rows.load_receipts(tx, ids)


async def _settlement_of(
    receipt: Receipt, context: ToolContext, tools: Mapping[str, Tool]
) -> Settlement:
    """What the world says of an effect whose outcome was never written."""
    happened = await read_back(tools.get(receipt.tool), context, orjson.loads(receipt.arguments))
    if happened is not None:
        return settlement_read_back(happened=happened)
    why = "it was interrupted, and what it did cannot be read back."
    return Settlement(
        ReceiptState.UNCERTAIN, error=explain_uncertain(receipt.tool, receipt.id, why)
    )


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
