"""Lays answers over a configuration file's text; comments and everything else stay; pure."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array

from geode.cli.setup_answers import Answers, PlaceAnswer
from geode.errors import ConfigError

HEADER = (
    "# GEODE's configuration, written by `geode setup`.\n"
    "# Secrets are named here, never written; `geode doctor` says what is wrong.\n"
)
UNCHANGEABLE = (
    "The present configuration is written in a form that cannot be changed without harm: write "
    "[channels.NAME] and [[bindings]] as tables of their own, or move it away and start again."
)


@dataclass(frozen=True, slots=True)
class _Makers:
    table: Callable[[], Any]
    outer: Callable[[], Any]
    """A table that shows only through those below it."""
    rows: Callable[[], Any]
    row: Callable[[Any], Any]


_PLAIN = _Makers(dict, dict, list, lambda _rows: {})


def _new_row(rows: Any) -> Any:
    if isinstance(rows, Array):
        return tomlkit.inline_table()
    made = tomlkit.table()
    made.trivia.indent = "\n"
    return made


_STYLED = _Makers(tomlkit.table, lambda: tomlkit.table(is_super_table=True), tomlkit.aot, _new_row)


def build_document(existing: str, answers: Answers) -> str:
    """The file's new text; raises `ConfigError` when it cannot hold exactly what was answered."""
    wanted = tomllib.loads(existing)
    _apply(wanted, answers, _PLAIN)
    try:
        document: Any = tomlkit.parse(existing or HEADER)
        _apply(document, answers, _STYLED)
        text = tomlkit.dumps(document)
        if tomllib.loads(text) == wanted:
            return text
    except (TOMLKitError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(UNCHANGEABLE) from error
    raise ConfigError(UNCHANGEABLE)


def _apply(document: Any, answers: Answers, make: _Makers) -> None:
    if answers.model is not None:
        _put(_reach(document, make, "agent"), "model", answers.model.model)
        if answers.model.key is not None:
            provider = _reach(document, make, "providers", answers.model.provider)
            _put(provider, "api_key", str(answers.model.key.ref))
    if answers.timezone:
        _put(_reach(document, make, "agent"), "timezone", answers.timezone)
    for channel in answers.channels:
        section = _reach(document, make, "channels", channel.name)
        for key, secret in channel.secrets.items():
            _put(section, key, str(secret.ref))
    for channel in answers.channels:
        for place in channel.places:
            _bind(document, place, make)


def _reach(document: Any, make: _Makers, *names: str) -> Any:
    for name in names[:-1]:
        if name not in document:
            document[name] = make.outer()
        document = document[name]
    if names[-1] not in document:
        document[names[-1]] = make.table()
    return document[names[-1]]


def _bind(document: Any, place: PlaceAnswer, make: _Makers) -> None:
    if "bindings" not in document:
        document["bindings"] = make.rows()
    rows = document["bindings"]
    bound = [row for row in rows if (row["channel"], row["where"]) == (place.channel, place.where)]
    row = bound[0] if bound else make.row(rows)
    _put(row, "channel", place.channel)
    _put(row, "where", place.where)
    _put(row, "people", place.people if isinstance(place.people, str) else list(place.people))
    _put(row, "operators", list(place.operators))
    if place.respond != row.get("respond", "mention"):
        row["respond"] = place.respond
    if not bound:
        rows.append(row)


def _put(table: Any, key: str, value: object) -> None:
    """Change only what differs, so that what is written keeps its form and comment."""
    if key not in table or table[key] != value:
        table[key] = value
