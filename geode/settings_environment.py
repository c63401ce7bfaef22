"""`GEODE_<SECTION>__<KEY>`: single values from the environment, laid over those of the file."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_origin

from geode.errors import ConfigError
from geode.settings import Section, Settings
from geode.settings_faults import describe_unknown, end_sentence
from geode.settings_shape import Path, bare_types, keys_of, step_into, type_at

Table = dict[str, Any]

_VARIABLE = re.compile(r"GEODE_([A-Z0-9_]+?(?:__[A-Z0-9_]+?)+)")
_BOOLEANS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Overlay:
    """The file's table with the environment's values laid over it."""

    table: Table
    variables: Mapping[Path, str]
    """Which variable set a path."""


def list_overrides(environ: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Our variables that are set and not empty, each with its path in lower case."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(environ):
        match = _VARIABLE.fullmatch(name)
        if match is not None and environ[name].strip():
            found[name] = tuple(match[1].lower().split("__"))
    return found


def overlay_environment(
    written: Table, environ: Mapping[str, str], channels: Mapping[str, type[Section]]
) -> Overlay:
    """Lay the environment's values over a copy of the file's; raises `ConfigError`."""
    table = copy.deepcopy(written)
    variables: dict[Path, str] = {}
    for name, spelled in list_overrides(environ).items():
        path = _match_written_names(spelled, written)
        value = _read_scalar(name, environ[name].strip(), _type_of(name, path, channels))
        _put(table, path, value)
        variables[path] = name
    return Overlay(table, variables)


def _match_written_names(path: tuple[str, ...], written: Table) -> tuple[str, ...]:
    """The path with the names of tables as the file spells them; variables are upper case."""
    if not path:
        return ()
    spelled = next((n for n in written if n.lower().replace("-", "_") == path[0]), path[0])
    below = written.get(spelled)
    table = cast("Table", below) if isinstance(below, dict) else Table()
    return (spelled, *_match_written_names(path[1:], table))


def _type_of(name: str, path: tuple[str, ...], channels: Mapping[str, type[Section]]) -> Any:
    if path[0] == "channels" and len(path) > 1:
        root: type[Section] = channels[path[1]]
        below = path[2:]
    else:
        root, below = Settings, path
    annotation: Any = root
    for depth, part in enumerate(below):
        parent, annotation = annotation, step_into(annotation, part)
        if annotation is None and keys_of(parent):
            known = keys_of(type_at(root, below[:depth]))
            unknown = describe_unknown(path[: len(path) - len(below) + depth + 1], known)
            raise ConfigError(end_sentence(f"{name}: {unknown}"))
    return annotation


def _read_scalar(name: str, text: str, annotation: Any) -> object:
    kinds = bare_types(annotation)
    if bool in kinds:
        if text.lower() not in _BOOLEANS:
            raise ConfigError(f"{name} should be true or false, not {text!r}.")
        return _BOOLEANS[text.lower()]
    if int in kinds:
        return int(_expect(name, text, _WHOLE, "a whole number"))
    if float in kinds:
        return float(_expect(name, text, _NUMBER, "a number"))
    for kind in kinds:
        shape = get_origin(kind) or kind
        if shape is tuple or (isinstance(shape, type) and issubclass(shape, Mapping | Section)):
            raise ConfigError(f"{name} does not name a single value; write it in the file instead.")
    if annotation is None:
        raise ConfigError(f"{name} does not name a known key; remove it.")
    return text


def _expect(name: str, text: str, grammar: re.Pattern[str], wanted: str) -> str:
    if grammar.fullmatch(text) is None or len(text) > 40:
        raise ConfigError(f"{name} should be {wanted}, not {text!r}.")
    return text


def _put(table: Table, path: tuple[str, ...], value: object) -> None:
    for part in path[:-1]:
        below = table.setdefault(part, {})
        if not isinstance(below, dict):
            return  # the file's wrong shape is named when the whole is checked
        table = cast("Table", below)
    table[path[-1]] = value
