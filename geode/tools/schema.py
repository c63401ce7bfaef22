"""Builds the JSON Schema of a tool's arguments: closed objects with short descriptions."""

from __future__ import annotations

from geode.messages import JsonObject, JsonValue


def closed_object(required: tuple[str, ...] = (), **properties: JsonObject) -> JsonObject:
    """An object schema (2020-12) that allows exactly these properties."""
    names: list[JsonValue] = list(required)
    return {
        "type": "object",
        "properties": dict(properties),
        "required": names,
        "additionalProperties": False,
    }


def string(description: str, *, chars_max: int, chars_min: int = 0) -> JsonObject:
    """A bounded string."""
    return {
        "type": "string",
        "description": description,
        "minLength": chars_min,
        "maxLength": chars_max,
    }


def count(description: str) -> JsonObject:
    """A whole number from one up."""
    return {"type": "integer", "description": description, "minimum": 1}


def text_of(arguments: JsonObject, name: str, default: str = "") -> str:
    """A string argument; the schema has already been checked, so anything else is a bug."""
    value = arguments.get(name, default)
    assert isinstance(value, str)
    return value


def count_of(arguments: JsonObject, name: str) -> int | None:
    """An integer argument or None; JSON Schema also lets 2.0 pass as an integer."""
    value = arguments.get(name)
    if value is None:
        return None
    assert isinstance(value, int | float)
    return int(value)
