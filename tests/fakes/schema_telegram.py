"""Requests to Telegram against the Bot API's own page, as typed by the package selfrotgram."""

from __future__ import annotations

from typing import Any

import orjson
from fakes.schema_files import faults_of, load

from channels.rehearsal.observers import Heard

TEXT = {"type": "string"}


def check_telegram(heard: Heard) -> list[str]:
    """What the Bot API has against a call."""
    schema = load("telegram")["methods"].get(heard.address)
    if schema is None:
        return [f"no such method: {heard.address}"]
    assert isinstance(heard.body, dict)
    known = load("telegram")["$defs"][schema["$ref"].rpartition("/")[2]]["properties"]
    body = {name: _read(known.get(name, TEXT), value) for name, value in heard.body.items()}
    return faults_of("telegram", schema, body)


def _read(schema: dict[str, Any], value: object) -> object:
    """A form's text as what the field holds: a text where it may be one only, else JSON."""
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind != {"type": "null"}]
    if not isinstance(value, str) or kinds == [TEXT] or {} in kinds:
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
