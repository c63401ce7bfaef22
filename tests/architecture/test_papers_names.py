"""What the papers name is there: files, folders, tables, verbs; and decisions keep their form."""

from __future__ import annotations

import re

import pytest
import typer
from fakes.source_tree import ROOT

from geode.cli.main import app
from geode.store.schema import metadata

PAPERS = ("README.md", "ARCHITECTURE.md", "DECISIONS.md")
FOLDERS = ("geode", "channels", "tests", "bench", "deploy", "docs")
ENTRY_LINES_MAX = 15


def _read(paper: str) -> str:
    return (ROOT / paper).read_text(encoding="utf-8")


def _names(paper: str) -> set[str]:
    """What stands in single back-ticks."""
    text = re.sub(r"```.*?```", "", _read(paper), flags=re.DOTALL)
    return set(re.findall(r"`([^`\n]+)`", text))


def _entries() -> list[str]:
    return re.split(r"^(?=## D-)", _read("DECISIONS.md"), flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("paper", PAPERS)
def test_paper_names_only_paths_that_exist(paper: str) -> None:
    paths = {name for name in _names(paper) if name.partition("/")[0] in FOLDERS and "/" in name}

    assert paths
    assert [path for path in sorted(paths) if not any(ROOT.glob(path.rstrip("/")))] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_paper_names_only_files_that_exist(paper: str) -> None:
    files = {name for name in _names(paper) if re.fullmatch(r"\w+\.(?:py|md|json)", name)}
    known = {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*")}
    known |= {path.name for path in ROOT.iterdir()}

    assert sorted(files - known) == []


def test_architecture_names_every_table_once() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", _read("ARCHITECTURE.md"), re.MULTILINE)

    assert sorted(rows) == sorted([*metadata.tables, "alembic_version"])


def _list_verbs(commands: typer.Typer, before: str = "") -> list[str]:
    verbs: list[str] = []
    for command in commands.registered_commands:
        assert command.callback is not None
        verbs.append(f"{before}{command.name or command.callback.__name__}")
    for group in commands.registered_groups:
        assert group.typer_instance is not None
        verbs += _list_verbs(group.typer_instance, f"{before}{group.name} ")
    return verbs


def test_readme_names_every_verb_and_no_other() -> None:
    named = re.findall(r"^\| `geode ([a-z ]+?)(?: [A-Z].*)?` \|", _read("README.md"), re.MULTILINE)

    assert sorted(named) == sorted(_list_verbs(app))


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(entry[5:7]) for entry in _entries()]

    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("entry", _entries(), ids=lambda entry: entry[3:7])
def test_decision_has_its_four_parts_on_few_lines(entry: str) -> None:
    parts = re.findall(r"^- \*\*(\w+)\*\*: ", entry, re.MULTILINE)

    assert parts == ["Status", "Context", "Decision", "Consequences"]
    assert len(entry.strip().splitlines()) <= ENTRY_LINES_MAX
