"""Files tell one concern, functions fit on a page, and what is banned is not there."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from fakes.source_tree import Function, functions_in, list_sources, list_texts, name_of, parse

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 6
BOUNDARIES = {
    "channel event": 7,
    "turn": 1,
    "turn or delivery": 1,
    "delivery": 5,
    "tool run": 1,
    "write unit": 2,
}
"""Where one failure must not take down the rest; each such place stands in the code by name."""

each_source = pytest.mark.parametrize("path", list_sources(), ids=name_of)


@each_source
def test_file_tells_one_concern(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES_MAX


@each_source
def test_functions_fit_on_a_page(path: Path) -> None:
    lengths = {f.name: (f.end_lineno or f.lineno) - f.lineno + 1 for f in functions_in(path)}

    assert {name: n for name, n in lengths.items() if n > FUNCTION_LINES_MAX} == {}


def _count_parameters(function: Function) -> int:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([a for a in named if a.arg not in {"self", "cls"}])


@each_source
def test_functions_take_few_parameters(path: Path) -> None:
    counts = {f.name: _count_parameters(f) for f in functions_in(path)}

    assert {name: n for name, n in counts.items() if n > PARAMETERS_MAX} == {}


@each_source
def test_module_says_what_it_promises(path: Path) -> None:
    assert ast.get_docstring(parse(path))


@pytest.mark.parametrize(
    "path",
    [p for p in list_sources() if p.name == "__init__.py" and p.parent.name != "cli"],
    ids=name_of,
)
def test_package_file_holds_its_docstring_only(path: Path) -> None:
    assert len(parse(path).body) == 1


@each_source
def test_nothing_is_left_for_later(path: Path) -> None:
    left = re.findall(r"\b(?:TODO|FIXME|XXX|NotImplementedError)\b", path.read_text("utf-8"))

    assert left == []


@each_source
def test_time_is_an_argument(path: Path) -> None:
    calls = re.findall(
        r"\b(?:datetime\.(?:now|utcnow|today)|time\.time|time\.sleep|date\.today)\(",
        path.read_text(encoding="utf-8"),
    )

    assert calls == []


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    """Whether it takes any error and keeps it; one that tidies up and raises on does not."""
    kinds = [] if handler.type is None else list(ast.walk(handler.type))
    names = {kind.id for kind in kinds if isinstance(kind, ast.Name)}
    is_broad = handler.type is None or bool({"Exception", "BaseException"} & names)
    last = handler.body[-1]
    passes_on = isinstance(last, ast.Raise) and last.exc is None
    return is_broad and not passes_on


def test_broad_excepts_stand_at_the_named_boundaries_only() -> None:
    found: Counter[str] = Counter()
    for path in list_sources():
        lines = ["", *path.read_text(encoding="utf-8").splitlines()]
        handlers = [n for n in ast.walk(parse(path)) if isinstance(n, ast.ExceptHandler)]
        for line in (h.lineno for h in handlers if _catches_everything(h)):
            named = re.search(r"# boundary: ([a-z ]+)", f"{lines[line - 1]}\n{lines[line]}")
            assert named, f"{name_of(path)}:{line} catches everything without a named boundary"
            found[named[1].strip()] += 1

    assert dict(found) == BOUNDARIES


# A letter in brackets keeps a pattern from finding itself.
_HERE = re.compile(r"(?<![\w.])/(?:[w]ork|[r]oot|[f]arm)/|\.\./[s]hared\b")
_UNREAL = re.compile(
    r"unittest\.[m]ock|\b[m]ocker\b|[i]mportorskip|pytest\.(?:mark\.)?(?:[s]kip|[x]fail)"
)


@pytest.mark.parametrize("path", list_texts(), ids=name_of)
def test_text_names_no_machine_it_was_written_on(path: Path) -> None:
    assert _HERE.findall(path.read_text(encoding="utf-8", errors="replace")) == []


LEFT_OUT = {
    "tests/fakes/browser.py": ["pytest.mark.[s]kip".replace("[s]", "s")],
    "tests/fakes/sandbox_room.py": ["pytest.[s]kip".replace("[s]", "s")],
}
"""What a developer's machine may lack, with the reason printed; .ci/run installs it."""


@pytest.mark.parametrize("path", list_sources("tests"), ids=name_of)
def test_tests_use_real_things_and_leave_none_out(path: Path) -> None:
    assert _UNREAL.findall(path.read_text(encoding="utf-8")) == LEFT_OUT.get(name_of(path), [])
