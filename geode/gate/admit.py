"""The steps before anything begins: scope, middleware, policy, schema; admitted or refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import orjson
import rfc8785

from geode.gate.policy import Allow, Ask, Deny, decide, find_tool
from geode.gate.schema import Fault, SchemaChecks
from geode.gate.trace import Answer, Stage, TraceStep
from geode.messages import JsonObject, ToolCall
from geode.steps import BoundToolPlan, DataClass, Effect, Tool, ToolContext

RequestMiddleware: TypeAlias = Callable[[ToolCall, ToolContext], ToolCall]
"""May give a call another name or other arguments; never a lower effect or data class."""

_EFFECTS = tuple(Effect)
_DATA_CLASSES = tuple(DataClass)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call that may run: what runs is this, not the proposal."""

    call: ToolCall
    tool: Tool
    context: ToolContext
    arguments: JsonObject
    arguments_text: str
    """Canonical JSON (RFC 8785), except of a read that asks nobody."""
    rule: str
    must_ask: bool = False
    trace: tuple[TraceStep, ...] = ()
    approval: str = ""
    """The approval that it takes when it begins; empty: it needs none."""
    action_hash: str = ""

    def pass_step(
        self, stage: Stage, rule: str, answer: Answer = "pass", note: str = ""
    ) -> Admitted:
        """The same call, one step further."""
        return replace(self, trace=(*self.trace, TraceStep(stage, answer, rule, note)))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call of which nothing has begun."""

    rule: str
    sentence: str
    trace: tuple[TraceStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Checks:
    """What every admission of a process shares."""

    schemas: SchemaChecks
    middleware: Sequence[RequestMiddleware] = ()


def admit(
    call: ToolCall,
    plan: BoundToolPlan,
    context: ToolContext,
    checks: Checks,
    approvers: Collection[str] = (),
) -> Admitted | Refusal:
    """Take one proposal through scope, middleware, policy and schema; nothing has begun."""
    tool = find_tool(plan, call.name)
    if isinstance(tool, Deny):
        return Refusal(tool.rule, tool.sentence, _end((), "scope", tool.rule))
    trace: tuple[TraceStep, ...] = (TraceStep("scope", "pass", "scope.in_plan"),)
    for change in checks.middleware:
        call = change(call, context)
    if checks.middleware:
        proposed, tool = tool, find_tool(plan, call.name)
        refusal = _check_downgrade(proposed, tool, trace)
        if refusal is not None or isinstance(tool, Deny):
            return refusal or _refuse_absent(tool, trace)
        trace = (*trace, TraceStep("middleware", "pass", "middleware.checked"))
    verdict = decide(plan, tool, context, approvers)
    if isinstance(verdict, Deny):
        return Refusal(verdict.rule, verdict.sentence, _end(trace, "policy", verdict.rule))
    trace = (*trace, TraceStep("policy", _answer_of(verdict), verdict.rule))
    return _check_arguments(call, tool, context, checks, trace)


def check_downgrade(before: Tool, after: Tool) -> bool:
    """Whether a rewrite from one tool to the other lowers what the call is judged by."""
    lowers_effect = _EFFECTS.index(after.policy.effect) < _EFFECTS.index(before.policy.effect)
    lowers_data = _DATA_CLASSES.index(after.policy.data_class) < _DATA_CLASSES.index(
        before.policy.data_class
    )
    return lowers_effect or lowers_data


def _check_downgrade(
    before: Tool, after: Tool | Deny, trace: tuple[TraceStep, ...]
) -> Refusal | None:
    if isinstance(after, Deny) or not check_downgrade(before, after):
        return None
    rule = "middleware.downgrade"
    sentence = f"Not run: a rewrite would have turned {before.name} into the lesser {after.name}."
    return Refusal(rule, sentence, _end(trace, "middleware", rule))


def _refuse_absent(absent: Tool | Deny, trace: tuple[TraceStep, ...]) -> Refusal:
    assert isinstance(absent, Deny), "a tool of the plan is not absent"
    return Refusal(absent.rule, absent.sentence, _end(trace, "middleware", absent.rule))


def _check_arguments(
    call: ToolCall,
    tool: Tool,
    context: ToolContext,
    checks: Checks,
    trace: tuple[TraceStep, ...],
) -> Admitted | Refusal:
    arguments = checks.schemas.read_arguments(call, tool)
    if isinstance(arguments, Fault):
        return Refusal(arguments.rule, arguments.sentence, _end(trace, "schema", arguments.rule))
    must_ask = trace[-1].answer == "ask"
    is_plain = tool.policy.effect is Effect.READ and not must_ask
    text = orjson.dumps(arguments).decode() if is_plain else write_canonical(arguments)
    if text is None:
        rule = "schema.not_canonical"
        sentence = "A number in the arguments is out of range."
        return Refusal(rule, sentence, _end(trace, "schema", rule))
    trace = (*trace, TraceStep("schema", "pass", "schema.valid"))
    return Admitted(call, tool, context, arguments, text, trace[-2].rule, must_ask, trace)


def write_canonical(arguments: JsonObject) -> str | None:
    """RFC 8785; None when a number has no canonical form."""
    try:
        return rfc8785.dumps(arguments).decode()
    except rfc8785.CanonicalizationError:
        return None


def _answer_of(verdict: Allow | Ask) -> Answer:
    return "ask" if isinstance(verdict, Ask) else "pass"


def _end(trace: tuple[TraceStep, ...], stage: Stage, rule: str) -> tuple[TraceStep, ...]:
    return (*trace, TraceStep(stage, "refuse", rule))
