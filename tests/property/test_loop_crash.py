"""A turn that dies at any await and is resumed sends only valid requests and repeats no call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fakes.loop_fakes import LoopRoom, assistant, find_faults, user
from fakes.scripted_model import USAGE
from hypothesis import given
from hypothesis import strategies as st

from geode.loop.guards import REPEATS_MAX
from geode.loop.limits import LoopLimits
from geode.loop.pairing import INTERRUPTED
from geode.loop.ports import SavedBatch
from geode.loop.state import LoopState, TurnStart
from geode.messages import Message, TerminationReason, Text, ToolCall, ToolResult
from geode.steps import ModelReply, StepSnapshot, StopCause, ToolContext

KINDS = st.sampled_from(["calls", "calls", "calls", "empty", "cut text", "cut calls", "pause"])
PLANS = st.lists(st.tuples(KINDS, st.integers(1, 3)), max_size=8)


class DyingError(BaseException):
    """The process is gone."""


class Turn:
    """One turn over a store that survives; dies once, at the n-th await on a neighbour."""

    def __init__(self, plan: Sequence[tuple[str, int]], dies_at: int) -> None:
        self.plan = list(plan)
        self.dies_at = dies_at
        self.awaits = 0
        self.stored: list[Message] = [user("the request")]
        self.batch: SavedBatch | None = None
        self.state = LoopState()
        self.ran: list[tuple[int, int]] = []
        self.faults: list[str] = []

    def pass_point(self) -> None:
        self.awaits += 1
        if self.awaits == self.dies_at:
            raise DyingError

    def answer(self, step: StepSnapshot) -> ModelReply:
        self.faults += find_faults(step.messages)
        self.pass_point()
        kind, number = self.plan.pop(0) if self.plan and step.may_call_tools else ("done", 1)
        calls = tuple(
            ToolCall(f"c{n}", "look", {"n": number, "step": step.step}) for n in range(number)
        )
        message, stop = {
            "calls": (assistant(Text("hm"), *calls), StopCause.TOOL_USE),
            "empty": (assistant(), StopCause.END),
            "cut text": (assistant(Text("par")), StopCause.MAX_TOKENS),
            "cut calls": (assistant(*calls), StopCause.MAX_TOKENS),
            "pause": (assistant(Text("wait")), StopCause.PAUSE),
            "done": (assistant(Text("done")), StopCause.END),
        }[kind]
        return ModelReply(message, stop, USAGE, "scripted-model", 0)

    def look(self, context: ToolContext, arguments: object) -> str:
        self.pass_point()
        self.ran.append((context.step, context.position))
        self.pass_point()
        return f"result {context.step} {context.position}"

    async def save_batch(self, batch: SavedBatch) -> None:
        self.pass_point()
        self.stored += batch.messages
        self.batch = batch
        self.state = LoopState.from_json(batch.state.to_json())
        self.pass_point()

    def restore(self) -> TurnStart:
        """What a successor does first: close the open batch, run nothing of it again."""
        if self.batch is not None and self.stored[-1].calls:
            closed = [ToolResult(c.call_id, INTERRUPTED, is_error=True) for c in self.batch.calls]
            self.stored.append(Message("tool", tuple(closed)))
        return TurnStart(tuple(self.stored), self.state)

    def run(self) -> TerminationReason:
        room = LoopRoom([], tools={"look": self.look}, limits=LoopLimits(steps_max=12))

        def endless(step: StepSnapshot) -> ModelReply:
            room.model.add(endless)
            return self.answer(step)

        room.model.add(endless)
        room.records.save_batch = self.save_batch  # type: ignore[method-assign]
        end = asyncio.run(room.run(self.restore()))
        self.stored += end.unsaved
        return end.reason


@given(PLANS, st.integers(1, 60))
def test_resumed_turn_is_valid_and_runs_no_call_twice(
    plan: list[tuple[str, int]], dies_at: int
) -> None:
    turn = Turn(plan, dies_at)

    try:
        reason = turn.run()
    except DyingError:
        reason = turn.run()

    assert reason in TerminationReason
    assert turn.faults == []
    assert len(set(turn.ran)) == len(turn.ran)
    assert find_faults(turn.stored) == []
    assert len(turn.ran) <= 3 * REPEATS_MAX * len(plan) + 1
