"""What every section of the configuration is built from: strict tables and checked words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

T = TypeVar("T")

NOT_BUILT = "is not built yet; remove it"

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_DOMAIN = re.compile(r"[^\s/:@*?#]+\.[^\s/:@*?#]+|localhost")
_HTTP_URL = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?")


class Section(BaseModel):
    """A table of the file: frozen, no unknown key, no silent conversion of types."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False
    )

    def built_in_bindings(self) -> Sequence[Mapping[str, object]]:
        """What a channel serves when the file binds no place of it; most serve nothing then."""
        return ()


def list_to_tuple(value: object) -> object:
    """A TOML array as the tuple that a frozen section keeps; anything else unchanged."""
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def refuse_unbuilt(value: T) -> T:
    """The empty default; raises `ValueError` for a key of what is not built yet."""
    if value:
        raise ValueError(NOT_BUILT)
    return value


def _check_url(value: str) -> str:
    if value and _HTTP_URL.fullmatch(value) is None:
        raise ValueError("is not an address; write http(s)://host[:port][/path], without a login")
    return value


def _check_tool(value: str) -> str:
    if _TOOL_NAME.fullmatch(value) is None:
        raise ValueError(f"{value!r} is not a tool's name; tools are granted one by one, by name")
    return value


def _check_domain(value: str) -> str:
    if _DOMAIN.fullmatch(value) is None:
        raise ValueError(f'{value!r} is not a domain; write it without scheme: "example.org"')
    return value.lower()


HttpUrl = Annotated[str, AfterValidator(_check_url)]
"""An http or https address; empty means the built-in one."""
ToolName = Annotated[str, AfterValidator(_check_tool)]
ToolNames = Annotated[tuple[ToolName, ...], BeforeValidator(list_to_tuple)]
Domains = Annotated[
    tuple[Annotated[str, AfterValidator(_check_domain)], ...], BeforeValidator(list_to_tuple)
]
