"""Steps, plans and messages for tests that call a model adapter directly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from geode.messages import (
    Block,
    JsonObject,
    Message,
    Mode,
    SessionId,
    Text,
    ToolCall,
    ToolResult,
    TurnId,
)
from geode.steps import (
    BoundToolPlan,
    DataClass,
    Done,
    Effect,
    ModelAdapter,
    SafetyPolicy,
    StepSnapshot,
    SystemPrompt,
    Tool,
    ToolContext,
)

MODEL = "claude-opus-5-5"


async def _do_nothing(context: ToolContext, arguments: JsonObject) -> Done:
    return Done("done")


def make_tool(name: str, properties: JsonObject | None = None) -> Tool:
    """A read tool with string properties, all required."""
    fields: JsonObject = properties or {"city": {"type": "string"}}
    schema: JsonObject = {"type": "object", "properties": fields, "required": list(fields)}
    policy = SafetyPolicy(Effect.READ, DataClass.PUBLIC, "none", frozenset(Mode))
    return Tool(name, f"About {name}.", schema, policy, _do_nothing)


def make_plan(*names: str) -> BoundToolPlan:
    """A plan of read tools."""
    return BoundToolPlan(tuple(make_tool(name) for name in names))


def user(*texts: str) -> Message:
    """A person's message, one text block each."""
    return Message("user", tuple(Text(text) for text in texts))


def assistant(*blocks: Block | str, provider: str = "", opaque: bytes = b"") -> Message:
    """A model's message; strings are text blocks."""
    made = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
    return Message("assistant", made, provider=provider, opaque=opaque)


def results(*rows: tuple[str, str] | ToolResult) -> Message:
    """A tool message, each result as (call id, text) or ready-made."""
    return Message("tool", tuple(r if isinstance(r, ToolResult) else ToolResult(*r) for r in rows))


def proposed(call_id: str, name: str = "weather", **arguments: Any) -> ToolCall:
    """A proposed call."""
    return ToolCall(call_id, name, dict(arguments))


def make_step(
    adapter: ModelAdapter,
    messages: Sequence[Message] | str = "hello",
    *,
    plan: BoundToolPlan | None = None,
    system: SystemPrompt | None = None,
    deadline: float = math.inf,
    on_wait: Callable[[float], None] | None = None,
    **changes: Any,
) -> StepSnapshot:
    """A step of session s1, turn t1; text stands for one user message."""
    return StepSnapshot(
        model=changes.pop("model", MODEL),
        adapter=adapter,
        plan=plan if plan is not None else BoundToolPlan(()),
        system=system or SystemPrompt("You are Geode.", "Today is Monday."),
        messages=(user(messages),) if isinstance(messages, str) else tuple(messages),
        session_id=SessionId("s1"),
        turn_id=TurnId("t1"),
        step=changes.pop("step", 1),
        deadline=deadline,
        on_wait=on_wait,
        **changes,
    )
