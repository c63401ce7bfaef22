"""The part of JSON Schema in which the Messages API lets a caller shape an answer; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator, SchemaError

WHERE = "output_config.format.schema"
KEYWORDS = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const"),
        *("anyOf", "allOf", "$ref", "$defs", "description", "title", "default"),
        *("format", "minItems"),
    }
)
"""Limits of numbers, lengths and counts are not among them; `minItems` is, up to 1."""


def find_format_fault(wanted: Mapping[str, Any] | None) -> str:
    """The first thing about the wanted form that the API refuses, or an empty string."""
    if wanted is None:
        return ""
    schema = wanted.get("schema")
    try:
        Draft202012Validator.check_schema(cast("Any", schema))
    except SchemaError as error:
        return f"{WHERE}: {error.message}"
    return _find_fault(schema, WHERE)


def _find_fault(schema: object, where: str) -> str:
    if not isinstance(schema, dict):
        return f"{where}: must be an object"
    node = cast("dict[str, Any]", schema)
    if unknown := sorted(node.keys() - KEYWORDS):
        return f"{where}: property '{unknown[0]}' is not supported"
    if node.get("minItems", 0) not in (0, 1):
        return f"{where}: minItems must be 0 or 1"
    if node.get("type") == "object" and node.get("additionalProperties") is not False:
        return f"{where}: additionalProperties must be explicitly set to false"
    inner = {f"{where}.{key}": each for key, each in node.get("properties", {}).items()}
    inner |= {f"{where}.{key}": each for key, each in node.get("$defs", {}).items()}
    inner |= {f"{where}.items": node["items"]} if "items" in node else {}
    for key in ("anyOf", "allOf"):
        inner |= {f"{where}.{key}.{n}": each for n, each in enumerate(node.get(key, []))}
    faults = (_find_fault(each, place) for place, each in inner.items())
    return next((fault for fault in faults if fault), "")
