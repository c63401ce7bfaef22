"""`[mcp]`: servers of other people's tools, and what each tool may do as the operator says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from geode.patterns import check_pattern
from geode.settings_mcp_names import fault_of_server, fault_of_tool, find_twins, join_name
from geode.settings_secrets import SecretRef
from geode.settings_section import HttpUrl, Section, list_to_tuple

_RESOURCE = re.compile(r"[A-Za-z0-9_.:/@+-]{1,120}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
_OUR_HEADERS = frozenset(
    {
        *("accept", "connection", "content-length", "content-type", "host", "last-event-id"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)


def _check_resource(value: str) -> str:
    if _RESOURCE.fullmatch(value) is None:
        raise ValueError(
            f"{value[:60]!r} is not a resource's name; write one exact name of letters, digits "
            f'and .:/@+-_ such as "db:main"'
        )
    return value


def _read_value(value: object) -> object:
    if isinstance(value, str) and value.startswith(("env:", "file:/", "file:~/")):
        return SecretRef.parse(value)
    return value


Resources = Annotated[
    tuple[Annotated[str, AfterValidator(_check_resource)], ...], BeforeValidator(list_to_tuple)
]
EnvironmentValue = Annotated[SecretRef | str, BeforeValidator(_read_value)]
Command = Annotated[tuple[str, ...], BeforeValidator(list_to_tuple)]


class McpToolSettings(Section):
    """`[mcp.servers.NAME.tools.TOOL]`: one tool that may be called, and what it does."""

    effect: Literal["read", "mutate", "execute", "communicate", "administrative"]
    """What the tool does to the world; the server's own hints about it are not read."""
    data_class: Literal["public", "personal"] = "personal"
    approval: Literal["none", "ask"] = "none"
    resources: Resources = ()
    """What the tool changes: calls that share one run one after another, and an unknown outcome
    blocks it; required for every effect but read."""
    timeout_s: float = Field(default=60.0, gt=0, le=3_600)
    fails_when: Annotated[str, AfterValidator(check_pattern)] = ""
    """A pattern (RE2) in the text by which this server says that a call failed."""
    name: str = ""
    """Its name behind `server__` when the server's own cannot be used."""

    @model_validator(mode="after")
    def _effect_names_its_resources(self) -> McpToolSettings:
        if self.effect != "read" and not self.resources:
            raise ValueError(
                f'effect = "{self.effect}" needs resources: say what it changes, such as '
                f'resources = ["db:main"]'
            )
        return self


class McpServerSettings(Section):
    """`[mcp.servers.NAME]`: one server, started here or reached by its address."""

    command: Command = ()
    """The program and its arguments; it is started without a shell."""
    env: Mapping[str, EnvironmentValue] = {}
    """The child's whole environment: values, or where a secret lies."""
    cwd: str = ""
    """The child's working folder; empty means the state folder."""
    url: HttpUrl = ""
    """The address of a server that speaks streamable HTTP."""
    token: SecretRef | None = None
    """Sent as `Authorization: Bearer`."""
    headers: Mapping[str, SecretRef] = {}
    """Further headers, each by the place of its value."""
    start_timeout_s: float = Field(default=60.0, gt=0, le=600)
    """For the server to answer and to list its tools."""
    tools: Mapping[str, McpToolSettings] = {}
    """By the server's own names; a tool that is not listed is not callable."""

    @field_validator("env")
    @classmethod
    def _variables_have_names(
        cls, value: Mapping[str, EnvironmentValue]
    ) -> Mapping[str, EnvironmentValue]:
        for name, text in value.items():
            if _VARIABLE.fullmatch(name) is None:
                raise ValueError(f"{name[:60]!r} is not the name of an environment variable")
            if isinstance(text, str) and "\0" in text:
                raise ValueError(f"the value of {name} holds a NUL")
        return value

    @field_validator("headers")
    @classmethod
    def _headers_are_not_ours(cls, value: Mapping[str, SecretRef]) -> Mapping[str, SecretRef]:
        for name in value:
            if _HEADER.fullmatch(name) is None:
                raise ValueError(f"{name[:60]!r} is not the name of a header")
            if name.lower() in _OUR_HEADERS or name.lower().startswith("mcp-"):
                raise ValueError(f"the header {name} belongs to the protocol; remove it")
        return value

    @field_validator("cwd")
    @classmethod
    def _folder_is_absolute(cls, value: str) -> str:
        if value and not value.startswith("/"):
            raise ValueError(f"{value[:80]!r} is not an absolute path")
        return value

    @model_validator(mode="after")
    def _is_one_kind(self) -> McpServerSettings:
        if bool(self.command) == bool(self.url):
            raise ValueError('a server has either command = ["..."] or url = "https://..."')
        if self.url and (self.env or self.cwd):
            raise ValueError("env and cwd belong to a server with a command; remove them")
        if self.command and (self.token or self.headers):
            raise ValueError("token and headers belong to a server with a url; remove them")
        if any("\0" in part for part in self.command) or (self.command and not self.command[0]):
            raise ValueError("command is a list of a program and its arguments")
        return self


def check_servers(servers: Mapping[str, McpServerSettings]) -> None:
    """Raise `ValueError` for names that cannot stand, alone or beside each other."""
    names: list[str] = []
    for server, settings in servers.items():
        fault = fault_of_server(server)
        if fault:
            raise ValueError(fault)
        for tool, each in settings.tools.items():
            shown = each.name or tool
            fault = fault_of_tool(server, shown)
            if fault:
                raise ValueError(fault)
            names.append(join_name(server, shown))
    twins = find_twins(names)
    if twins is not None:
        raise ValueError(f"{twins[0]} and {twins[1]} could be mistaken; give one another name")


class McpSettings(Section):
    """`[mcp]`: the servers of this file, and the project whose own list may join them."""

    project: str = ""
    """A folder whose `.geode/mcp.toml` is read once `geode trust` accepted it."""
    servers: Mapping[str, McpServerSettings] = {}

    @field_validator("project")
    @classmethod
    def _project_is_absolute(cls, value: str) -> str:
        if value and not value.startswith("/"):
            raise ValueError(f"{value[:80]!r} is not an absolute path")
        return value

    @field_validator("servers")
    @classmethod
    def _names_stand(
        cls, value: Mapping[str, McpServerSettings]
    ) -> Mapping[str, McpServerSettings]:
        check_servers(value)
        return value
