"""The rooms' order holds, and nothing walks around it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.source_tree import ROOT, imports_in, list_sources, name_of, parse

FRONT_DOOR = (
    "ports",
    "transcripts",
    "guides",
    "spoken",
    "oversight",
    "messages",
    "settings",
    "errors",
    "log",
)
"""What a channel may know of the core."""


def test_import_contracts_hold() -> None:
    tool = Path(sys.executable).with_name("lint-imports")

    run = subprocess.run([tool, "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr


def _importers_of(packages: tuple[str, ...], sources: list[Path]) -> set[str]:
    return {
        name_of(path)
        for path in sources
        for module in imports_in(path)
        if module.partition(".")[0] in packages
    }


def test_sql_is_spoken_in_the_store_only() -> None:
    importers = _importers_of(("sqlalchemy", "alembic", "aiosqlite", "sqlite3"), list_sources())

    assert {path for path in importers if not path.startswith("geode/store/")} == set()


def test_nothing_imports_the_scheduler_library_yet() -> None:
    assert _importers_of(("apscheduler",), list_sources()) == set()


def test_core_imports_no_channel_and_no_chat_sdk() -> None:
    chat = ("channels", "slack_sdk", "slack_bolt", "discord", "telegram")

    assert _importers_of(chat, list_sources("geode")) == set()


def test_channels_use_only_the_front_door() -> None:
    allowed = {f"geode.{name}" for name in FRONT_DOOR}
    others = {
        (name_of(path), module)
        for path in list_sources("channels")
        for module in imports_in(path)
        if module.startswith("geode.") and ".".join(module.split(".")[:2]) not in allowed
    }

    assert others == set()


@pytest.mark.parametrize("path", list_sources(), ids=name_of)
def test_imports_are_absolute(path: Path) -> None:
    relative = [
        n.lineno for n in ast.walk(parse(path)) if isinstance(n, ast.ImportFrom) and n.level
    ]

    assert relative == []
