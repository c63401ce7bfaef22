"""Checks JSON against the types with which a client library itself spells a request; pure."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias, Union, cast

import typing_extensions as typing_more

Found: TypeAlias = "tuple[dict[str, Any], frozenset[str]]"
TAGS = ("type", "role")
"""What tells the members of a union apart."""
_PLAIN: dict[object, tuple[type, ...]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    bool: (bool,),
    type(None): (type(None),),
}


def find_request_fault(body: Mapping[str, Any], module: str, name: str) -> str:
    """The first place where the body is not what that type of the client library allows.

    Empty when it is; also when the library is not installed, and only our own rules can say.
    Fields that the type does not name are faults: the real APIs refuse them too.
    """
    shape = _load(module, name)
    return "" if shape is None else find_fault(body, shape)


@lru_cache(maxsize=16)
def _load(module: str, name: str) -> object | None:
    try:
        return cast("object", getattr(importlib.import_module(module), name))
    except ModuleNotFoundError:
        return None


def find_fault(value: object, hint: Any, where: str = "") -> str:
    """The first fault of a value under a type hint, as `place: what is wrong`, or nothing."""
    origin, arguments = typing_more.get_origin(hint), typing_more.get_args(hint)
    if origin in (typing_more.Required, typing_more.NotRequired, typing_more.Annotated):
        return find_fault(value, arguments[0], where)
    if origin in _BY_ORIGIN:
        return _BY_ORIGIN[origin](value, arguments, where)
    if typing_more.is_typeddict(hint):
        return _check_object(value, hint, where)
    return _check_plain(value, hint, where)


def _check_plain(value: object, hint: object, where: str) -> str:
    # What is not JSON (a file, a model of an answer) fits no value.
    if hint is Any or hint is object:
        return ""
    allowed = _PLAIN.get(hint, ())
    if isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool)):
        return ""
    return _say(where, f"Input should be a valid {getattr(hint, '__name__', hint)}")


def _check_literal(value: object, allowed: Sequence[Any], where: str) -> str:
    return "" if value in allowed else _say(where, f"Input should be one of {allowed}")


def _check_list(value: object, members: Sequence[Any], where: str) -> str:
    if not isinstance(value, list):
        return _say(where, "Input should be a valid list")
    items = cast("list[object]", value)
    faults = (find_fault(item, members[0], f"{where}.{place}") for place, item in enumerate(items))
    return next((fault for fault in faults if fault), "")


def _check_map(value: object, members: Sequence[Any], where: str) -> str:
    if not isinstance(value, dict):
        return _say(where, "Input should be a valid dictionary")
    pairs = cast("dict[str, object]", value).items()
    faults = (find_fault(item, members[1], f"{where}.{key}") for key, item in pairs)
    return next((fault for fault in faults if fault), "")


def _check_object(value: object, shape: object, where: str) -> str:
    if not isinstance(value, dict):
        return _say(where, "Input should be an object")
    given = cast("dict[str, object]", value)
    hints, required = _fields_of(shape)
    for key in sorted(required):
        if key not in given:
            return _say(f"{where}.{key}", "Field required")
    for key, item in given.items():
        if key not in hints:
            return _say(f"{where}.{key}", "Extra inputs are not permitted")
        if fault := find_fault(item, hints[key], f"{where}.{key}"):
            return fault
    return ""


def _check_union(value: object, members: Sequence[Any], where: str) -> str:
    given = cast("dict[str, object]", value) if isinstance(value, dict) else None
    left = [member for member in members if _may_be(given, member)]
    faults = [find_fault(cast("object", value), member, where) for member in left]
    if "" in faults:
        return ""
    # The deepest fault belongs to the member that fits best.
    best = max(faults, key=lambda fault: fault.partition(":")[0].count("."), default="")
    return best or _say(where, f"Input fits none of {len(members)} forms")


def _may_be(given: dict[str, object] | None, member: Any) -> bool:
    """Whether the tags of an object allow this member of a union."""
    if given is None:
        return True
    if not typing_more.is_typeddict(member):
        return not isinstance(member, type)  # no plain value and no model of an answer
    hints, required = _fields_of(member)
    for tag in TAGS:
        if tag not in given:
            if tag in required:
                return False
        elif tag not in hints or find_fault(given[tag], hints[tag]):
            return False
    return True


@lru_cache(maxsize=1024)
def _fields_of(shape: object) -> Found:
    """The hints of a typed dictionary, and which of its keys must be there."""
    typed = cast("Any", shape)
    hints = typing_more.get_type_hints(typed, include_extras=True)
    origins = {key: typing_more.get_origin(hint) for key, hint in hints.items()}
    written = {key for key, origin in origins.items() if origin is typing_more.Required}
    optional = {key for key, origin in origins.items() if origin is typing_more.NotRequired}
    return hints, frozenset((written | set(typed.__required_keys__)) - optional)


_BY_ORIGIN: dict[object, Callable[[object, Sequence[Any], str], str]] = {
    Union: _check_union,
    types.UnionType: _check_union,
    Literal: _check_literal,
    list: _check_list,
    Iterable: _check_list,
    Sequence: _check_list,
    dict: _check_map,
    Mapping: _check_map,
}


def _say(where: str, what: str) -> str:
    return f"{where.lstrip('.') or 'body'}: {what}"
