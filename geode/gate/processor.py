"""Runs the calls of one saved batch: side by side, results in call order, none harming another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from geode.errors import StoreError
from geode.gate.approvals import PENDING_MAX, TOO_MANY_AT_ONCE
from geode.gate.executor import CallOutcome, ToolExecutor, refuse
from geode.messages import ToolCall
from geode.records.outcomes import BatchOutcome
from geode.steps import BoundToolPlan, ToolContext

CALLS_PARALLEL_MAX = 8


class ToolCallProcessor:
    """Gives each call of a batch its context and passes it to the executor."""

    def __init__(self, executor: ToolExecutor) -> None:
        self._executor = executor

    async def process(
        self,
        calls: Sequence[ToolCall],
        plan: BoundToolPlan,
        make_context: Callable[[int], ToolContext],
    ) -> BatchOutcome:
        """Run a batch that the caller has saved; one outcome per call, in call order.

        `make_context` receives a call's position in the saved batch. Calls that share a resource
        run in call order. Raises a `StoreError` (a lost lease too) once every call has ended.
        """
        contexts = [make_context(position) for position in range(len(calls))]
        if len(calls) == 1:
            return _batch_of([await self._executor.aexecute(calls[0], plan, contexts[0])])
        slots = asyncio.Semaphore(CALLS_PARALLEL_MAX)

        async def run(position: int) -> CallOutcome | StoreError:
            async with slots:
                try:
                    return await self._executor.aexecute(calls[position], plan, contexts[position])
                except StoreError as error:
                    return error

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run(position)) for position in range(len(calls))]
        outcomes: list[CallOutcome] = []
        for task in tasks:
            outcome = task.result()
            if isinstance(outcome, StoreError):
                raise outcome
            outcomes.append(outcome)
        return _batch_of(_limit_asks(outcomes, calls, contexts))


def _limit_asks(
    outcomes: Sequence[CallOutcome], calls: Sequence[ToolCall], contexts: Sequence[ToolContext]
) -> list[CallOutcome]:
    """Of many questions at once the first few are asked and the others refused."""
    asked = [place for place, outcome in enumerate(outcomes) if outcome.asks is not None]
    beyond = frozenset(asked[PENDING_MAX:])
    return [
        refuse(calls[place], contexts[place], TOO_MANY_AT_ONCE) if place in beyond else outcome
        for place, outcome in enumerate(outcomes)
    ]


def _batch_of(outcomes: Sequence[CallOutcome]) -> BatchOutcome:
    return BatchOutcome(
        tuple(outcome.result for outcome in outcomes),
        tuple(entry for outcome in outcomes for entry in outcome.entries),
        tuple(outcome.uncertain for outcome in outcomes if outcome.uncertain is not None),
        tuple(outcome.asks for outcome in outcomes if outcome.asks is not None),
    )
