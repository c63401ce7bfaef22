"""The steps before anything begins: scope, policy, schema; a call leaves admitted or refused."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

import orjson
import rfc8785

from geode.gate.policy import Ask, Deny, decide, deny_unapproved, find_tool
from geode.gate.schema import Fault, SchemaChecks
from geode.messages import JsonObject, ToolCall
from geode.steps import BoundToolPlan, Effect, Tool, ToolContext
from geode.store.receipts import Intent


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call that may run: what runs is this, not the proposal."""

    call: ToolCall
    tool: Tool
    context: ToolContext
    arguments: JsonObject
    arguments_text: str
    rule: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call of which nothing has begun."""

    rule: str
    sentence: str


def admit(
    call: ToolCall,
    plan: BoundToolPlan,
    context: ToolContext,
    checks: SchemaChecks,
    approvers: Collection[str] = (),
) -> Admitted | Refusal:
    """Take one proposal through scope, policy and schema; total, and nothing has begun."""
    tool = find_tool(plan, call.name)
    if isinstance(tool, Deny):
        return Refusal(tool.rule, tool.sentence)
    verdict = decide(plan, tool, context, approvers)
    if isinstance(verdict, Ask):
        # Nobody can be asked yet, so every question is answered with no.
        verdict = deny_unapproved(tool.name)
    if isinstance(verdict, Deny):
        return Refusal(verdict.rule, verdict.sentence)
    arguments = checks.read_arguments(call, tool)
    if isinstance(arguments, Fault):
        return Refusal(arguments.rule, arguments.sentence)
    text = _canonical_text(arguments, tool.policy.effect)
    if text is None:
        return Refusal("schema.not_canonical", "A number in the arguments is out of range.")
    return Admitted(call, tool, context, arguments, text, verdict.rule)


def intent_of(admitted: Admitted, keys: tuple[str, ...]) -> Intent:
    """What the receipt says before the effect begins."""
    context = admitted.context
    return Intent(
        id=context.operation_id,
        session_id=context.session_id,
        turn_id=context.turn_id,
        step=context.step,
        position=context.position,
        epoch=context.epoch,
        binding=context.binding,
        mode=context.mode,
        tool=admitted.tool.name,
        effect=admitted.tool.policy.effect,
        call_id=admitted.call.call_id,
        arguments=admitted.arguments_text,
        arguments_hash=hashlib.sha256(admitted.arguments_text.encode()).hexdigest(),
        keys=keys,
    )


def _canonical_text(arguments: JsonObject, effect: Effect) -> str | None:
    if effect is Effect.READ:
        return orjson.dumps(arguments).decode()
    try:
        return rfc8785.dumps(arguments).decode()
    except rfc8785.CanonicalizationError:
        return None
