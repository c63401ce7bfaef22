"""The one place a tool runs: scope, policy, schema, locks, receipt, epoch, dispatch, settlement."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from geode.errors import StaleEpochError
from geode.gate.admit import Admitted, Checks, Refusal, RequestMiddleware
from geode.gate.after import ask_hooks
from geode.gate.approvals import Approvals
from geode.gate.dispatch import run_handler
from geode.gate.effect import EffectRun
from geode.gate.locks import Hold, ResourceLocks
from geode.gate.review import Reviewer, Waiting
from geode.gate.schema import SchemaChecks
from geode.gate.settle import ending_of, result_of_end
from geode.gate.trace import Stage, TraceStep
from geode.hooks.registry import HookRegistry
from geode.messages import ReceiptId, ToolCall, ToolResult
from geode.ports import Clock, Failpoints
from geode.records.call_entries import entry_of_call, entry_of_outcome, entry_of_refusal
from geode.records.guard import Raised, run_guarded
from geode.records.outcomes import Stored
from geode.records.receipts import EffectReceiptStore
from geode.steps import BoundToolPlan, Effect, ToolContext
from geode.store.approvals import NewApproval
from geode.store.timeline import TimelineEntry


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What one call came to."""

    result: ToolResult | None
    """None: it waits for a person, and nothing of it has begun."""
    entries: tuple[TimelineEntry, ...] = ()
    """Not yet written; they belong into the save that holds the result."""
    uncertain: ReceiptId | None = None
    """The receipt of an effect whose outcome only a person can tell."""
    asks: NewApproval | None = None
    """What a person is to be asked."""


@dataclass(frozen=True, slots=True)
class GateParts:
    """What every executor of a process shares."""

    receipts: EffectReceiptStore
    approvals: Approvals
    clock: Clock
    failpoints: Failpoints
    hooks: HookRegistry = field(default_factory=HookRegistry)
    middleware: tuple[RequestMiddleware, ...] = ()
    locks: ResourceLocks = field(default_factory=ResourceLocks)
    schemas: SchemaChecks = field(default_factory=SchemaChecks)


class ToolExecutor:
    """Takes one proposed call from proposal to result, for one session."""

    def __init__(
        self,
        parts: GateParts,
        is_lease_held: Callable[[], bool] = lambda: True,
        approvers: Collection[str] = (),
    ) -> None:
        self._parts = parts
        self._is_lease_held = is_lease_held
        checks = Checks(parts.schemas, parts.middleware)
        self._reviewer = Reviewer(checks, parts.hooks, parts.approvals, approvers)

    async def aexecute(
        self, call: ToolCall, plan: BoundToolPlan, context: ToolContext
    ) -> CallOutcome:
        """Run one call of a saved batch, or say why not; nothing but its result leaves.

        A call that waits for a person has no result yet: it is executed again, in the same place of
        the same batch, once somebody decided. Raises `StaleEpochError` when the lease is lost, and
        a `StoreError` when an effect ran and its outcome could not be written: its receipt then
        waits for the recovery of the batch.
        """
        admitted = await self._reviewer.review(call, plan, context)
        if isinstance(admitted, Waiting):
            return CallOutcome(None, asks=admitted.new)
        if isinstance(admitted, Refusal):
            return refuse(call, context, admitted)
        keys = await _resolve_keys(admitted)
        if isinstance(keys, Refusal):
            return refuse(call, context, _at(admitted, "locks", keys))
        hold = await self._parts.locks.acquire(keys, self._limit_s(admitted))
        if hold is None:
            return refuse(call, context, _at(admitted, "locks", _BUSY))
        try:
            return await self._run_held(admitted.pass_step("locks", "locks.held"), hold)
        finally:
            hold.release()

    async def _run_held(self, admitted: Admitted, hold: Hold) -> CallOutcome:
        call, context = admitted.call, admitted.context
        timeout_s = self._limit_s(admitted)
        if timeout_s <= 0:
            return refuse(call, context, _at(admitted, "dispatch", _OUT_OF_TIME))
        if not self._is_lease_held():
            raise StaleEpochError(context.session_id, context.epoch)
        if admitted.tool.policy.effect is Effect.READ:
            return await self._read(admitted, hold, timeout_s)
        parts = self._parts
        run = EffectRun(admitted, parts.receipts, parts.hooks, parts.clock, parts.failpoints)
        outcome = await run.run(hold, timeout_s)
        if isinstance(outcome, Refusal):
            return refuse(call, context, _at(admitted, "receipt", outcome))
        if isinstance(outcome, Stored):
            last = entry_of_outcome(call, context, ending="repeated")
            return CallOutcome(outcome.result, (_entry_of(admitted), last))
        return CallOutcome(outcome.result, uncertain=outcome.uncertain)

    async def _read(self, admitted: Admitted, hold: Hold, timeout_s: float) -> CallOutcome:
        call, context = admitted.call, admitted.context
        if admitted.approval:
            refusal = await self._parts.approvals.take(admitted)
            if refusal is not None:
                return refuse(call, context, _at(admitted, "approval", refusal))
        clock = self._parts.clock
        started = clock.monotonic()
        end = await run_handler(
            admitted.tool, context, admitted.arguments, timeout_s=timeout_s, hold=hold
        )
        elapsed_ms = int((clock.monotonic() - started) * 1000)
        result = result_of_end(call.call_id, admitted.tool.name, end)
        said = await ask_hooks(
            self._parts.hooks, admitted, ending_of(end), result.text, is_error=result.is_error
        )
        result = replace(
            result,
            text=said.apply(result.text),
            names_urls=said.keeps_urls(named=result.names_urls),
        )
        last = entry_of_outcome(
            call,
            context,
            ending=ending_of(end),
            text=result.text if result.is_error else "",
            elapsed_ms=elapsed_ms,
            trace=said.trace,
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


def refuse(call: ToolCall, context: ToolContext, refusal: Refusal) -> CallOutcome:
    """The outcome of a call of which nothing has begun."""
    text = f"Refused ({refusal.rule}): {refusal.sentence}"
    entry = entry_of_refusal(
        call, context, rule=refusal.rule, reason=refusal.sentence, trace=refusal.trace
    )
    return CallOutcome(ToolResult(call.call_id, text, is_error=True), (entry,))


def _at(admitted: Admitted, stage: Stage, refusal: Refusal) -> Refusal:
    return replace(refusal, trace=(*admitted.trace, TraceStep(stage, "refuse", refusal.rule)))


def _entry_of(admitted: Admitted) -> TimelineEntry:
    return entry_of_call(
        admitted.call,
        admitted.context,
        effect=admitted.tool.policy.effect,
        rule=admitted.rule,
        arguments=admitted.arguments_text,
        trace=admitted.trace,
    )
