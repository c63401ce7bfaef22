"""What a request's arguments must look like; every fault is one sentence for its caller."""

from __future__ import annotations

from geode.errors import ControlError
from geode.messages import JsonObject

ROWS_DEFAULT = 50
ROWS_MAX = 500


def allow_only(arguments: JsonObject, *known: str) -> None:
    """Raises `ControlError` for an argument that the verb does not know."""
    for name in arguments:
        if name not in known:
            raise ControlError(f"This verb takes no argument {name[:40]!r}.")


def read_text(arguments: JsonObject, name: str) -> str:
    """A text that must be there."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value:
        raise ControlError(f"This verb needs the argument {name!r}, a string.")
    return value


def read_optional(arguments: JsonObject, name: str) -> str:
    """A text; empty when it is not given."""
    value = arguments.get(name, "")
    if not isinstance(value, str):
        raise ControlError(f"The argument {name!r} is a string.")
    return value


def read_flag(arguments: JsonObject, name: str) -> bool:
    """Yes or no; no when it is not given."""
    value = arguments.get(name, False)
    if not isinstance(value, bool):
        raise ControlError(f"The argument {name!r} is true or false.")
    return value


def read_number(arguments: JsonObject, name: str, lowest: int, highest: int) -> int:
    """A whole number between the two; the lowest when it is not given."""
    value = arguments.get(name, lowest)
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise ControlError(f"{name} is a whole number from {lowest} to {highest}.")
    return value


def read_limit(arguments: JsonObject) -> int:
    """How many rows are asked for."""
    return read_number({"limit": ROWS_DEFAULT, **arguments}, "limit", 1, ROWS_MAX)
