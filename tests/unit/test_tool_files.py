"""The reading file tools as the model meets them: bounded answers and plain refusals."""

from __future__ import annotations

import os
import random
import time
import tracemalloc
from pathlib import Path

import pytest
from fakes.tool_room import call, reason_of, text_of

from geode.tools import edit_file, grep_files, list_files, read_file, write_file
from geode.tools.output import OUTPUT_BYTES_MAX
from geode.tools.workspace import Workspaces


@pytest.fixture
def spaces(tmp_path: Path) -> Workspaces:
    """Workspaces in a fresh folder."""
    return Workspaces(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The session's folder, made as an upload would make it."""
    (tmp_path / "s1").mkdir()
    return tmp_path / "s1"


async def test_read_file_shows_broken_utf8_as_replacement(spaces: Workspaces, folder: Path):
    (folder / "out").write_bytes(b"ok\xff\xfe\xf0!")

    assert text_of(await call(read_file.build(spaces), path="out")) == "ok\ufffd\ufffd\ufffd!"


async def test_read_file_of_three_byte_characters_is_cut_validly(spaces: Workspaces, folder: Path):
    (folder / "long").write_text("語" * 50_000)

    text = text_of(await call(read_file.build(spaces), path="long"))

    assert len(text.encode()) <= OUTPUT_BYTES_MAX
    assert "\ufffd" not in text
    assert "150,000 bytes" in text


async def test_read_file_keeps_the_last_line_of_a_long_file(spaces: Workspaces, folder: Path):
    (folder / "log").write_text("noise\n" * 1_000_000 + "fatal: the last line\n")

    text = text_of(await call(read_file.build(spaces), path="log"))

    assert text.endswith("fatal: the last line\n")
    assert "6,000,021 bytes" in text


async def test_read_file_names_a_binary_file_instead_of_showing_it(
    spaces: Workspaces, folder: Path
):
    noise = random.Random(3).randbytes(1_000_000)  # noqa: S311 - the same noise each time
    (folder / "noise").write_bytes(noise)
    (folder / "pic").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    tool = read_file.build(spaces)

    assert "not UTF-8 text, 1,000,000 bytes" in text_of(await call(tool, path="noise"))
    assert "a PNG image" in text_of(await call(tool, path="pic"))


@pytest.mark.parametrize("window", [{}, {"offset": 10**9, "limit": 5}])
async def test_read_file_of_a_sparse_terabyte_takes_little_memory_and_time(
    spaces: Workspaces, folder: Path, window: dict[str, int]
):
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    started = time.monotonic()
    tracemalloc.start()

    text = text_of(await call(read_file.build(spaces), path="sparse", **window))

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert f"{1 << 40:,} bytes" in text
    assert peak < 5_000_000
    assert time.monotonic() - started < 5


async def test_read_file_by_lines_says_which_lines(spaces: Workspaces, folder: Path):
    (folder / "f").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    tool = read_file.build(spaces)

    assert text_of(await call(tool, path="f", offset=3, limit=2)) == (
        "line 3\nline 4\n[lines 3 to 4]"
    )
    assert text_of(await call(tool, path="f", offset=10)).startswith(
        "line 10\n[lines 10 to 10, the"
    )
    assert "has 10 lines" in reason_of(await call(tool, path="f", offset=11))


async def test_read_file_finds_lines_deep_in_a_large_file(spaces: Workspaces, folder: Path):
    (folder / "f").write_text("".join(f"{n}\n" for n in range(1, 1_000_001)))

    text = text_of(await call(read_file.build(spaces), path="f", offset=999_999, limit=1))

    assert text.startswith("999999\n")


async def test_read_file_makes_terminal_codes_harmless(spaces: Workspaces, folder: Path):
    (folder / "f").write_text("a\x1b]0;title\x07b")

    assert "\x1b" not in text_of(await call(read_file.build(spaces), path="f"))


async def test_read_file_says_what_is_missing(spaces: Workspaces):
    assert reason_of(await call(read_file.build(spaces), path="x")) == "The workspace is empty."


@pytest.mark.parametrize("path", ["/etc/passwd", "../s1/x", "a\\b", "x\0", "/proc/self/environ"])
async def test_every_file_tool_refuses_a_hostile_path(spaces: Workspaces, folder: Path, path: str):
    (folder / "x").write_text("old")

    assert reason_of(await call(read_file.build(spaces), path=path))
    assert reason_of(await call(list_files.build(spaces), path=path))
    assert reason_of(await call(grep_files.build(spaces), path=path, pattern="."))
    assert reason_of(await call(write_file.build(spaces), path=path, content="new"))
    assert reason_of(await call(edit_file.build(spaces), path=path, old="old", new="new"))
    assert (folder / "x").read_text() == "old"


async def test_list_files_is_sorted_with_sizes_and_marks_what_is_not_opened(
    spaces: Workspaces, folder: Path
):
    (folder / "b.txt").write_text("12345")
    (folder / "a").mkdir()
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "new\nline").write_text("")
    (folder / ".geode-r1.tmp").write_text("half")
    os.link(folder / "b.txt", folder / "hard")

    assert text_of(await call(list_files.build(spaces), path=".")).splitlines() == [
        "a/",
        "b.txt (hard link, not opened)",
        "hard (hard link, not opened)",
        "link (link, not followed)",
        "new\\nline (0 bytes)",
    ]


async def test_list_files_is_capped(spaces: Workspaces, folder: Path):
    for number in range(600):
        (folder / f"{number:04}").touch()

    text = text_of(await call(list_files.build(spaces), path="."))

    assert len(text.splitlines()) == 501
    assert "100 more of 600" in text


async def test_list_files_of_a_new_session_is_empty(spaces: Workspaces):
    assert text_of(await call(list_files.build(spaces), path=".")) == "The workspace is empty."


async def test_grep_files_finds_lines_by_expression(spaces: Workspaces, folder: Path):
    (folder / "sub").mkdir()
    (folder / "a.txt").write_text("one\ntwo 22\n")
    (folder / "sub/b.txt").write_text("three 33\n")
    tool = grep_files.build(spaces)

    assert text_of(await call(tool, pattern=r"\d+")) == "a.txt:2: two 22\nsub/b.txt:1: three 33"
    assert text_of(await call(tool, pattern=r"\d+", path="sub")) == "sub/b.txt:1: three 33"
    assert text_of(await call(tool, pattern="two", path="a.txt")) == "a.txt:2: two 22"
    assert text_of(await call(tool, pattern="four")) == "No line matches."
    assert "no folder nope" in reason_of(await call(tool, pattern="x", path="nope"))


@pytest.mark.parametrize("pattern", ["C++", "(", "[", "*", "NEAR(", '"', "悬空", "テスト", "ไทย"])
async def test_grep_files_finds_plain_text_of_any_kind(
    spaces: Workspaces, folder: Path, pattern: str
):
    (folder / "a").write_text(f"before {pattern} after\nother\n")

    assert f"a:1: before {pattern} after" in text_of(
        await call(grep_files.build(spaces), pattern=pattern)
    )


async def test_grep_files_finds_either_spelling_in_either_spelling(
    spaces: Workspaces, folder: Path
):
    (folder / "a").write_text("u\u0308ber\n")
    (folder / "b").write_text("\u00fcber\n")
    tool = grep_files.build(spaces)

    for pattern in ("\u00fcber", "u\u0308ber"):
        text = text_of(await call(tool, pattern=pattern))
        assert {line.split(":")[0] for line in text.splitlines()} == {"a", "b"}
    assert (folder / "a").read_text() == "u\u0308ber\n"


async def test_grep_files_stops_a_pattern_that_never_ends_and_keeps_what_it_found(
    spaces: Workspaces, folder: Path
):
    (folder / "a").write_text("aaa\n")
    (folder / "b").write_text("a" * 60 + "!\n")
    started = time.monotonic()

    text = text_of(await call(grep_files.build(spaces), pattern="^(a+)+$"))

    assert text.startswith("a:1: aaa")
    assert "not complete" in text
    assert time.monotonic() - started < 10


async def test_grep_files_follows_no_link_and_skips_what_is_not_text(
    spaces: Workspaces, folder: Path, tmp_path: Path
):
    (tmp_path / "secret").write_text("needle")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "out").symlink_to(tmp_path)
    os.link(tmp_path / "secret", folder / "hard")
    os.mkfifo(folder / "pipe")
    (folder / "bin").write_bytes(b"\0\0needle")
    (folder / "ok").write_text("needle")
    tool = grep_files.build(spaces)

    assert text_of(await call(tool, pattern="needle")) == "ok:1: needle"
    assert reason_of(await call(tool, pattern="needle", path="link"))
    assert reason_of(await call(tool, pattern="needle", path="out/secret"))


async def test_grep_files_caps_matches_and_long_lines(spaces: Workspaces, folder: Path):
    (folder / "many").write_text("needle\n" * 5_000)
    (folder / "wide").write_text("x" * 3_000 + "pin" + "x" * 1_000_000)
    tool = grep_files.build(spaces)

    many = text_of(await call(tool, pattern="needle"))
    wide = text_of(await call(tool, pattern="pin"))

    assert len(many.splitlines()) == 201
    assert "only the first 200" in many
    assert "pin" in wide
    assert len(wide) < 400


async def test_grep_files_does_not_hand_the_environment_to_its_child(
    spaces: Workspaces, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """A program named in the environment would run in the child if the child saw it."""
    (folder / "a").write_text("needle")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")

    assert text_of(await call(grep_files.build(spaces), pattern="ne+dle")) == "a:1: needle"
