"""The rooms around the loop, small and in memory: a clock to turn, a store, a gate, a listener."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TypeAlias

from fakes.scripted_model import Scripted, ScriptedModel

from geode.errors import StoreError
from geode.loop.agent_loop import AgenticLoop
from geode.loop.limits import LoopLimits
from geode.loop.ports import SavedBatch, TurnIdentity
from geode.loop.prompt import PromptSources
from geode.loop.run import LoopParts
from geode.loop.state import TurnEnd, TurnStart
from geode.messages import (
    JsonObject,
    Message,
    Mode,
    ProgressStep,
    SessionId,
    Text,
    ToolCall,
    ToolResult,
    TurnId,
)
from geode.records.outcomes import BatchOutcome
from geode.steps import BoundToolPlan, DataClass, Done, Effect, SafetyPolicy, Tool, ToolContext
from geode.store.timeline import TimelineEntry


class HandClock:
    """A clock that moves only when a test turns it."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def now_us(self) -> int:
        return int(self.now_s * 1_000_000)

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class BatchRecords:
    """Keeps what was saved; `events` is shared with the processor to show the order."""

    def __init__(self, events: list[str]) -> None:
        self.batches: list[SavedBatch] = []
        self.events = events
        self.error: StoreError | None = None

    async def save_batch(self, batch: SavedBatch) -> None:
        if self.error is not None:
            raise self.error
        self.batches.append(batch)
        self.events.append(f"save {batch.step}")

    @property
    def stored(self) -> tuple[Message, ...]:
        """Every message that reached the store, in order."""
        return tuple(message for batch in self.batches for message in batch.messages)


@dataclass
class ProgressLog:
    """What left the process before the answer."""

    steps: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plans: list[tuple[ProgressStep, ...]] = field(default_factory=list)

    def step(self, phase: str, tools: tuple[str, ...] = ()) -> None:
        self.steps.append((phase, tools))

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)

    def plan(self, steps: tuple[ProgressStep, ...]) -> None:
        self.plans.append(steps)


Body: TypeAlias = Callable[[ToolContext, JsonObject], "str | ToolResult | Awaitable[str]"]


class PlainProcessor:
    """A gate that lets everything through: one body per tool name, an error for other names."""

    def __init__(self, bodies: dict[str, Body], events: list[str]) -> None:
        self.bodies = bodies
        self.events = events
        self.contexts: list[ToolContext] = []
        self.uncertain: tuple[str, ...] = ()

    async def process(
        self,
        calls: Sequence[ToolCall],
        plan: BoundToolPlan,
        make_context: Callable[[int], ToolContext],
    ) -> BatchOutcome:
        results: list[ToolResult] = []
        entries: list[TimelineEntry] = []
        for index, call in enumerate(calls):
            context = make_context(index)
            self.contexts.append(context)
            self.events.append(f"run {call.name}")
            results.append(await self._run(call, context))
            entries.append(TimelineEntry("tool_outcome", {"tool": call.name}, context.turn_id))
        return BatchOutcome(tuple(results), tuple(entries), self.uncertain)  # type: ignore[arg-type]

    async def _run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        body = self.bodies.get(call.name)
        if body is None or call.arguments is None:
            return ToolResult(call.call_id, f"no tool {call.name}", is_error=True)
        made = body(context, call.arguments)
        if isinstance(made, ToolResult):
            return made
        return ToolResult(call.call_id, made if isinstance(made, str) else await made)


READS = SafetyPolicy(Effect.READ, DataClass.PUBLIC, "none", frozenset(Mode))


async def _never(context: ToolContext, arguments: JsonObject) -> Done:
    return Done("not used: the fake processor runs the bodies")


def read_tool(name: str) -> Tool:
    """A read-only tool of the plan; its body is the processor's."""
    return Tool(name, f"Runs {name}.", {"type": "object"}, READS, _never)


class LoopRoom:
    """A loop with everything it needs, and what it did to each of its neighbours."""

    def __init__(
        self,
        replies: Iterable[Scripted] = (),
        *,
        tools: dict[str, Body] | None = None,
        limits: LoopLimits | None = None,
        identity_text: str = "You are {name}.",
    ) -> None:
        self.events: list[str] = []
        self.clock = HandClock()
        self.model = ScriptedModel(replies)
        self.records = BatchRecords(self.events)
        self.processor = PlainProcessor(tools or {}, self.events)
        self.progress = ProgressLog()
        self.parts = LoopParts(
            adapter=self.model,
            model="scripted-model",
            plan=BoundToolPlan(tuple(read_tool(name) for name in self.processor.bodies)),
            processor=self.processor,
            records=self.records,
            identity=TurnIdentity(
                SessionId("s1"), TurnId("t1"), 7, Mode.DAEMON, "slack:T/C", ("U1",)
            ),
            sources=PromptSources(identity_text, today=date(2026, 12, 1)),
            limits=limits or LoopLimits(),
            progress=self.progress,
            clock=self.clock,
        )

    async def run(self, start: TurnStart | str = "hi") -> TurnEnd:
        """One run of the loop; a string is the only message of a new conversation."""
        if isinstance(start, str):
            start = TurnStart(history=(user(start),))
        return await AgenticLoop(self.parts).arun(start)

    def ran(self, name: str) -> int:
        """How often a tool's body was entered."""
        return self.events.count(f"run {name}")


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def assistant(*blocks: Text | ToolCall, opaque: bytes = b"") -> Message:
    return Message("assistant", blocks, provider="scripted", opaque=opaque)


def results(*pairs: tuple[str, str]) -> Message:
    return Message("tool", tuple(ToolResult(call_id, text) for call_id, text in pairs))


def find_faults(view: Sequence[Message]) -> list[str]:
    """Everything a strict provider would refuse in a view; empty when it is valid."""
    faults: list[str] = []
    if not view or view[0].role != "user":
        faults.append("does not begin with a user")
    for index, message in enumerate(view):
        before = view[index - 1] if index else None
        wanted = [c.call_id for c in before.calls] if before and before.role == "assistant" else []
        if message.role == "tool":
            got = [result.call_id for result in message.results]
            if got != wanted or not got:
                faults.append(f"results {got} for calls {wanted} at {index}")
        elif wanted:
            faults.append(f"calls {wanted} without results at {index}")
        if not message.blocks and not message.opaque:
            faults.append(f"nothing at {index}")
        faults += [
            f"blank block at {index}"
            for block in message.blocks
            if isinstance(block, Text | ToolResult) and not block.text.strip()
        ]
    if view and view[-1].role == "assistant" and view[-1].calls:
        faults.append("ends with open calls")
    return faults
