"""The settings' own shape, read from their models: which keys exist, and of which type; pure."""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

Path = tuple[str | int, ...]


def bare_types(annotation: Any) -> tuple[Any, ...]:
    """The types a value may have, without `Annotated`, `Optional` and the alternatives' order."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return bare_types(get_args(annotation)[0])
    if origin in {Union, types.UnionType}:
        members = (bare_types(member) for member in get_args(annotation))
        return tuple(t for group in members for t in group if t is not type(None))
    return (annotation,)


def step_into(annotation: Any, part: str | int) -> Any | None:
    """The type below one key or index; None when there is nothing below it."""
    for kind in bare_types(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            field = kind.model_fields.get(str(part))
            return None if field is None else field.annotation
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is tuple and isinstance(part, int):
            return arguments[0]
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return arguments[1]
    return None


def type_at(root: type[BaseModel], path: Path) -> Any | None:
    """The type of the value at a path below a model; None for an unknown path."""
    annotation: Any | None = root
    for part in path:
        if annotation is None:
            return None
        annotation = step_into(annotation, part)
    return annotation


def keys_of(annotation: Any) -> tuple[str, ...]:
    """The keys a table of this type may have; none for a table with free names."""
    for kind in bare_types(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return tuple(kind.model_fields)
    return ()


def find_nearest(written: str, known: Iterable[str]) -> str | None:
    """The known key that the written one was probably meant to be."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", written).replace("-", "_").lower()
    matches = difflib.get_close_matches(snake, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def path_text(path: Path) -> str:
    """A path as an operator reads it: `bindings[2].people`, counted from one."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f".{part}" if text else part
    return text
