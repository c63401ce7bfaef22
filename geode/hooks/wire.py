"""What a command hook reads and what it may answer: one JSON object each way; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

import orjson

from geode.errors import HookError
from geode.hooks.candidates import (
    Accept,
    Continue,
    Escalate,
    JudgedCandidate,
    PostVerify,
    PreVerify,
    Revise,
    ShownCandidate,
    Stop,
    Strengthen,
)
from geode.hooks.decisions import (
    AddContext,
    AskPerson,
    Block,
    EndedCall,
    Keep,
    PostToolUse,
    PreToolUse,
    Proceed,
    ProposedCall,
    Rewrite,
    Withhold,
)
from geode.hooks.events import LifecycleEvent
from geode.messages import JsonObject
from geode.settings_hooks import DecisionEvent

WIRE_VERSION = 1
ANSWER_BYTES_MAX = 65_536
"""A longer answer is nonsense."""
_NO_REASON = "it gave no reason"

Decision: TypeAlias = PreToolUse | PostToolUse | PreVerify | PostVerify | Stop


_FIELDS: Mapping[DecisionEvent, Mapping[str, frozenset[str]]] = {
    "PreToolUse": {
        "proceed": frozenset({"reason"}),
        "block": frozenset({"reason"}),
        "rewrite": frozenset({"reason", "arguments"}),
        "ask": frozenset({"reason"}),
    },
    "PermissionRequest": {
        "proceed": frozenset({"reason"}),
        "block": frozenset({"reason"}),
    },
    "PostToolUse": {
        "keep": frozenset({"reason"}),
        "add_context": frozenset({"reason", "text"}),
        "withhold": frozenset({"reason"}),
    },
    "PreVerify": {
        "proceed": frozenset({"reason"}),
        "require": frozenset({"reason", "requirements", "misses"}),
    },
    "PostVerify": {
        "proceed": frozenset({"reason"}),
        "accept": frozenset({"reason"}),
        "revise": frozenset({"reason"}),
        "escalate": frozenset({"reason"}),
    },
    "Stop": {
        "stop": frozenset({"reason"}),
        "continue": frozenset({"reason"}),
    },
}
"""The decisions of each event, and what may stand beside them."""


def describe_call(event: DecisionEvent, call: ProposedCall | EndedCall) -> bytes:
    """The object that a command hook reads on stdin."""
    proposed = call.proposed if isinstance(call, EndedCall) else call
    context = proposed.context
    about: JsonObject = {
        "v": WIRE_VERSION,
        "event": event,
        "tool": proposed.tool,
        "effect": proposed.effect,
        "data_class": proposed.data_class,
        "arguments": proposed.arguments,
        "session": context.session_id,
        "turn": context.turn_id,
        "step": context.step,
        "mode": context.mode,
        "binding": context.binding,
        "requesters": list(context.requesters),
    }
    if isinstance(call, EndedCall):
        about |= {"ending": call.ending, "text": call.text, "is_error": call.is_error}
    return orjson.dumps(about, option=orjson.OPT_APPEND_NEWLINE)


def describe_candidate(event: DecisionEvent, shown: ShownCandidate | JudgedCandidate) -> bytes:
    """The object that a command hook reads on stdin about an answer."""
    candidate = shown.candidate if isinstance(shown, JudgedCandidate) else shown
    about: JsonObject = {
        "v": WIRE_VERSION,
        "event": event,
        "request": candidate.request,
        "text": candidate.text,
        "reason": candidate.reason,
        "observations": [
            {
                "tool": each.tool,
                "text": each.text,
                "is_error": each.is_error,
                "is_personal": each.is_personal,
            }
            for each in candidate.observations
        ],
        "has_uncertain": candidate.has_uncertain,
        "attempt": candidate.attempt,
        "session": candidate.session_id,
        "turn": candidate.turn_id,
        "mode": candidate.mode,
        "binding": candidate.binding,
        "requesters": list(candidate.requesters),
    }
    if isinstance(shown, JudgedCandidate):
        about |= {
            "outcome": shown.outcome,
            "misses": list(shown.misses),
            "reflection": shown.reflection,
            "is_retry_worthwhile": shown.is_retry_worthwhile,
            "action": shown.action,
        }
    return orjson.dumps(about, option=orjson.OPT_APPEND_NEWLINE)


def describe_event(event: LifecycleEvent) -> bytes:
    """The object that an observing command reads on stdin."""
    about = {
        "v": WIRE_VERSION,
        "event": event.name,
        "session": event.session_id,
        "turn": event.turn_id,
        "body": event.body,
    }
    return orjson.dumps(about, option=orjson.OPT_APPEND_NEWLINE)


def read_answer(event: DecisionEvent, hook: str, answer: bytes) -> Decision:
    """The decision of a command hook; raises `HookError` for anything but one."""
    if len(answer) > ANSWER_BYTES_MAX:
        raise HookError(f"gave an answer that is longer than {ANSWER_BYTES_MAX} bytes")
    if not answer.strip():
        raise HookError("answered nothing")
    found = _read_object(answer)
    decision = found.pop("decision", None)
    allowed = _FIELDS[event].get(decision) if isinstance(decision, str) else None
    if allowed is None:
        raise HookError(f"gave an answer that holds no decision that {event} knows")
    if unknown := sorted(found.keys() - allowed):
        raise HookError(
            f"gave an answer that holds {unknown[0][:40]!r}, which {decision!r} does not have"
        )
    return _BUILDERS[cast("str", decision)](hook, found)


def _read_object(answer: bytes) -> JsonObject:
    try:
        text = answer.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
        orjson.dumps(value)  # refuses numbers and characters that nothing behind us could store
    except UnicodeDecodeError:
        raise HookError("gave an answer that is not UTF-8") from None
    except (ValueError, RecursionError, TypeError):
        raise HookError("gave an answer that is not one JSON value") from None
    if not isinstance(value, dict):
        raise HookError("gave an answer that is not a JSON object")
    return cast("JsonObject", value)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise HookError("gave an answer that holds a key twice")
    return found


def _refuse_constant(name: str) -> object:
    raise HookError(f"gave an answer that holds {name}, which is not JSON")


def _reason(found: JsonObject) -> str:
    reason = found.get("reason", "")
    if not isinstance(reason, str):
        raise HookError("gave an answer that holds a reason that is no text")
    return reason.strip() or _NO_REASON


def _rewrite(hook: str, found: JsonObject) -> Rewrite:
    _reason(found)
    arguments = found.get("arguments")
    if not isinstance(arguments, dict):
        raise HookError("gave an answer that rewrites the call without an object of arguments")
    return Rewrite(hook, cast("JsonObject", arguments))


def _add_context(hook: str, found: JsonObject) -> AddContext:
    text = found.get("text")
    if not isinstance(text, str) or not text.strip():
        raise HookError("gave an answer that adds no text")
    return AddContext(hook, text)


def _proceed(_hook: str, found: JsonObject) -> Proceed:
    _reason(found)
    return Proceed()


def _keep(_hook: str, found: JsonObject) -> Keep:
    _reason(found)
    return Keep()


def _accept(_hook: str, found: JsonObject) -> Accept:
    _reason(found)
    return Accept()


def _require(hook: str, found: JsonObject) -> Strengthen:
    _reason(found)
    reason = cast("str", found.get("reason", ""))
    return Strengthen(hook, _texts(found, "requirements"), _texts(found, "misses"), reason)


def _texts(found: JsonObject, key: str) -> tuple[str, ...]:
    texts = found.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise HookError(f"gave an answer whose {key} are no list of texts")
    return tuple(cast("list[str]", texts))


_BUILDERS: Mapping[str, Callable[[str, JsonObject], Decision]] = {
    "proceed": _proceed,
    "block": lambda hook, found: Block(hook, _reason(found)),
    "rewrite": _rewrite,
    "ask": lambda hook, found: AskPerson(hook, _reason(found)),
    "keep": _keep,
    "add_context": _add_context,
    "withhold": lambda hook, found: Withhold(hook, _reason(found)),
    "require": _require,
    "accept": _accept,
    "revise": lambda hook, found: Revise(hook, _reason(found)),
    "escalate": lambda hook, found: Escalate(hook, _reason(found)),
    "stop": _proceed,
    "continue": lambda hook, found: Continue(hook, _reason(found)),
}
