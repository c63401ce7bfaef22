"""The platforms' published documents as `make setup` wrote them, and what a body breaks in one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

FOLDER = Path(sys.prefix, "share", "platform-schemas")


@cache
def load(name: str) -> dict[str, Any]:
    """A platform's document; `make setup` writes it."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@cache
def _validator(name: str, schema: str) -> Draft202012Validator:
    document = load(name)
    return Draft202012Validator({**json.loads(schema), "$defs": document["$defs"]})


def faults_of(name: str, schema: dict[str, Any], body: object) -> list[str]:
    """The deepest thing that is wrong with a body under a schema of that document."""
    found = list(_validator(name, json.dumps(schema)).iter_errors(body))
    deepest = max(_leaves(found), key=lambda error: len(error.absolute_path), default=None)
    return [f"{deepest.json_path}: {deepest.message[:400]}"] if deepest else []


def _leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """What is wrong in each choice, not that none of the choices fits."""
    for error in errors:
        if error.context:
            yield from _leaves(error.context)
        else:
            yield error
