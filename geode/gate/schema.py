"""Checks arguments against the tool's JSON Schema 2020-12; what does not parse never runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]
from referencing import Registry
from referencing.exceptions import Unresolvable

from geode.messages import JsonObject, ToolCall
from geode.steps import Tool

FAULT_CHARS_MAX = 800
"""How much of a fault or of unreadable arguments the model is shown."""
SCHEMAS_KEPT_MAX = 512


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the arguments cannot be used: one short sentence for the model."""

    rule: str
    sentence: str


class _Validator(Protocol):
    def is_valid(self, instance: object) -> bool: ...
    def iter_errors(self, instance: object) -> Iterator[ValidationError]: ...


def _unique_items(
    _validator: object, wants_unique: object, instance: object, _schema: object
) -> Iterator[ValidationError]:
    """`uniqueItems` by one look at each item; the library compares each with each."""
    if wants_unique is not True or not isinstance(instance, list):
        return
    items = cast("list[object]", instance)
    if len({_identity_of(item) for item in items}) < len(items):
        yield ValidationError("the list holds the same item twice")


def _identity_of(value: object) -> Hashable:
    """Equal for what JSON Schema calls equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return "object", frozenset((key, _identity_of(inner)) for key, inner in pairs)
    if isinstance(value, list):
        return "array", tuple(_identity_of(inner) for inner in cast("list[object]", value))
    return ("bool", value) if isinstance(value, bool) else (None, cast("Hashable", value))


_QuickValidator = cast(
    "Callable[..., _Validator]", extend(Draft202012Validator, {"uniqueItems": _unique_items})
)
_NO_DOCUMENTS: Registry[object] = Registry()
"""Empty, because the default one fetches remote references."""
_BROKEN = (Unresolvable, RecursionError, ValueError, ArithmeticError, TypeError)
"""What the library raises for a schema that passes its own check and cannot be used after all."""
Check = Callable[[JsonObject], Fault | None]


class SchemaChecks:
    """Compiles each tool's schema once and keeps the newest."""

    def __init__(self) -> None:
        # The schema is kept beside its check, so that its id cannot be given to another object.
        self._kept: dict[int, tuple[JsonObject, Check]] = {}

    def read_arguments(self, call: ToolCall, tool: Tool) -> JsonObject | Fault:
        """The arguments, once they are known to fit the tool's schema."""
        arguments = call.arguments
        if arguments is None:
            if call.raw.strip():
                return _unreadable(call)
            arguments = {}
        try:
            orjson.dumps(arguments)
        except TypeError as error:
            return Fault("schema.not_json", _cut(f"The arguments are not plain JSON: {error}."))
        return self._check_of(tool.schema)(arguments) or arguments

    def _check_of(self, schema: JsonObject) -> Check:
        kept = self._kept.get(id(schema))
        if kept is not None:
            return kept[1]
        check = compile_check(schema)
        while len(self._kept) >= SCHEMAS_KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[id(schema)] = (schema, check)
        return check


def compile_check(schema: JsonObject) -> Check:
    """A function that finds what is wrong with arguments; an unusable schema fits none."""
    fault = _schema_fault(schema)
    if fault is not None:
        return lambda _arguments: fault
    properties = schema.get("properties")
    known = frozenset(properties) if isinstance(properties, dict) else frozenset[str]()
    validator = _QuickValidator(_plain(schema), registry=_NO_DOCUMENTS)

    def check(arguments: JsonObject) -> Fault | None:
        unknown = arguments.keys() - known
        if unknown:
            return _unknown_arguments(unknown, known)
        try:
            if validator.is_valid(arguments):
                return None
            error = min(validator.iter_errors(arguments), key=lambda e: len(e.absolute_path))
        except _BROKEN as broken:
            return _unusable(broken)
        return Fault("schema.mismatch", _explain(error))

    return check


def _schema_fault(schema: JsonObject) -> Fault | None:
    try:
        if any(not reference.startswith("#") for reference in _references(schema)):
            return Fault("schema.remote_ref", "The tool's schema refers to another document.")
        Draft202012Validator.check_schema(_plain(schema))
    except (SchemaError, *_BROKEN) as error:
        return _unusable(error)
    return None


def _unusable(error: Exception) -> Fault:
    return Fault("schema.invalid", _cut(f"The tool's schema cannot be used: {error}"))


def _plain(schema: JsonObject) -> Mapping[str, object]:
    return cast("Mapping[str, object]", schema)


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in cast("dict[str, object]", node).items():
            if key in {"$ref", "$dynamicRef"} and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for value in cast("list[object]", node):
            yield from _references(value)


def _unreadable(call: ToolCall) -> Fault:
    fault = call.fault or "The arguments are not one JSON object."
    shown = call.raw.encode("utf-8", "replace").decode()
    room = FAULT_CHARS_MAX - 40
    return Fault("schema.unreadable", f"{fault[: room // 2]} They began: {shown[: room // 2]}")


def _unknown_arguments(unknown: set[str], known: frozenset[str]) -> Fault:
    names = ", ".join(repr(name[:60]) for name in sorted(unknown)[:5])
    allowed = ", ".join(sorted(known)) or "none"
    return Fault(
        "schema.unknown_argument", _cut(f"Unknown argument {names}; known are: {allowed}.")
    )


def _explain(error: ValidationError) -> str:
    place = ".".join(str(part) for part in error.absolute_path) or "the arguments"
    return _cut(f"The arguments do not fit: {place}: {error.message}")


def _cut(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode()
    return clean if len(clean) <= FAULT_CHARS_MAX else clean[: FAULT_CHARS_MAX - 1] + "…"
