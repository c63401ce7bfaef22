"""What one step is made of: tools and their plan, the snapshot of a call, the model's reply."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Literal, Protocol, TypeAlias, cast

import orjson

from geode.messages import JsonObject, Message, Mode, ReceiptId, SessionId, TurnId


class Effect(StrEnum):
    """What a tool does to the world, from least to most."""

    READ = "read"
    MUTATE = "mutate"
    EXECUTE = "execute"
    COMMUNICATE = "communicate"
    ADMINISTRATIVE = "administrative"


class DataClass(StrEnum):
    """Whose data a tool's result may carry."""

    PUBLIC = "public"
    PERSONAL = "personal"


@dataclass(frozen=True, slots=True)
class SafetyPolicy:
    """What a tool may do, declared beside the tool: the one source of truth."""

    effect: Effect
    data_class: DataClass
    approval: Literal["none", "ask"]
    modes: frozenset[Mode]
    """Modes in which the tool may exist at all; no profile and no approver adds one."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Who asks: the loop's identity for one call, handed to the executor and the handler."""

    session_id: SessionId
    turn_id: TurnId
    step: int
    position: int
    epoch: int
    mode: Mode
    binding: str
    """The binding's key; memory belongs to it."""
    model: str
    requesters: tuple[str, ...] = ()
    chapter: int = 0
    deadline: float = float("inf")
    """Monotonic seconds at which the call must have ended."""
    is_resumed: bool = False
    """The call's batch was saved by an earlier run: people may have been asked about it."""

    @property
    def operation_id(self) -> ReceiptId:
        """The same for the same position of the same saved batch, before and after a crash."""
        return _name_operation(self.session_id, self.turn_id, self.step, self.position)


@lru_cache(maxsize=256)
def _name_operation(session_id: str, turn_id: str, step: int, position: int) -> ReceiptId:
    # A call asks for its name at every step of the gate, and the hash costs more than the look-up.
    place = f"{session_id}\0{turn_id}\0{step}\0{position}"
    return ReceiptId("r" + hashlib.blake2b(place.encode(), digest_size=8).hexdigest())


@dataclass(frozen=True, slots=True)
class Done:
    """A handler's plain ending: the call did what it says."""

    text: str
    names_urls: bool = False
    """URLs in the text come from the outside world, so a later fetch may follow them."""


@dataclass(frozen=True, slots=True)
class NotApplied:
    """A handler's ending: certainly nothing happened; the reason is for the model."""

    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A handler's ending: the effect happened, and there is an error to tell."""

    error: str


LOCK_ONLY = "lock:"
"""How a resource key begins that keeps calls apart and stands in no receipt, so blocks nothing."""

Ending: TypeAlias = Done | NotApplied | Applied
ToolHandler: TypeAlias = Callable[[ToolContext, JsonObject], Awaitable[Ending]]
ResourceStrategy: TypeAlias = Callable[[ToolContext, JsonObject], tuple[str, ...]]
ReconcileHandler: TypeAlias = Callable[[ToolContext, JsonObject], Awaitable[bool | None]]
"""Reads the world back: True it happened, False it did not, None cannot tell."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One registered tool: name, JSON Schema 2020-12, policy, handler, resources."""

    name: str
    description: str
    schema: JsonObject
    policy: SafetyPolicy
    handler: ToolHandler
    resources: ResourceStrategy | None = None
    """Lock and receipt keys from the arguments; required for every effect but read."""
    reconcile: ReconcileHandler | None = None
    timeout_s: float = 60.0
    reaches_out: bool = False
    """It opens addresses in its arguments or beyond: no approval of it outlives one call."""

    @property
    def digest(self) -> str:
        """SHA-256 over all that a person approves of a tool: name, words, schema and policy."""
        policy = self.policy
        row = [
            self.name,
            self.description,
            self.schema,
            policy.effect,
            policy.data_class,
            policy.approval,
            sorted(policy.modes),
            self.reaches_out,
        ]
        return hashlib.sha256(orjson.dumps(row, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a tool that the configuration names cannot be had now."""

    rule: str
    sentence: str


class ToolSource(Protocol):
    """Tools that come and go while the process runs, such as those of other servers."""

    @property
    def generation(self) -> int:
        """Grows with every change of what follows."""
        ...

    @property
    def names(self) -> Collection[str]:
        """Every name that it may offer by its configuration, so that profiles may grant it."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What it offers now."""
        ...

    @property
    def absences(self) -> Mapping[str, Absence]:
        """The rest of `names`, each with the reason."""
        ...


@dataclass(frozen=True, slots=True)
class FixedTools:
    """A source that never changes."""

    tools: tuple[Tool, ...] = ()
    absences: Mapping[str, Absence] = field(default_factory=dict[str, Absence])
    generation: int = 0

    @property
    def names(self) -> Collection[str]:
        """The names of both."""
        return {tool.name for tool in self.tools} | self.absences.keys()


@dataclass(frozen=True)
class BoundToolPlan:
    """An immutable snapshot of the tools of one step: what the model sees is what may run."""

    tools: tuple[Tool, ...]
    generation: int = 0
    asks: frozenset[str] = frozenset()
    """Names the profile grants only with an approval."""
    mode: Mode = Mode.DAEMON
    removed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Known tools that are not in the plan, each with the id of the rule that took it out."""
    absences: Mapping[str, Absence] = field(default_factory=dict[str, Absence])
    """Those of them that cannot be had now whatever is granted."""
    wire: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    """Each provider's serialised tool list, built once per plan."""

    @cached_property
    def by_name(self) -> Mapping[str, Tool]:
        """The tools by exact name."""
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over everything the model and the executor take from the plan."""
        rows = [
            [
                t.name,
                t.description,
                t.schema,
                t.policy.effect,
                t.policy.data_class,
                t.name in self.asks,
            ]
            for t in self.tools
        ]
        return hashlib.sha256(orjson.dumps(rows, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The system text in two parts, so that the first can be cached by the provider."""

    stable: str
    changing: str


class ModelAdapter(Protocol):
    """One provider's route; errors leave it classified (`geode.llm.errors`)."""

    @property
    def provider(self) -> str:
        """The provider's name in the catalogue; keys `Message.opaque` and the wire caches."""
        ...

    async def warm_up(self) -> None:
        """Load what the first call needs, off the loop; harmless to repeat."""
        ...

    async def aclose(self) -> None:
        """Close the connections; a later call opens new ones."""
        ...

    async def acomplete(
        self, step: StepSnapshot, on_delta: Callable[[str], None] | None = None
    ) -> ModelReply:
        """Make one provider call and return its whole answer.

        Retries classified errors inside the configured limits and never beyond `step.deadline`.
        `on_delta` receives candidate text as it streams: progress only, never for delivery.
        """
        ...


@dataclass(frozen=True, slots=True)
class StepSnapshot:
    """Everything one provider call depends on, fixed before it is made."""

    model: str
    """The provider's own model id, without the provider part."""
    adapter: ModelAdapter
    plan: BoundToolPlan
    system: SystemPrompt
    messages: tuple[Message, ...]
    session_id: SessionId
    turn_id: TurnId
    step: int
    deadline: float
    """Monotonic seconds; the adapter's retries end before it."""
    output_tokens_max: int = 8192
    may_call_tools: bool = True
    """False in the last permitted round: the model must answer in text."""
    answer_schema: JsonObject | None = None
    """Not None: the answer is to be one JSON object of this schema, and no tool is offered."""
    pictures: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """The base64 of every picture in `messages`, by its SHA-256."""
    on_wait: Callable[[float], None] | None = field(default=None, compare=False, repr=False)
    """Told the seconds before each wait for the provider, so that the person sees one notice."""


class StopCause(StrEnum):
    """Why the provider stopped, in our words; anything unknown is treated as truncated."""

    END = "end"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    PAUSE = "pause"
    CONTEXT_WINDOW = "context_window"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens one or more calls used, as the provider reported them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True)
class Spend:
    """What some calls of one purpose used, as part of a turn."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_micro_usd: int | None = 0
    """None once a call had no known price."""

    def __add__(self, other: Spend) -> Spend:
        known, more = self.cost_micro_usd, other.cost_micro_usd
        cost = None if known is None or more is None else known + more
        return Spend(self.calls + other.calls, self.usage + other.usage, cost)

    def to_json(self) -> JsonObject:
        """The figures as JSON."""
        usage = self.usage
        return {
            "calls": self.calls,
            "usage": [
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
            ],
            "cost_micro_usd": self.cost_micro_usd,
        }

    @staticmethod
    def from_json(body: JsonObject) -> Spend:
        """What `to_json` wrote; nothing spent where nothing is written."""
        usage = Usage(*cast("list[int]", body.get("usage") or []))
        cost = cast("int | None", body.get("cost_micro_usd", 0))
        return Spend(cast("int", body.get("calls", 0)), usage, cost)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One whole answer of a provider."""

    message: Message
    stop: StopCause
    usage: Usage
    model: str
    cost_micro_usd: int | None = None
    """None when the catalogue has no price: unknown, not zero."""
