"""A provider's argument text becomes one JSON object, or a fault that the model can read; pure."""

from __future__ import annotations

import json
from typing import cast

import orjson

from geode.messages import JsonObject, ToolCall

RAW_CHARS_MAX = 800
"""How much of unreadable text is kept and shown."""
TEXT_CHARS_MAX = 4_000_000
"""Longer argument texts are not parsed."""


class _FaultError(ValueError):
    """The text is not one JSON object; the message says why."""


def parse_call(call_id: str, name: str, text: str) -> ToolCall:
    """A call with its arguments, or with `arguments=None`, the text's start and the fault.

    Text without a character counts as `{}`: some providers stream nothing for a call without
    arguments, and a tool with required fields refuses it by its schema.
    """
    if not text.strip():
        return ToolCall(call_id, name, {})
    try:
        return ToolCall(call_id, name, _parse_object(text))
    except _FaultError as error:
        fault = str(error)
    return ToolCall(call_id, name, None, raw=text[:RAW_CHARS_MAX], fault=fault)


def _parse_object(text: str) -> JsonObject:
    if len(text) > TEXT_CHARS_MAX:
        raise _FaultError(f"The arguments are longer than {TEXT_CHARS_MAX} characters.")
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _FaultError(
            f"The arguments are not valid JSON: {error.msg} at character {error.pos}."
        ) from error
    except RecursionError as error:
        raise _FaultError("The arguments are nested too deeply.") from error
    except _FaultError:
        raise
    except ValueError as error:
        raise _FaultError("The arguments hold a number that is too long.") from error
    if not isinstance(value, dict):
        raise _FaultError(f"The arguments are {_kind(value)}, not a JSON object.")
    arguments = cast("JsonObject", value)
    try:
        orjson.dumps(arguments)
    except TypeError as error:
        raise _FaultError(f"The arguments cannot be stored: {error}.") from error
    return arguments


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _FaultError(f'The arguments hold the key "{twice[:80]}" twice.')
    return found


def _refuse_constant(name: str) -> object:
    raise _FaultError(f"The arguments hold {name}, which is not JSON.")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "an array"
    return "a string" if isinstance(value, str) else "a single value"
