"""What the papers of the project promise about it is so."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from fakes.source_tree import ROOT, list_rooms

LOCKS = ("requirements.lock", "requirements-dev.lock")


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _locked(lock: str) -> list[str]:
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _name(requirement: str) -> str:
    name = re.split(r"[\s<>=!~;\[]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_has_a_hash_for_every_requirement(lock: str) -> None:
    rows = _locked(lock)

    assert rows
    assert [row for row in rows if "--hash=sha256:" not in row or "==" not in row] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")

    assert (
        re.findall(r"https?://|--index|--extra-index|--find-links|--trusted-host|file:", text) == []
    )


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_covers_what_the_project_declares(lock: str) -> None:
    project = _project()
    groups = project["dependency-groups"]
    declared = {_name(r) for r in [*project["project"]["dependencies"], *groups["build"]]}
    if lock == "requirements-dev.lock":
        declared |= {_name(r) for r in groups["dev"] if isinstance(r, str)}

    assert declared - {_name(row) for row in _locked(lock)} == set()


def test_every_runtime_dependency_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text.partition("dependencies = [\n")[2].partition("\n]")[0]
    rows = [line for line in block.splitlines() if line.strip()]

    assert rows
    assert [row for row in rows if not re.search(r'",\s+# \S.{10,}', row)] == []


@pytest.mark.parametrize("room", list_rooms())
def test_architecture_names_every_room(room: str) -> None:
    assert f"{room}/" in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("room", list_rooms())
def test_import_contract_lists_every_room(room: str) -> None:
    package, name = room.split("/")
    contracts = _project()["tool"]["importlinter"]["contracts"]
    layered = [c for c in contracts if c.get("containers") == [package]]

    assert re.search(rf"\b{name}\b", " ".join(layered[0]["layers"]))


def test_readme_names_only_commands_that_exist() -> None:
    named = re.findall(r"`make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert set(named) - set(targets) == set()
