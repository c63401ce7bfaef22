"""Why a past call was allowed or refused: its steps in words, what would change it, what is now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from geode.gate.policy import Allow, Ask, Deny, Verdict
from geode.gate.rules import explain_rule
from geode.messages import JsonObject, JsonValue, Mode
from geode.settings import Settings
from geode.store.calls import StoredCall, TracedStep

DecideNow: TypeAlias = Callable[[str, Mode, str], Verdict]
"""What the policy says now of a tool by its name, in a mode, under the binding of that key."""

ANSWERS = {"pass": "passed", "ask": "asks", "rewrite": "rewritten", "refuse": "refused"}
_BY_POLICY = frozenset({"scope", "policy"})
_NO_APPROVER = "ask.no_approver"
NO_PROFILE = "NAME"


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Under what a call's session runs, by the present settings."""

    binding: str
    profile: str
    mode: Mode
    is_child: bool = False
    """Its tools came from the turn that began it, and are not decided again."""


@dataclass(frozen=True, slots=True)
class StepTold:
    """One step with what its rule means."""

    stage: str
    answer: str
    rule: str
    note: str
    means: str


@dataclass(frozen=True, slots=True)
class CallTold:
    """Everything there is to say about one call."""

    call: StoredCall
    steps: tuple[StepTold, ...]
    change: str
    """What would have made it another answer; empty for a call that was allowed."""
    now: str
    """What the present settings would decide otherwise; empty: nothing, or nobody can say."""


def place_of(settings: Settings, binding: str, mode: Mode, *, is_child: bool) -> CallPlace:
    """The place of a session that runs under that binding."""
    known = next((each for each in settings.bindings if each.key == binding), None)
    return CallPlace(binding, known.profile if known else NO_PROFILE, mode, is_child)


def tell_call(call: StoredCall, place: CallPlace, decide_now: DecideNow | None) -> CallTold:
    """Put a call into words; pure but for what `decide_now` looks at."""
    steps = call.trace or (_only_step(call),)
    told = tuple(
        StepTold(s.stage, ANSWERS.get(s.answer, s.answer), s.rule, s.note, _means(s.rule))
        for s in steps
    )
    change = _fill(explain_rule(call.rule).change, call, place) if call.is_refused else ""
    now = ""
    if decide_now is not None and not place.is_child:
        now = _compare(call, decide_now(call.tool, place.mode, place.binding))
    return CallTold(call, told, change, now)


def told_to_json(told: CallTold) -> JsonObject:
    """As the control socket carries it, arguments included."""
    call = told.call
    steps: list[JsonValue] = [
        {"stage": s.stage, "answer": s.answer, "rule": s.rule, "note": s.note, "means": s.means}
        for s in told.steps
    ]
    return {
        **call_to_json(call),
        "arguments": call.arguments,
        "steps": steps,
        "change": told.change,
        "now": told.now,
    }


def call_to_json(call: StoredCall) -> JsonObject:
    """One line about a call."""
    return {
        "id": call.name,
        "session": call.session_id,
        "operation": call.operation,
        "tool": call.tool,
        "at_us": call.at_us,
        "answer": "refused" if call.is_refused else "allowed",
        "rule": call.rule,
        "reason": call.reason,
        "ending": call.ending,
    }


def _only_step(call: StoredCall) -> TracedStep:
    return TracedStep("", "refuse" if call.is_refused else "pass", call.rule, "")


def _means(rule: str) -> str:
    return explain_rule(rule).means


def _fill(change: str, call: StoredCall, place: CallPlace) -> str:
    return change.format(tool=call.tool, profile=place.profile, binding=place.binding)


def _compare(call: StoredCall, verdict: Verdict) -> str:
    """Empty when the present answer is the one of then."""
    answer, rule = _answer_of(verdict)
    then_answer, then_rule = _answer_then(call)
    if answer == then_answer and (answer != "refuse" or rule == then_rule):
        return ""
    outcome = {"pass": "allowed", "ask": "put to a person", "refuse": "refused"}[answer]
    return f"it would be {outcome} now (`{rule}`): {_means(rule)}."


def _answer_of(verdict: Verdict) -> tuple[str, str]:
    match verdict:
        case Allow():
            return "pass", verdict.rule
        case Ask():
            return "ask", verdict.rule
        case Deny():
            return "refuse", verdict.rule


def _answer_then(call: StoredCall) -> tuple[str, str]:
    """What scope and policy said then; a question that nobody could answer is a refusal."""
    if call.is_refused and call.rule == _NO_APPROVER:
        return "refuse", call.rule
    decided = [step for step in call.trace if step.stage in _BY_POLICY]
    if decided:
        return decided[-1].answer, decided[-1].rule
    by_policy = call.is_refused and call.rule.partition(".")[0] in _POLICY_FAMILIES
    return ("refuse", call.rule) if by_policy else ("pass", call.rule)


_POLICY_FAMILIES = frozenset({"scope", "mode", "profile", "policy", "catalogue"})
