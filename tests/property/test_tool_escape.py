"""For every path: nothing outside the workspace is read, changed or made."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from geode.errors import PathRefusedError, ToolError
from geode.messages import SessionId
from geode.tools.paths import parse_file_path, parse_path
from geode.tools.workspace import Workspaces

S1 = SessionId("s1")
NAMES = st.one_of(
    st.sampled_from(
        [
            *("..", ".", "", "a", "b", "out", "root", "up", "self", "secret", "etc", "passwd"),
            *("%2e%2e", "..\\", "\0", "a\n", "～", "ä", "a\u0308", ".geode-x", "x" * 300, "\ud800"),
        ]
    ),
    st.text(max_size=8),
)
PATHS = st.one_of(st.lists(NAMES, max_size=6).map("/".join), st.text(max_size=40))


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file outside the session's folder, with its bytes."""
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_relative_to(folder / "spaces/s1")
    }


@given(PATHS)
def test_no_path_leads_outside(text: str):
    with tempfile.TemporaryDirectory() as place:
        top = Path(place).resolve()
        inside = top / "spaces/s1"
        (inside / "a").mkdir(parents=True)
        (top / "secret").write_text("the secret")
        (top / "spaces/s2").mkdir()
        (top / "spaces/s2/secret").write_text("the secret")
        (inside / "out").symlink_to(top)
        (inside / "up").symlink_to("..")
        (inside / "root").symlink_to("/")
        (inside / "self").symlink_to("/proc/self/root")
        (inside / "secret").symlink_to("../../secret")
        spaces = Workspaces(top / "spaces")
        before = snapshot(top)

        try:
            spaces.write_file(S1, parse_file_path(text), b"written", "r1")
        except ToolError:
            written = False
        else:
            written = True
        try:
            seen = spaces.read_whole(S1, parse_file_path(text))
        except ToolError:
            seen = None

        assert snapshot(top) == before
        if written:
            real = Path(os.path.realpath(inside / parse_path(text).text))
            assert real.is_relative_to(inside)
            assert real.read_bytes() == b"written"
            assert seen == b"written"
        else:
            assert seen is None


@given(PATHS)
def test_a_parsed_path_holds_plain_names_only(text: str):
    try:
        path = parse_path(text)
    except PathRefusedError:
        return

    for name in (*path.given, *path.names):
        assert name not in {"", ".", ".."}
        assert not {"/", "\\", "\0"} & set(name)
        assert len(os.fsencode(name)) <= 255
    assert parse_path(path.text).names == path.names
