"""Typed reading of untrusted JSON: a wrong shape reads as empty, never as an exception."""

from __future__ import annotations

from typing import cast

from geode.messages import JsonObject, JsonValue


def text_of(source: JsonObject, name: str) -> str:
    """The string at `name`, or an empty one; numbers are not turned into text.

    JSON may hold half of a character (a lone surrogate), which no database takes: it is replaced.
    """
    value = source.get(name)
    return mend_text(value) if isinstance(value, str) else ""


def mend_text(value: str) -> str:
    """The text with whole characters only."""
    if value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def object_of(source: JsonObject, name: str) -> JsonObject:
    """The object at `name`, or an empty one."""
    value = source.get(name)
    return value if isinstance(value, dict) else {}


def list_of(source: JsonObject, name: str) -> list[JsonValue]:
    """The array at `name`, or an empty one."""
    value = source.get(name)
    return value if isinstance(value, list) else []


def objects_of(source: JsonObject, name: str) -> list[JsonObject]:
    """The objects of the array at `name`; other elements are left out."""
    return [item for item in list_of(source, name) if isinstance(item, dict)]


def int_of(source: JsonObject, name: str, default: int = 0) -> int:
    """The whole number at `name`, also when it came as digits in a form."""
    value = source.get(name)
    if isinstance(value, bool):
        return default
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return default


def is_true(source: JsonObject, name: str) -> bool:
    """Whether `name` is true, also as a form spells it."""
    return source.get(name) in (True, "true", "True", "1", 1)


def to_object(value: object) -> JsonObject:
    """A decoded JSON value as an object; anything else is an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}
