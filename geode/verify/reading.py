"""Reads what a judge answered: one whole, coherent verdict, or no verdict at all; pure."""

from __future__ import annotations

from typing import cast

from geode.gate.schema import compile_check
from geode.llm.arguments import parse_call
from geode.messages import JsonObject
from geode.steps import ModelReply, Spend, StopCause
from geode.verify.judge import JudgeFault, Judgement, JudgeOutcome, find_no_verdict
from geode.verify.rubric import VERDICT_SCHEMA

MISSES_MAX = 12
MISS_CHARS_MAX = 400
REFLECTION_CHARS_MAX = 2_000

_find_fault = compile_check(VERDICT_SCHEMA)


def read_verdict(reply: ModelReply) -> Judgement:
    """The verdict of a reply, with what it cost.

    Misses beside `passed`, or a failure without any reason, contradict themselves and are no
    verdict: what is unclear passes nothing. The words of a reply that is none are not repeated.
    """
    spend = Spend(1, reply.usage, reply.cost_micro_usd)
    if reply.stop is StopCause.REFUSAL:
        return find_no_verdict(JudgeFault.REFUSED, spend=spend)
    if reply.stop is not StopCause.END or reply.message.calls:
        return find_no_verdict(JudgeFault.MALFORMED, "It was not whole.", spend)
    body = _read_object(reply.message.text)
    if body is None:
        return find_no_verdict(JudgeFault.MALFORMED, spend=spend)
    found = _read_body(body, spend)
    return found or find_no_verdict(JudgeFault.MALFORMED, "It contradicts itself.", spend)


def _read_object(text: str) -> JsonObject | None:
    """One JSON object of the schema and nothing around it, no key of it twice."""
    body = parse_call("", "verdict", text).arguments
    return body if body is not None and _find_fault(body) is None else None


def _read_body(body: JsonObject, spend: Spend) -> Judgement | None:
    told = [_clip(text, MISS_CHARS_MAX) for text in cast("list[str]", body["rubric_misses"])]
    misses = tuple(text for text in told if text)[:MISSES_MAX]
    reflection = _clip(cast("str", body["reflection"]), REFLECTION_CHARS_MAX)
    if body["passed"]:
        return None if misses else Judgement(JudgeOutcome.PASSED, (), reflection, spend=spend)
    misses = misses or ((_clip(reflection, MISS_CHARS_MAX),) if reflection else ())
    if not misses:
        return None
    worthwhile = bool(body["retry_worthwhile"])
    return Judgement(JudgeOutcome.FAILED, misses, reflection, worthwhile, spend)


def _clip(text: str, chars_max: int) -> str:
    text = text.strip()
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"
