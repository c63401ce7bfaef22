"""The catalogue holds every tool of the interface and nothing that cannot be gated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from fakes.tool_room import NotesInMemory, SaidUrls

from geode.messages import Mode
from geode.ports import SystemClock
from geode.steps import Effect, Tool
from geode.tools import run_bash
from geode.tools.catalogue import build_catalogue, register
from geode.tools.web_fetch import FetchGrant
from geode.tools.workspace import Workspaces

ARGUMENTS: dict[str, tuple[set[str], set[str]]] = {
    "list_files": ({"path"}, set()),
    "read_file": ({"path"}, {"offset", "limit"}),
    "grep_files": ({"pattern"}, {"path"}),
    "read_document": ({"path"}, {"offset", "sheet"}),
    "write_file": ({"path", "content"}, set()),
    "edit_file": ({"path", "old", "new"}, set()),
    "web_fetch": ({"url"}, set()),
    "memory_save": ({"text"}, set()),
    "memory_search": ({"query"}, set()),
    "run_bash": ({"command"}, set()),
}
READS = {
    *("list_files", "read_file", "grep_files", "read_document", "web_fetch", "memory_search"),
}


@pytest.fixture
def tools(tmp_path: Path) -> tuple[Tool, ...]:
    """The whole catalogue, and the shell."""
    built_in = build_catalogue(
        workspaces=Workspaces(tmp_path),
        memory=NotesInMemory(),
        witness=SaidUrls(),
        grant=FetchGrant(),
    )
    return register(*built_in, run_bash.build(Workspaces(tmp_path), SystemClock()))


def test_catalogue_has_the_tools_and_arguments_of_the_interface(tools: tuple[Tool, ...]):
    found = {}
    for tool in tools:
        properties = tool.schema["properties"]
        required = tool.schema["required"]
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        found[tool.name] = (set(required), set(properties) - set(required))

    assert found == ARGUMENTS


def test_every_schema_is_valid_and_closed(tools: tuple[Tool, ...]):
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.schema)
        assert tool.schema["additionalProperties"] is False


def test_reads_are_reads_and_everything_else_names_a_resource(tools: tuple[Tool, ...]):
    for tool in tools:
        assert (tool.policy.effect is Effect.READ) == (tool.name in READS)
        assert (tool.resources is None) == (tool.name in READS)


def test_run_bash_exists_for_attended_modes_only_and_asks(tools: tuple[Tool, ...]):
    tool = next(tool for tool in tools if tool.name == "run_bash")

    assert tool.policy.modes == {Mode.REPL, Mode.IPC}
    assert tool.policy.approval == "ask"


def test_the_request_for_all_tools_is_small(tools: tuple[Tool, ...]):
    wire = [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in tools]

    assert len(json.dumps(wire)) < 4_500


@pytest.mark.parametrize("name", ["", "Read", "read-file", "read.file", "rеad", "x" * 65, "a b"])
def test_register_refuses_a_name_outside_the_grammar(tools: tuple[Tool, ...], name: str):
    with pytest.raises(ValueError, match="not a tool name"):
        register(replace(tools[0], name=name))


def test_register_refuses_a_name_twice(tools: tuple[Tool, ...]):
    with pytest.raises(ValueError, match="twice"):
        register(*tools, tools[0])


@pytest.mark.parametrize("name", ["write_file", "edit_file", "memory_save", "run_bash"])
def test_register_refuses_an_effect_without_a_resource(tools: tuple[Tool, ...], name: str):
    tool = next(tool for tool in tools if tool.name == name)

    with pytest.raises(ValueError, match="names no resource"):
        register(replace(tool, resources=None))
    assert register(tool) == (tool,)
