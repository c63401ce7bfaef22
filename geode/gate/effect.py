"""One admitted effect under its locks: receipt, last look at the epoch, dispatch, settlement."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, replace

import structlog

from geode.errors import ApprovalGoneError, StaleEpochError, StoreError
from geode.gate.admit import Admitted, Refusal
from geode.gate.after import NOTHING_SAID, Afterword, apply_to_settlement, ask_hooks
from geode.gate.approvals import USED
from geode.gate.dispatch import HandlerEnd, Unknown, run_handler
from geode.gate.locks import Hold
from geode.gate.settle import ending_of_settlement, say, settlement_of
from geode.gate.trace import TraceStep
from geode.hooks.registry import HookRegistry
from geode.messages import ReceiptId, ToolResult
from geode.ports import Clock, Failpoints
from geode.records.call_entries import entry_of_call, entry_of_outcome
from geode.records.outcomes import Blocked, Stored, result_of_settlement
from geode.records.receipts import EffectReceiptStore
from geode.records.reconcile import read_back, settlement_read_back
from geode.steps import Done, NotApplied
from geode.store.receipts import Intent, ReceiptState, Settlement

_log = structlog.get_logger(__name__)

LAST_WORD_S = 2.0
"""How long a cancelled effect may take to record that its outcome is unknown."""


@dataclass(frozen=True, slots=True)
class EffectOutcome:
    """What an effect came to; its timeline rows are written."""

    result: ToolResult
    uncertain: ReceiptId | None = None


class EffectRun:
    """One effect from its receipt to its settlement; made for one call and used once."""

    def __init__(
        self,
        admitted: Admitted,
        receipts: EffectReceiptStore,
        hooks: HookRegistry,
        clock: Clock,
        failpoints: Failpoints,
    ) -> None:
        self._admitted = admitted
        self._hooks = hooks
        self._receipts = receipts
        self._clock = clock
        self._failpoints = failpoints
        self._has_begun = False
        self._end: HandlerEnd | None = None
        self._elapsed_ms = 0

    async def run(self, hold: Hold, timeout_s: float) -> EffectOutcome | Stored | Refusal:
        """Run the effect under the hold's keys.

        Raises `StaleEpochError` when the lease is lost: the receipt then waits for the successor.
        On cancellation the receipt becomes uncertain, or not applied if nothing had begun.
        """
        try:
            refusal = await self._prepare(hold)
            if refusal is not None:
                return refusal
            self._end = await self._dispatch(hold, timeout_s)
            settlement = await self._settlement_of(self._end)
            return await self._settle(settlement, self._end)
        except asyncio.CancelledError:
            await self._leave_last_word()
            raise

    async def _prepare(self, hold: Hold) -> Stored | Refusal | None:
        admitted = self._admitted
        entry = entry_of_call(
            admitted.call,
            admitted.context,
            effect=admitted.tool.policy.effect,
            rule=admitted.rule,
            arguments=admitted.arguments_text,
            trace=(*admitted.trace, TraceStep("receipt", "pass", "receipt.prepared")),
        )
        try:
            outcome = await self._receipts.prepare(_intent_of(admitted, hold.keys), [entry])
        except StaleEpochError:
            raise
        except ApprovalGoneError:
            return USED
        except StoreError as error:
            return Refusal("receipt.not_written", f"Not run, it could not be recorded: {error}")
        if isinstance(outcome, Blocked):
            return Refusal("receipt.blocked", outcome.sentence)
        return outcome if isinstance(outcome, Stored) else None

    async def _dispatch(self, hold: Hold, timeout_s: float) -> HandlerEnd:
        admitted = self._admitted
        self._failpoints.hit(f"effect.before:{admitted.tool.name}")
        await self._receipts.check_epoch(admitted.context)
        # A worker that freezes exactly here is the one window that no check closes.
        self._failpoints.hit(f"effect.window:{admitted.tool.name}")
        self._has_begun = True
        started = self._clock.monotonic()
        end = await run_handler(
            admitted.tool, admitted.context, admitted.arguments, timeout_s=timeout_s, hold=hold
        )
        self._elapsed_ms = int((self._clock.monotonic() - started) * 1000)
        self._failpoints.hit(f"effect.after:{admitted.tool.name}")
        return end

    async def _settlement_of(self, end: HandlerEnd) -> Settlement:
        admitted = self._admitted
        settlement = settlement_of(admitted.tool.name, admitted.context.operation_id, end)
        if isinstance(end, Unknown) and end.has_ended:
            happened = await read_back(admitted.tool, admitted.context, admitted.arguments)
            if happened is not None:
                return settlement_read_back(happened=happened, error=say(end.why))
        return settlement

    async def _settle(self, settlement: Settlement, end: HandlerEnd) -> EffectOutcome:
        admitted = self._admitted
        said = await self._ask_hooks(settlement)
        settlement = apply_to_settlement(said, settlement, admitted)
        await self._write(settlement, said)
        result = result_of_settlement(admitted.tool.name, admitted.call.call_id, settlement)
        if isinstance(end, Done):
            result = replace(result, names_urls=said.keeps_urls(named=end.names_urls))
        is_uncertain = settlement.state is ReceiptState.UNCERTAIN
        return EffectOutcome(result, admitted.context.operation_id if is_uncertain else None)

    async def _ask_hooks(self, settlement: Settlement) -> Afterword:
        if not self._hooks.has_hooks:
            return NOTHING_SAID
        admitted = self._admitted
        result = result_of_settlement(admitted.tool.name, admitted.call.call_id, settlement)
        ending = ending_of_settlement(settlement)
        return await ask_hooks(self._hooks, admitted, ending, result.text, is_error=result.is_error)

    async def _write(self, settlement: Settlement, said: Afterword = NOTHING_SAID) -> None:
        entry = entry_of_outcome(
            self._admitted.call,
            self._admitted.context,
            ending=ending_of_settlement(settlement),
            text=settlement.error,
            elapsed_ms=self._elapsed_ms,
            trace=said.trace,
        )
        await self._receipts.settle(self._admitted.context, settlement, [entry])

    async def _leave_last_word(self) -> None:
        said = NOTHING_SAID
        if self._end is not None:
            # The effect is known; what is not is whether the hooks would have let its words pass.
            end: HandlerEnd = self._end
            said = _UNSEEN if self._hooks.has_hooks else NOTHING_SAID
        elif self._has_begun:
            end = Unknown("it was cancelled while it was at work.")
        else:
            end = NotApplied("Cancelled before it began; nothing was done.")
        admitted = self._admitted
        settlement = settlement_of(admitted.tool.name, admitted.context.operation_id, end)
        settlement = apply_to_settlement(said, settlement, admitted)
        last = asyncio.create_task(self._try_to_write(settlement))
        await asyncio.wait({last}, timeout=LAST_WORD_S)

    async def _try_to_write(self, settlement: Settlement) -> None:
        is_uncertain = settlement.state is ReceiptState.UNCERTAIN
        if is_uncertain and self._admitted.tool.reconcile is not None:
            # It stays prepared: whoever reads the batch again looks, and asks nobody in vain.
            return
        try:
            await self._write(settlement)
        except StoreError as error:
            # The receipt stays prepared, and whoever claims the session next settles it.
            _log.warning("last_word_not_written", tool=self._admitted.tool.name, error=str(error))


_UNSEEN = Afterword(withheld="The result was withheld: the turn ended before its hooks answered.")


def _intent_of(admitted: Admitted, keys: tuple[str, ...]) -> Intent:
    """What the receipt says before the effect begins."""
    context = admitted.context
    return Intent(
        id=context.operation_id,
        session_id=context.session_id,
        turn_id=context.turn_id,
        step=context.step,
        position=context.position,
        epoch=context.epoch,
        binding=context.binding,
        mode=context.mode,
        tool=admitted.tool.name,
        effect=admitted.tool.policy.effect,
        call_id=admitted.call.call_id,
        arguments=admitted.arguments_text,
        arguments_hash=hashlib.sha256(admitted.arguments_text.encode()).hexdigest(),
        keys=keys,
        approval=admitted.approval,
        action_hash=admitted.action_hash,
    )
