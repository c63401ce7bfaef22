"""The one place a tool runs: scope, policy, schema, locks, receipt, epoch, dispatch, settlement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from geode.errors import StaleEpochError
from geode.gate.admit import Admitted, Refusal, admit
from geode.gate.dispatch import run_handler
from geode.gate.effect import EffectRun
from geode.gate.locks import Hold, ResourceLocks
from geode.gate.schema import SchemaChecks
from geode.gate.settle import ending_of, result_of_end
from geode.messages import ReceiptId, ToolCall, ToolResult
from geode.ports import Clock, Failpoints
from geode.records.call_entries import entry_of_call, entry_of_outcome, entry_of_refusal
from geode.records.guard import Raised, run_guarded
from geode.records.outcomes import Stored
from geode.records.receipts import EffectReceiptStore
from geode.steps import BoundToolPlan, Effect, ToolContext
from geode.store.timeline import TimelineEntry


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What one call came to."""

    result: ToolResult
    entries: tuple[TimelineEntry, ...] = ()
    """Not yet written; they belong into the save that holds the result."""
    uncertain: ReceiptId | None = None
    """The receipt of an effect whose outcome only a person can tell."""


@dataclass(frozen=True, slots=True)
class GateParts:
    """What every executor of a process shares."""

    receipts: EffectReceiptStore
    clock: Clock
    failpoints: Failpoints
    locks: ResourceLocks = field(default_factory=ResourceLocks)
    checks: SchemaChecks = field(default_factory=SchemaChecks)


class ToolExecutor:
    """Takes one proposed call from proposal to result, for one session."""

    def __init__(self, parts: GateParts, is_lease_held: Callable[[], bool] = lambda: True) -> None:
        self._parts = parts
        self._is_lease_held = is_lease_held

    async def aexecute(
        self, call: ToolCall, plan: BoundToolPlan, context: ToolContext
    ) -> CallOutcome:
        """Run one call of a saved batch, or say why not; nothing but its result leaves.

        Raises `StaleEpochError` when the lease is lost, and a `StoreError` when an effect ran and
        its outcome could not be written: its receipt then waits for the recovery of the batch.
        """
        admitted = admit(call, plan, context, self._parts.checks)
        if isinstance(admitted, Refusal):
            return _refuse(call, context, admitted)
        keys = await _resolve_keys(admitted)
        if isinstance(keys, Refusal):
            return _refuse(call, context, keys)
        hold = await self._parts.locks.acquire(keys, self._limit_s(admitted))
        if hold is None:
            return _refuse(call, context, _BUSY)
        try:
            return await self._run_held(admitted, hold)
        finally:
            hold.release()

    async def _run_held(self, admitted: Admitted, hold: Hold) -> CallOutcome:
        call, context = admitted.call, admitted.context
        timeout_s = self._limit_s(admitted)
        if timeout_s <= 0:
            return _refuse(call, context, _OUT_OF_TIME)
        if not self._is_lease_held():
            raise StaleEpochError(context.session_id, context.epoch)
        if admitted.tool.policy.effect is Effect.READ:
            return await self._read(admitted, hold, timeout_s)
        parts = self._parts
        run = EffectRun(admitted, parts.receipts, parts.clock, parts.failpoints)
        outcome = await run.run(hold, timeout_s)
        if isinstance(outcome, Refusal):
            return _refuse(call, context, outcome)
        if isinstance(outcome, Stored):
            last = entry_of_outcome(call, context, ending="repeated")
            return CallOutcome(outcome.result, (_entry_of(admitted), last))
        return CallOutcome(outcome.result, uncertain=outcome.uncertain)

    async def _read(self, admitted: Admitted, hold: Hold, timeout_s: float) -> CallOutcome:
        call, context = admitted.call, admitted.context
        clock = self._parts.clock
        started = clock.monotonic()
        end = await run_handler(
            admitted.tool, context, admitted.arguments, timeout_s=timeout_s, hold=hold
        )
        result = result_of_end(call.call_id, admitted.tool.name, end)
        last = entry_of_outcome(
            call,
            context,
            ending=ending_of(end),
            text=result.text if result.is_error else "",
            elapsed_ms=int((clock.monotonic() - started) * 1000),
        )
        return CallOutcome(result, (_entry_of(admitted), last))

    def _limit_s(self, admitted: Admitted) -> float:
        left = admitted.context.deadline - self._parts.clock.monotonic()
        return min(admitted.tool.timeout_s, left)


_BUSY = Refusal("locks.busy", "Not run: what it would touch is still busy with an earlier call.")
_OUT_OF_TIME = Refusal("time.expired", "Not run: the time of this turn is used up.")


async def _resolve_keys(admitted: Admitted) -> tuple[str, ...] | Refusal:
    strategy = admitted.tool.resources
    if strategy is None:
        return ()

    async def resolve() -> tuple[str, ...]:
        return strategy(admitted.context, admitted.arguments)

    keys = await run_guarded(admitted.tool.name, resolve)
    if isinstance(keys, Raised):
        return Refusal("resources.failed", f"Not run: {keys.sentence}")
    if not keys and admitted.tool.policy.effect is not Effect.READ:
        return Refusal("resources.none", "Not run: it names nothing that it would touch.")
    return keys


def _refuse(call: ToolCall, context: ToolContext, refusal: Refusal) -> CallOutcome:
    text = f"Refused ({refusal.rule}): {refusal.sentence}"
    entry = entry_of_refusal(call, context, rule=refusal.rule, reason=refusal.sentence)
    return CallOutcome(ToolResult(call.call_id, text, is_error=True), (entry,))


def _entry_of(admitted: Admitted) -> TimelineEntry:
    return entry_of_call(
        admitted.call,
        admitted.context,
        effect=admitted.tool.policy.effect,
        rule=admitted.rule,
        arguments=admitted.arguments_text,
    )
