"""Every tool there is, registered once; what cannot be gated does not register."""

from __future__ import annotations

import re

from geode.ports import MemoryStore, UrlWitness
from geode.steps import Effect, Tool
from geode.tools import (
    edit_file,
    grep_files,
    list_files,
    memory_save,
    memory_search,
    read_document,
    read_file,
    web_fetch,
    write_file,
)
from geode.tools.fetch.client import fetch
from geode.tools.web_fetch import Fetch, FetchGrant
from geode.tools.workspace import Workspaces

_NAME = re.compile(r"[a-z0-9_]{1,64}", re.ASCII)


def build_catalogue(
    *,
    workspaces: Workspaces,
    memory: MemoryStore,
    witness: UrlWitness,
    grant: FetchGrant,
    fetch_page: Fetch = fetch,
    more: tuple[Tool, ...] = (),
) -> tuple[Tool, ...]:
    """All built-in tools in a fixed order; which of them a step has is the plan's decision.

    `more` are those that need something configured.
    """
    return register(
        list_files.build(workspaces),
        read_file.build(workspaces),
        grep_files.build(workspaces),
        read_document.build(workspaces),
        write_file.build(workspaces),
        edit_file.build(workspaces),
        web_fetch.build(witness, grant, fetch_page=fetch_page),
        memory_save.build(memory),
        memory_search.build(memory),
        *more,
    )


def register(*tools: Tool) -> tuple[Tool, ...]:
    """The same tools; raises `ValueError` for one that the gate could not hold."""
    names: set[str] = set()
    for tool in tools:
        if _NAME.fullmatch(tool.name) is None:
            raise ValueError(f"{tool.name!r} is not a tool name ([a-z0-9_], at most 64).")
        if tool.name in names:
            raise ValueError(f"The tool {tool.name} is registered twice.")
        if tool.policy.effect is not Effect.READ and tool.resources is None:
            raise ValueError(f"The tool {tool.name} has an effect and names no resource.")
        if not tool.policy.modes:
            raise ValueError(f"The tool {tool.name} exists in no mode.")
        names.add(tool.name)
    return tools
