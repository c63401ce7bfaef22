"""The parts a loop is built from, and what one run of it carries from phase to phase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from geode.loop.context import ConversationContext
from geode.loop.limits import LoopLimits, RoundChoice, TimePlan, plan_time
from geode.loop.ports import Pictures, Progress, ToolProcessor, TurnIdentity, TurnRecords
from geode.loop.prompt import PromptSources
from geode.loop.state import LoopState, OpenBatch, TurnStart
from geode.loop.tokens import estimate_fixed
from geode.messages import JsonObject, Message, TerminationReason
from geode.ports import Clock
from geode.steps import BoundToolPlan, ModelAdapter, ModelReply, Spend, SystemPrompt
from geode.store.approvals import NewApproval
from geode.store.timeline import TimelineEntry


@dataclass(frozen=True, slots=True)
class LoopParts:
    """Everything a turn's loop works with; the plan and the adapter are bound for the turn."""

    adapter: ModelAdapter
    model: str
    """The provider's own model id."""
    plan: BoundToolPlan
    processor: ToolProcessor
    records: TurnRecords
    identity: TurnIdentity
    sources: PromptSources
    limits: LoopLimits
    progress: Progress
    clock: Clock
    pictures: Pictures | None = None
    """None: the model looks at no pictures."""
    read_cost_elsewhere: Callable[[], int] = int
    """What was spent for the turn outside its loop, in micro-USD."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run stops, and its candidate when it has one."""

    reason: TerminationReason
    text: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    """Why a run stops without an end: calls of its batch wait for people."""

    batch: OpenBatch
    asks: tuple[NewApproval, ...]


@dataclass(slots=True)
class TurnRun:
    """One run's working state; what must survive a crash is in `state`."""

    parts: LoopParts
    system: SystemPrompt
    context: ConversationContext
    time: TimePlan
    state: LoopState
    began: float
    """Monotonic seconds at which this run began."""
    unsaved: list[Message]
    entries: list[TimelineEntry]
    saved: list[Message] = field(default_factory=list[Message])
    """Messages that this run stored with its batches."""
    choice: RoundChoice = field(default_factory=RoundChoice)
    cut_texts: list[str] = field(default_factory=list[str])
    """Text of answers that were cut and are being continued."""
    cuts: int = 0
    pauses: int = 0
    overflows: int = 0
    was_nudged: bool = False
    has_waited: bool = False
    blamed: tuple[str, ...] | None = None
    """What was hidden before this run hid the pictures of a refused request."""
    must_compact: bool = False
    """The provider refused the conversation as too long."""
    should_compact: bool = False
    """A shorter view may help: the window was full, or a person asked for one."""
    _fixed_tokens: int = -1

    @classmethod
    def begin(cls, parts: LoopParts, start: TurnStart, system: SystemPrompt) -> TurnRun:
        """A run over the stored history."""
        now = parts.clock.monotonic()
        state, history = start.state, start.history
        if state.context_start > start.history_offset + len(history):
            # The pointer is that of another chapter: hiding this one would lose the request.
            state = replace(state, context_start=0, summary="", observed_tokens=0)
        context = ConversationContext(
            history,
            offset=start.history_offset,
            start=state.context_start,
            summary=state.summary,
            first_request=start.first_request,
        )
        return cls(
            parts=parts,
            system=system,
            context=context,
            time=plan_time(now, start.remaining_s, parts.limits.time_budget_s),
            state=state,
            began=now,
            unsaved=[],
            entries=[],
        )

    def add(self, message: Message) -> None:
        """Append a message to the conversation; it is stored with the next save."""
        self.context.append(message)
        self.unsaved.append(message)

    def log(self, kind: str, body: JsonObject) -> None:
        """Put an entry on the timeline; it is stored with the next save."""
        self.entries.append(TimelineEntry(kind, body, self.parts.identity.turn_id))

    def spend(self, reply: ModelReply) -> None:
        """Add what a call used; one unknown price makes the sum unknown."""
        known, cost = self.state.cost_micro_usd, reply.cost_micro_usd
        spent = Spend(1, reply.usage, cost) if self.state.attempts else Spend()
        self.state = replace(
            self.state,
            usage=self.state.usage + reply.usage,
            cost_micro_usd=None if known is None or cost is None else known + cost,
            repairing=self.state.repairing + spent,
        )

    @property
    def cost_micro_usd(self) -> int | None:
        """What the turn has cost in all, which its limit bounds; None: unknown."""
        known, judged = self.state.cost_micro_usd, self.state.judging.cost_micro_usd
        if known is None or judged is None:
            return None
        return known + judged + self.parts.read_cost_elsewhere()

    def measure(self, reply: ModelReply, *, is_kept: bool) -> None:
        """Take the provider's count as the conversation's size up to here."""
        usage = reply.usage
        tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        if tokens <= 0:
            return
        tokens += usage.output_tokens if is_kept else 0
        self.state = replace(self.state, observed_tokens=tokens, observed_count=self.context.count)

    @property
    def fixed_tokens(self) -> int:
        """Tokens of the system prompt and the tools."""
        if self._fixed_tokens < 0:
            self._fixed_tokens = estimate_fixed(self.system, self.parts.plan)
        return self._fixed_tokens

    @property
    def size(self) -> int:
        """Tokens of the next request: what the provider measured plus an estimate of the newer."""
        state = self.state
        if state.observed_tokens > 0 and state.observed_count <= self.context.count:
            return state.observed_tokens + self.context.estimate_after(state.observed_count)
        return self.fixed_tokens + self.context.estimate()

    def current_state(self) -> LoopState:
        """The state to store now, running time included."""
        elapsed_us = int((self.parts.clock.monotonic() - self.began) * 1_000_000)
        return replace(self.state, spent_us=self.state.spent_us + max(0, elapsed_us))

    def take_unsaved(self) -> tuple[tuple[Message, ...], tuple[TimelineEntry, ...]]:
        """What the next save stores."""
        return tuple(self.unsaved), tuple(self.entries)

    def mark_saved(self) -> None:
        """The save came back: its messages and entries are stored."""
        self.saved += self.unsaved
        self.unsaved.clear()
        self.entries.clear()
