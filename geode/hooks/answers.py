"""Judges what a hook answered: a decision of its event in our own types, or a failure; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import orjson

from geode.errors import HookError
from geode.hooks.decisions import (
    AddContext,
    AskPerson,
    Block,
    Keep,
    PostToolUse,
    PreToolUse,
    Proceed,
    Rewrite,
    Withhold,
)
from geode.messages import JsonObject
from geode.settings_hooks import DecisionEvent
from geode.tools.output import cap_text, escape_controls

REASON_BYTES_MAX = 800
CONTEXT_BYTES_MAX = 4_000
"""What one hook may add to one result."""

_STRICT = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_KNOWN: Mapping[DecisionEvent, tuple[type, ...]] = {
    "PreToolUse": (Proceed, Block, Rewrite, AskPerson),
    "PermissionRequest": (Proceed, Block),
    "PostToolUse": (Keep, AddContext, Withhold),
}


def judge_answer(event: DecisionEvent, hook: str, answer: object) -> PreToolUse | PostToolUse:
    """The decision under the hook's own name, its texts bounded and its arguments copied.

    Raises `HookError` for what is no decision of the event.
    """
    if type(answer) not in _KNOWN[event]:
        raise HookError(f"answered with something that is no decision of {event}")
    match cast("PreToolUse | PostToolUse", answer):
        case Block(reason=reason):
            return Block(hook, _bound(reason, REASON_BYTES_MAX))
        case Withhold(reason=reason):
            return Withhold(hook, _bound(reason, REASON_BYTES_MAX))
        case AskPerson(reason=reason, arguments=arguments):
            copied = None if arguments is None else copy_arguments(arguments)
            return AskPerson(hook, _bound(reason, REASON_BYTES_MAX), copied)
        case Rewrite(arguments=arguments):
            return Rewrite(hook, copy_arguments(arguments))
        case AddContext(text=text):
            return AddContext(hook, _bound(text, CONTEXT_BYTES_MAX))
        case Proceed() | Keep() as plain:
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


def _bound(text: object, bytes_max: int) -> str:
    if not isinstance(text, str):
        raise HookError("answered with a reason that is no text")
    return escape_controls(cap_text(text.strip(), bytes_max))
