"""Another server's JSON Schema, made plain and bounded: what checking it costs is known; pure.

A schema of a few lines may cost without end to check: references that double at every step,
patterns that try every way through a text. So references are followed here, once, and patterns are
told to the model instead of being run; the server still checks its own arguments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from geode.errors import McpSchemaError
from geode.mcp.words import FIELD_CHARS_MAX, clean_words, is_seen
from geode.messages import JsonObject, JsonValue

NODES_MAX = 2_000
DEPTH_MAX = 24
BYTES_MAX = 48_000
NAME_CHARS_MAX = 128
PLACE_DIGITS_MAX = 6

_SCHEMA_MAPS = frozenset({"properties", "dependentSchemas"})
_SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
)
_NOT_MONOTONE = frozenset({"not", "if"})
"""Below these a looser schema would refuse more, so they go when something below was loosened."""
_PLAIN = frozenset(
    {
        *("type", "required", "enum", "const", "format", "default", "uniqueItems", "multipleOf"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"),
        *("minItems", "maxItems", "minProperties", "maxProperties", "dependentRequired"),
        *("minContains", "maxContains", "readOnly", "deprecated"),
    }
)
_SILENT = frozenset(
    {
        *("$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "examples"),
        *("writeOnly", "contentMediaType", "contentEncoding", "$ref"),
    }
)
"""Keywords that go and that refuse nothing."""
_FOREIGN = frozenset({"$dynamicRef", "$recursiveRef"})


def make_plain(schema: JsonObject) -> JsonObject:
    """The same schema without references, patterns or unseen characters.

    It allows at least what the given one allows. Raises `McpSchemaError` with the reason.
    """
    plain = _Plainer(schema).run()
    try:
        text = json.dumps(plain, allow_nan=False)
    except ValueError:
        raise McpSchemaError("its schema has a number that is none") from None
    if len(text) > BYTES_MAX:
        raise McpSchemaError(f"its schema has more than {BYTES_MAX:,} bytes")
    try:
        Draft202012Validator.check_schema(cast("Mapping[str, object]", plain))
    except (SchemaError, RecursionError) as error:
        reason = clean_words(str(error), FIELD_CHARS_MAX).split("\n")[0]
        raise McpSchemaError(f"its schema is not valid JSON Schema 2020-12 ({reason})") from None
    return plain


class _Plainer:
    """Walks one schema once, along its references."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._nodes = 0
        self._loosened = 0

    def run(self) -> JsonObject:
        plain = self._walk(self._root, 0, ())
        if not isinstance(plain, dict) or plain.get("type", "object") != "object":
            raise McpSchemaError("its arguments are not a JSON object")
        plain["type"] = "object"
        known = plain.setdefault("properties", {})
        assert isinstance(known, dict)
        # The gate knows the arguments that stand at the top; those of alternatives belong there.
        for key in ("allOf", "anyOf", "oneOf"):
            branches = plain.get(key)
            for branch in branches if isinstance(branches, list) else []:
                below = branch.get("properties") if isinstance(branch, dict) else None
                for name in below if isinstance(below, dict) else {}:
                    known.setdefault(name, {})
        return plain

    def _walk(self, node: JsonValue, depth: int, along: tuple[str, ...]) -> JsonValue:
        self._nodes += 1
        if self._nodes > NODES_MAX or depth > DEPTH_MAX:
            raise McpSchemaError(
                f"its schema is too large when its references are followed "
                f"(more than {NODES_MAX:,} parts or {DEPTH_MAX} levels)"
            )
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            raise McpSchemaError("its schema is not valid JSON Schema 2020-12")
        reference = node.get("$ref")
        own = self._keywords(node, depth, along)
        if reference is None:
            return own
        target = self._follow(reference, depth, along)
        if not own.keys() - {"description", "default"} and isinstance(target, dict):
            return {**target, **own}
        return {"allOf": [target], **own}

    def _follow(self, reference: JsonValue, depth: int, along: tuple[str, ...]) -> JsonValue:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise McpSchemaError("its schema refers to another document")
        if reference in along:
            self._loosened += 1
            return {"description": "(of the same form as what contains it)"}
        return self._walk(self._find(reference), depth + 1, (*along, reference))

    def _find(self, reference: str) -> JsonValue:
        node: JsonValue = self._root
        for part in reference.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and _is_place(key) and int(key) < len(node):
                node = node[int(key)]
            else:
                raise McpSchemaError("its schema refers to a part that it does not have")
        return node

    def _keywords(self, node: JsonObject, depth: int, along: tuple[str, ...]) -> JsonObject:
        if not node.keys().isdisjoint(_FOREIGN):
            raise McpSchemaError("its schema uses dynamic references")
        plain: JsonObject = {}
        for key, value in _modern(node).items():
            before = self._loosened
            kept = self._keyword(key, value, depth, along)
            if self._loosened > before and key in _NOT_MONOTONE:
                continue
            if kept is not None:
                plain["anyOf" if key == "oneOf" and self._loosened > before else key] = kept
        if "patternProperties" in node:
            self._loosened += 1
            plain.pop("additionalProperties", None)
        if "if" not in plain:
            plain.pop("then", None)
            plain.pop("else", None)
        self._tell_pattern(node, plain)
        return plain

    def _keyword(self, key: str, value: JsonValue, depth: int, along: tuple[str, ...]) -> JsonValue:
        kept: JsonValue = None
        if key == "description":
            kept = clean_words(value, FIELD_CHARS_MAX) if isinstance(value, str) else None
        elif key in _SCHEMAS:
            kept = self._walk(value, depth + 1, along)
        elif key in _SCHEMA_LISTS and isinstance(value, list):
            kept = [self._walk(each, depth + 1, along) for each in value]
        elif key in _SCHEMA_MAPS and isinstance(value, dict):
            _check_names(value)
            kept = {name: self._walk(each, depth + 1, along) for name, each in value.items()}
        elif key in _PLAIN:
            kept = _seen_value(key, value)
        else:
            self._loosened += key not in _SILENT
        return kept

    def _tell_pattern(self, node: JsonObject, plain: JsonObject) -> None:
        pattern = node.get("pattern")
        if not isinstance(pattern, str):
            return
        self._loosened += 1
        told = f"(pattern: {clean_words(pattern, FIELD_CHARS_MAX)})"
        said = plain.get("description")
        plain["description"] = f"{said} {told}" if isinstance(said, str) else told


def _is_place(key: str) -> bool:
    # No list is so long, and endless digits are no number to Python.
    return key.isdecimal() and len(key) <= PLACE_DIGITS_MAX


def _check_names(properties: JsonObject) -> None:
    for name in properties:
        if not is_seen(name) or len(name) > NAME_CHARS_MAX:
            raise McpSchemaError("the name of an argument has unseen characters")


def _seen_value(key: str, value: JsonValue) -> JsonValue:
    if is_seen(json.dumps(value, ensure_ascii=False)):
        return value
    if key == "default":
        return None
    raise McpSchemaError("its schema has unseen characters in a value")


def _modern(node: JsonObject) -> JsonObject:
    """A list of item schemas as 2020-12 writes it, and no keyword whose value is null."""
    if node.get("const", 0) is None:
        nothing: list[JsonValue] = [None]
        node = {key: value for key, value in node.items() if key != "const"}
        node["enum"] = nothing
    if not isinstance(node.get("items"), list):
        return node
    changed = {key: value for key, value in node.items() if key not in {"items", "additionalItems"}}
    changed["prefixItems"] = node["items"]
    if "additionalItems" in node:
        changed["items"] = node["additionalItems"]
    return changed
