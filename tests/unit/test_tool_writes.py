"""The writing file tools: whole or not at all, counted places, honest reconciling."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from fakes.tool_room import arguments_of, call, context, reason_of, text_of

from geode.tools import edit_file, write_file
from geode.tools.edit_file import judge_edit
from geode.tools.workspace import Workspaces

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def spaces(tmp_path: Path) -> Workspaces:
    """Workspaces in a fresh folder."""
    return Workspaces(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The session's folder, made as an upload would make it."""
    (tmp_path / "s1").mkdir()
    return tmp_path / "s1"


async def test_write_file_tells_new_from_replaced(spaces: Workspaces):
    tool = write_file.build(spaces)

    assert "new file a/b" in text_of(await call(tool, path="a/b", content="ä"))
    assert text_of(await call(tool, path="a/b", content="öö")) == "Replaced a/b (4 bytes)."


async def test_write_file_refuses_half_a_character(spaces: Workspaces, tmp_path: Path):
    assert "surrogate" in reason_of(
        await call(write_file.build(spaces), path="a", content="\ud800")
    )
    assert not (tmp_path / "s1").exists()


@pytest.mark.parametrize("path", ["a/\u00e4.txt", "./a//a\u0308.txt", "a/a\u0308.txt"])
def test_write_file_locks_one_key_for_every_spelling(spaces: Workspaces, path: str):
    tool = write_file.build(spaces)
    assert tool.resources is not None

    keys = tool.resources(context(), {"path": path, "content": ""})

    assert keys == ("file:s1:a/\u00e4.txt", "lock:workspace:s1")
    assert keys != tool.resources(context("s2"), {"path": path, "content": ""})


async def test_write_file_reconciles_by_what_the_file_holds(spaces: Workspaces, folder: Path):
    tool = write_file.build(spaces)
    assert tool.reconcile is not None
    arguments = arguments_of({"path": "a", "content": "new"})

    assert await tool.reconcile(context(position=5), arguments) is False
    (folder / "a").write_text("old")
    assert await tool.reconcile(context(position=5), arguments) is False
    (folder / "a").write_text("new")
    assert await tool.reconcile(context(position=5), arguments) is True
    (folder / "a").unlink()
    (folder / "a").mkdir()
    assert await tool.reconcile(context(position=5), arguments) is None
    assert await tool.reconcile(context(), arguments_of({"path": "..", "content": ""})) is False


async def test_reconcile_ends_the_write_of_a_frozen_worker(spaces: Workspaces, folder: Path):
    """The worker froze between writing beside the file and the rename."""
    tool = write_file.build(spaces)
    assert tool.reconcile is not None
    unfinished = folder / f".geode-{context().operation_id}.tmp"
    unfinished.write_text("new")

    happened = await tool.reconcile(context(), arguments_of({"path": "a", "content": "new"}))

    assert happened is False
    assert not unfinished.exists()


async def test_edit_file_replaces_the_only_place(spaces: Workspaces, folder: Path):
    (folder / "f").write_text("one two three")

    assert text_of(await call(edit_file.build(spaces), path="f", old="two", new="2"))
    assert (folder / "f").read_text() == "one 2 three"


@pytest.mark.parametrize(
    ("content", "old", "times"),
    [("a b a", "a", "2 times"), ("aaa", "aa", "2 times"), ("b", "a", "0 t")],
)
async def test_edit_file_says_how_often_the_text_occurs(
    spaces: Workspaces, folder: Path, content: str, old: str, times: str
):
    (folder / "f").write_text(content)

    assert times in reason_of(await call(edit_file.build(spaces), path="f", old=old, new="x"))
    assert (folder / "f").read_text() == content


async def test_edit_file_finds_windows_line_ends_and_the_other_spelling(
    spaces: Workspaces, folder: Path
):
    (folder / "w").write_bytes(b"one\r\ntwo\r\n")
    (folder / "n").write_text("u\u0308ber")
    tool = edit_file.build(spaces)

    assert text_of(await call(tool, path="w", old="one\ntwo", new="1\n2"))
    assert text_of(await call(tool, path="n", old="\u00fcber", new="unter"))

    assert (folder / "w").read_bytes() == b"1\r\n2\r\n"
    assert (folder / "n").read_text() == "unter"


async def test_edit_file_keeps_windows_line_ends_when_only_the_new_text_has_some(
    spaces: Workspaces, folder: Path
):
    (folder / "w").write_bytes(b"one\r\ntwo\r\n")

    await call(edit_file.build(spaces), path="w", old="two", new="2\n3")

    assert (folder / "w").read_bytes() == b"one\r\n2\r\n3\r\n"


async def test_edit_file_leaves_mixed_line_ends_as_they_are(spaces: Workspaces, folder: Path):
    (folder / "w").write_bytes(b"one\r\ntwo\nthree\n")

    await call(edit_file.build(spaces), path="w", old="two", new="2\n3")

    assert (folder / "w").read_bytes() == b"one\r\n2\n3\nthree\n"


async def test_edit_file_keeps_a_byte_order_mark(spaces: Workspaces, folder: Path):
    (folder / "w").write_bytes(b"\xef\xbb\xbfone two")

    await call(edit_file.build(spaces), path="w", old="one", new="1")

    assert (folder / "w").read_bytes() == b"\xef\xbb\xbf1 two"


async def test_edit_file_names_the_lines_of_a_text_that_occurs_often(
    spaces: Workspaces, folder: Path
):
    (folder / "f").write_text("a\nb\na\n\na\n")

    reason = reason_of(await call(edit_file.build(spaces), path="f", old="a", new="x"))

    assert reason.startswith("The old text occurs 3 times, on lines 1, 3 and 5;")


async def test_edit_file_names_the_place_where_only_the_spaces_differ(
    spaces: Workspaces, folder: Path
):
    (folder / "f").write_text("def f():\n\tif x:\n\t\treturn 1\n")

    reason = reason_of(
        await call(edit_file.build(spaces), path="f", old="if x:\n    return 1", new="x")
    )

    assert "does not occur (0 times)" in reason
    assert "line 2 begins a text that differs in its spaces only" in reason


async def test_edit_file_that_changes_nothing_says_so(spaces: Workspaces, folder: Path):
    (folder / "f").write_text("same")

    reason = reason_of(await call(edit_file.build(spaces), path="f", old="same", new="same"))

    assert reason == "The new text is the old one; nothing was changed."


async def test_edit_file_counts_no_further_than_it_tells(spaces: Workspaces, folder: Path):
    """Each of millions of overlapping places would cost as much as the text is long."""
    (folder / "f").write_text("a" * 4_000_000)
    began = time.monotonic()

    old = "a" * 2_000_000
    reason = reason_of(await call(edit_file.build(spaces), path="f", old=old, new="x"))

    assert "occurs more than 100 times" in reason
    assert time.monotonic() - began < 10


async def test_edit_file_refuses_what_is_not_text(spaces: Workspaces, folder: Path):
    (folder / "f").write_bytes(b"old\xff")

    assert "not UTF-8" in reason_of(
        await call(edit_file.build(spaces), path="f", old="old", new="")
    )


async def test_edit_file_reconciles_by_the_mark_of_its_own_write(spaces: Workspaces, folder: Path):
    (folder / "f").write_text("old")
    tool = edit_file.build(spaces)
    assert tool.reconcile is not None
    arguments = arguments_of({"path": "f", "old": "old", "new": "old and new"})
    assert await tool.reconcile(context(position=1), arguments) is False

    assert text_of(await call(tool, 1, path="f", old="old", new="old and new"))

    if has_marks(folder / "f"):
        assert await tool.reconcile(context(position=1), arguments) is True
        assert await tool.reconcile(context(position=2), arguments) is False
    else:
        assert await tool.reconcile(context(position=1), arguments) is None


def has_marks(path: Path) -> bool:
    try:
        return os.getxattr(path, "user.geode.operation") != b""
    except OSError:
        return False


@pytest.mark.parametrize(
    ("text", "old", "new", "happened"),
    [
        ("a new b", "old", "new", True),
        ("a old b", "old", "new", False),
        ("a old new", "old", "new", None),
        ("neither", "old", "new", None),
        ("anything", "old", "", None),
        ("an old thing", "old", "", False),
        ("same", "same", "same", None),
    ],
)
def test_judge_edit_answers_only_what_the_text_shows(
    text: str, old: str, new: str, happened: bool | None
):
    assert judge_edit(text, old, new) is happened


class FullAtRename:
    """A disk that is full when the finished file should take its place."""

    def hit(self, name: str) -> None:
        """Fail at the rename."""
        if name == "rename.before:file":
            raise OSError(errno.ENOSPC, "No space left on device")


async def test_write_file_on_a_full_disk_leaves_everything_as_it_was(tmp_path: Path):
    assert text_of(await call(write_file.build(Workspaces(tmp_path)), path="a", content="old"))
    tool = write_file.build(Workspaces(tmp_path, failpoints=FullAtRename()))

    assert "disk is full" in reason_of(await call(tool, path="a", content="new"))
    assert "disk is full" in reason_of(await call(tool, path="deep/er/b", content="new"))

    assert [p.name for p in (tmp_path / "s1").iterdir()] == ["a"]
    assert (tmp_path / "s1/a").read_text() == "old"
    assert text_of(await call(write_file.build(Workspaces(tmp_path)), path="a", content="new"))


def test_write_file_refused_by_the_kernel_midway_leaves_everything_as_it_was(tmp_path: Path):
    """A real limit of the kernel stops the write after its first bytes (ST-04)."""
    program = textwrap.dedent(
        """
        import asyncio, resource, sys
        from pathlib import Path
        from fakes.tool_room import context
        from geode.tools import write_file
        from geode.tools.workspace import Workspaces
        tool = write_file.build(Workspaces(Path(sys.argv[1])))
        def write(content):
            return asyncio.run(tool.handler(context(), {"path": "a", "content": content}))
        print(write("old"))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        print(write("x" * 1_000_000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        folder = Path(sys.argv[1], "s1")
        print((folder / "a").read_text(), len(list(folder.iterdir())))
        print(write("new"))
        """
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY

    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        timeout=15,
        check=True,
    )

    first, refused, kept, last = done.stdout.splitlines()
    assert first.startswith("Done")
    assert refused.startswith("NotApplied")
    assert "The disk is full" in refused
    assert kept == "old 1"
    assert last.startswith("Done")
