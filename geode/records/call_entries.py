"""Timeline entries of tool calls: what was proposed, what became of it; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from geode.messages import JsonValue, ToolCall
from geode.steps import ToolContext
from geode.store.timeline import TimelineEntry

SHOWN_CHARS_MAX = 2000
"""How much of arguments and reasons an entry keeps; the conversation keeps all of it."""


class CallStep(Protocol):
    """One step of a call through the gate, as an entry keeps it."""

    @property
    def stage(self) -> str:
        """Which step."""
        ...

    @property
    def answer(self) -> str:
        """What it came to: pass, ask, rewrite or refuse."""
        ...

    @property
    def rule(self) -> str:
        """The id of the rule that answered."""
        ...

    @property
    def note(self) -> str:
        """A few words for people."""
        ...


CallEnding: TypeAlias = Literal[
    "done",
    "applied_with_error",
    "not_applied",
    "failed",
    "uncertain",
    "repeated",
    "interrupted",
    "reconciled",
]


def entry_of_call(
    call: ToolCall,
    context: ToolContext,
    *,
    effect: str,
    rule: str,
    arguments: str,
    trace: Sequence[CallStep] = (),
) -> TimelineEntry:
    """A call that may run."""
    return TimelineEntry(
        "tool_call",
        {
            "operation": context.operation_id,
            "call_id": call.call_id,
            "tool": call.name,
            "effect": effect,
            "rule": rule,
            "arguments": arguments[:SHOWN_CHARS_MAX],
            "trace": _trace(trace),
        },
        context.turn_id,
    )


def entry_of_refusal(
    call: ToolCall,
    context: ToolContext,
    *,
    rule: str,
    reason: str,
    trace: Sequence[CallStep] = (),
) -> TimelineEntry:
    """A call of which nothing has begun."""
    return TimelineEntry(
        "tool_refused",
        {
            "operation": context.operation_id,
            "call_id": _clean(call.call_id),
            "tool": _clean(call.name),
            "rule": rule,
            "reason": _clean(reason),
            "trace": _trace(trace),
        },
        context.turn_id,
    )


def entry_of_outcome(
    call: ToolCall,
    context: ToolContext,
    *,
    ending: CallEnding,
    text: str = "",
    elapsed_ms: int = 0,
    trace: Sequence[CallStep] = (),
) -> TimelineEntry:
    """What a call came to; `text` is kept for errors only, results are in the conversation."""
    return TimelineEntry(
        "tool_outcome",
        {
            "operation": context.operation_id,
            "call_id": call.call_id,
            "tool": call.name,
            "ending": ending,
            "text": text[:SHOWN_CHARS_MAX],
            "elapsed_ms": elapsed_ms,
            **({"trace": _trace(trace)} if trace else {}),
        },
        context.turn_id,
    )


def _trace(steps: Sequence[CallStep]) -> list[JsonValue]:
    return [[step.stage, step.answer, step.rule, _clean(step.note[:200])] for step in steps]


def _clean(text: str) -> str:
    return text[:SHOWN_CHARS_MAX].encode("utf-8", "replace").decode()
