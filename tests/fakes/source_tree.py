"""The project's own source, read as text and as syntax, for the tests of its shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef

_TEXT_SUFFIXES = {".py", ".md", ".toml", ".lock", ".yml", ".yaml", ".json", ".service", ".mako", ""}
_FOLDERS = ("geode", "channels", "tests", "bench", "deploy", "docs", ".ci")


def list_sources(*folders: str) -> list[Path]:
    """Every Python file below the folders, in order; by default what is shipped."""
    names = folders or ("geode", "channels")
    return sorted(path for name in names for path in (ROOT / name).rglob("*.py"))


def list_texts() -> list[Path]:
    """Every text file of the project, dot files of tools left out."""
    top = [path for path in ROOT.iterdir() if path.is_file() and path.suffix in _TEXT_SUFFIXES]
    below = [path for name in _FOLDERS for path in (ROOT / name).rglob("*") if path.is_file()]
    texts = [path for path in [*top, *below] if path.suffix in _TEXT_SUFFIXES]
    # In a second work tree of the repository `.git` is a file that says where the first one is.
    left_out = {"__pycache__", ".git"}
    return sorted(path for path in texts if not left_out & set(path.parts))


def list_rooms() -> list[str]:
    """The folders of `geode/` and `channels/`, as `geode/store`."""
    folders = [path.parent for path in list_sources() if path.name == "__init__.py"]
    rooms = {path.relative_to(ROOT) for path in folders}
    return sorted(str(room) for room in rooms if len(room.parts) == 2)


def name_of(path: Path) -> str:
    """The path as a failure message shows it."""
    return str(path.relative_to(ROOT))


@cache
def parse(path: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def functions_in(path: Path) -> Iterator[Function]:
    """Every function and method of a file, nested ones included."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imports_in(path: Path) -> Iterator[str]:
    """Every imported module's full name, imports inside functions included."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
