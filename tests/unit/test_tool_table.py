"""docs/tools.md says what the code declares, tool by tool."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from fakes.source_tree import ROOT

from geode.cli.tool_table import list_tools, write_table
from geode.steps import Effect

PAGE = ROOT / "docs" / "tools.md"


def test_the_page_is_what_the_code_declares() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_table(list_tools()), "run: make docs"


def test_the_command_writes_the_page() -> None:
    argv = [sys.executable, "-m", "geode.cli.tool_table"]

    done = subprocess.run(argv, capture_output=True, check=True, env=dict(os.environ), cwd=ROOT)

    assert done.stdout.decode() == PAGE.read_text(encoding="utf-8")


def test_the_page_has_every_tool_file() -> None:
    folder = ROOT / "geode" / "tools"
    files = {
        path.stem
        for path in folder.glob("*.py")
        if "\nPOLICY = SafetyPolicy(" in path.read_text(encoding="utf-8")
    }

    assert {tool.name for tool in list_tools()} == files


def test_what_reaches_out_is_named() -> None:
    reaching = {tool.name for tool in list_tools() if tool.reaches_out}

    assert reaching == {"web_fetch", "web_search"}


def test_no_effect_is_without_a_key_of_its_own() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]

    for row, tool in zip(rows, list_tools(), strict=True):
        touches = row.split(" | ")[6]
        assert (touches == "–") == (tool.policy.effect is Effect.READ)


def test_all_tools_together_are_a_small_request() -> None:
    tools = list_tools()
    wire = [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in tools]

    assert len(json.dumps(wire)) < 7_000
