"""Judges what a hook answered: a decision of its event in our own types, or a failure; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

import orjson

from geode.errors import HookError
from geode.hooks.candidates import (
    Accept,
    Continue,
    Escalate,
    Revise,
    Strengthen,
)
from geode.hooks.decisions import (
    AddContext,
    AskPerson,
    Block,
    Keep,
    Proceed,
    Rewrite,
    Withhold,
)
from geode.hooks.wire import Decision
from geode.messages import JsonObject
from geode.settings_hooks import DecisionEvent
from geode.tools.output import cap_text, escape_controls

REASON_BYTES_MAX = 800
CONTEXT_BYTES_MAX = 4_000
"""What one hook may add to one result."""
REQUIREMENTS_MAX = 8
REQUIREMENT_BYTES_MAX = 800
"""A longer one is nonsense: a part of it could ask for something else."""
MISSES_MAX = 8

_MISS = re.compile(r"[a-z][a-z0-9_]{0,63}")
_STRICT = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_KNOWN: Mapping[DecisionEvent, tuple[type, ...]] = {
    "PreToolUse": (Proceed, Block, Rewrite, AskPerson),
    "PermissionRequest": (Proceed, Block),
    "PostToolUse": (Keep, AddContext, Withhold),
    "PreVerify": (Proceed, Strengthen),
    "PostVerify": (Proceed, Accept, Revise, Escalate),
    "Stop": (Proceed, Continue),
}


def judge_answer(event: DecisionEvent, hook: str, answer: object) -> Decision:
    """The decision under the hook's own name, its texts bounded and its arguments copied.

    Raises `HookError` for what is no decision of the event.
    """
    if type(answer) not in _KNOWN[event]:
        raise HookError(f"answered with something that is no decision of {event}")
    match cast("Decision", answer):
        case Block() | Withhold() | Revise() | Escalate() | Continue() as said:
            return type(said)(hook, _bound(said.reason, REASON_BYTES_MAX))
        case AskPerson(reason=reason, arguments=arguments):
            copied = None if arguments is None else copy_arguments(arguments)
            return AskPerson(hook, _bound(reason, REASON_BYTES_MAX), copied)
        case Rewrite(arguments=arguments):
            return Rewrite(hook, copy_arguments(arguments))
        case AddContext(text=text):
            return AddContext(hook, _bound(text, CONTEXT_BYTES_MAX))
        case Strengthen() as added:
            return _bound_strengthen(hook, added)
        case Proceed() | Keep() | Accept() as plain:
            return plain


def copy_arguments(arguments: object) -> JsonObject:
    """A copy that nobody else holds; raises `HookError` for what is no JSON object."""
    try:
        copied = orjson.loads(orjson.dumps(arguments, option=_STRICT))
    except (TypeError, ValueError, RecursionError):
        copied = None
    if not isinstance(copied, dict):
        raise HookError("answered with arguments that are no JSON object")
    return cast("JsonObject", copied)


def is_same(left: JsonObject, right: JsonObject) -> bool:
    """Whether both are the same JSON: `1` and `true`, equal in Python, are not."""
    try:
        first, second = (orjson.dumps(each, option=orjson.OPT_SORT_KEYS) for each in (left, right))
    except TypeError:
        return False
    return first == second


def _bound_strengthen(hook: str, added: Strengthen) -> Strengthen:
    requirements = tuple(
        _check_requirement(each) for each in _few(added.requirements, REQUIREMENTS_MAX)
    )
    misses = tuple(_check_miss(each) for each in _few(added.misses, MISSES_MAX))
    if not requirements and not misses:
        raise HookError("answered with neither a requirement nor a miss")
    return Strengthen(hook, requirements, misses, _bound(added.reason, REASON_BYTES_MAX))


def _few(texts: object, count_max: int) -> tuple[object, ...]:
    if not isinstance(texts, tuple | list):
        raise HookError("answered with requirements or misses that are no list")
    found = cast("tuple[object, ...] | list[object]", texts)
    if len(found) > count_max:
        raise HookError(f"answered with more than {count_max} requirements or misses")
    return tuple(found)


def _check_requirement(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise HookError("answered with a requirement that is no text")
    if len(text.encode("utf-8", "replace")) > REQUIREMENT_BYTES_MAX:
        raise HookError(f"answered with a requirement longer than {REQUIREMENT_BYTES_MAX} bytes")
    return _bound(text, REQUIREMENT_BYTES_MAX * 4)


def _check_miss(code: object) -> str:
    if not isinstance(code, str) or _MISS.fullmatch(code) is None:
        raise HookError("answered with a miss that is no code word such as no_source_link")
    return code


def _bound(text: object, bytes_max: int) -> str:
    if not isinstance(text, str):
        raise HookError("answered with a reason that is no text")
    return escape_controls(cap_text(text.strip(), bytes_max))
