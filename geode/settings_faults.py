"""What is wrong with the configuration, in one sentence that names the place and the fix; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from geode.settings import NOT_BUILT, SECTIONS_PLANNED
from geode.settings_shape import Path, find_nearest, keys_of, path_text, type_at

_VALUE_CHARS_MAX = 80
_CONTAINERS = frozenset({"model_type", "model_attributes_type", "dict_type", "mapping_type"})


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the checked values came from, so that a sentence can say which one to change."""

    file: str
    """The file's path, or another name for the built-in defaults."""
    variables: Mapping[Path, str] = field(default_factory=dict[Path, str])
    """The environment variable that set a path."""


def describe_fault(
    error: ValidationError, model: type[BaseModel], origin: Origin, prefix: Path = ()
) -> str:
    """The first fault as one sentence; an unknown key goes first, for others may follow from it."""
    faults = error.errors(include_url=False)
    unknown = [fault for fault in faults if fault["type"] == "extra_forbidden"]
    sentence = end_sentence(_describe((unknown or faults)[0], model, origin, prefix))
    more = len(faults) - 1
    return f"{sentence} (Faults after this one: {more}.)" if more else sentence


def end_sentence(text: str) -> str:
    """The text with a full stop, unless it has an end of its own."""
    return text if text.endswith((".", "?")) else f"{text}."


def describe_unknown(path: Path, known: tuple[str, ...]) -> str:
    """The predicate for a key that does not exist: what was probably meant."""
    name = str(path[-1])
    if len(path) == 1 and name in SECTIONS_PLANNED:
        return f"[{name}] {NOT_BUILT}"
    guess = find_nearest(name, known)
    if len(path) == 1:
        hint = f"did you mean [{guess}]?" if guess else f"sections: {', '.join(known)}"
        return f"[{name}] is not a known section; {hint}"
    hint = f"did you mean {guess!r}?" if guess else f"known keys: {', '.join(known)}"
    return f"{path_text(path)} is not a known key; {hint}"


def _describe(fault: ErrorDetails, model: type[BaseModel], origin: Origin, prefix: Path) -> str:
    path = prefix + fault["loc"]
    if fault["type"] == "extra_forbidden":
        known = keys_of(type_at(model, fault["loc"][:-1]))
        return f"{origin.file}: {describe_unknown(path, known)}"
    variable = origin.variables.get(path)
    place = variable or f"{origin.file}: {path_text(path)}"
    reason = _reason(fault, path)
    joint = " " if reason.startswith(("is ", "should ")) else ": "
    return f"{place}{joint}{reason}"


def _reason(fault: ErrorDetails, path: Path) -> str:
    kind = fault["type"]
    if kind == "value_error":
        return str(fault.get("ctx", {}).get("error", "is wrong"))
    if kind == "missing":
        return "is missing; write it"
    name = path_text(path)
    if kind in _CONTAINERS:
        return f"is not a section; write [{name}] and its keys below"
    if kind == "tuple_type":
        return f"is not a list; write [[{name}]]" if len(path) == 1 else "should be a list: [...]"
    wanted = fault["msg"].replace("Input should be", "should be")
    return f"{wanted}, not {_shown(fault['input'])}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _VALUE_CHARS_MAX else f"{text[:_VALUE_CHARS_MAX]}…"
