"""Writes the Bot API as JSON Schema, from types that were generated from Telegram's own page."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import ConfigDict, create_model
from pydantic.json_schema import models_json_schema
from pydantic_core import core_schema
from selfrot import types
from selfrot.methods import generated


def any_file(*_: object) -> core_schema.CoreSchema:
    """An uploaded file travels beside the form, so nothing is said of it here."""
    return core_schema.any_schema()


def close(node: Any) -> Any:
    """The same schema, with no room for a field that it does not name."""
    if isinstance(node, list):
        return [close(one) for one in node]
    if not isinstance(node, dict):
        return node
    words = ("title", "description")  # a field may have such a name too: then it holds a schema
    closed = {
        key: close(value)
        for key, value in node.items()
        if not (key in words and isinstance(value, str))
    }
    if closed.get("type") == "object" and "properties" in closed:
        closed["additionalProperties"] = False
    return closed


def model_of(method: type[Any]) -> Any:
    """The arguments of a method as a model; the types name each other across one module."""
    hints = get_type_hints(method, vars(generated))
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(method):
        is_required = field.default is dataclasses.MISSING
        fields[field.name] = (hints[field.name], ... if is_required else None)
    config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())
    return create_model(f"{method.__name__}Arguments", __config__=config, **fields)


def write_methods(output: Path) -> None:
    """One schema for each method, over the definitions that they share."""
    types.InputFile.__get_pydantic_core_schema__ = classmethod(any_file)
    methods = {
        found.__api_method__: model_of(found)
        for found in vars(generated).values()
        if isinstance(found, type) and dataclasses.is_dataclass(found)
    }
    named, shared = models_json_schema([(model, "validation") for model in methods.values()])
    written = {name: named[model, "validation"] for name, model in methods.items()}
    output.write_text(json.dumps({"methods": written, "$defs": close(shared["$defs"])}))


if __name__ == "__main__":
    write_methods(Path(sys.argv[1]))
