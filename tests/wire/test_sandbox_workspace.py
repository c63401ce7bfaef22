"""What a command leaves in the workspace: the daemon's own tools follow, wait for and fear none."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.sandbox_room import CANARY, Room, code_of, output_of, run_unsandboxed, sandbox_room

from geode.messages import JsonObject
from geode.steps import Applied, Done, Ending, NotApplied
from geode.tools import edit_file, grep_files, list_files, read_file, write_file
from geode.tools.sandbox.usage import Usage, find_disk_floor, is_below, measure
from geode.tools.workspace import WorkspaceLimits

SMALL = WorkspaceLimits(file_bytes_max=1_000_000, total_bytes_max=3_000_000, entries_max=50)


@pytest.fixture
def room() -> Iterator[Room]:
    with sandbox_room() as made:
        yield made


@pytest.fixture
def small() -> Iterator[Room]:
    """A room whose workspace may hold little."""
    with sandbox_room(limits=SMALL) as made:
        yield made


async def use(room: Room, name: str, arguments: JsonObject) -> Ending:
    """Call one of the daemon's own file tools."""
    modules = {
        "list_files": list_files,
        "read_file": read_file,
        "grep_files": grep_files,
        "write_file": write_file,
        "edit_file": edit_file,
    }
    tool = modules[name].build(room.spaces)
    return await tool.handler(room.context(position=9), arguments)


def words_of(ending: Ending) -> str:
    match ending:
        case Done():
            return ending.text
        case Applied():
            return ending.error
        case NotApplied():
            return ending.reason


EVERY_TOOL: list[tuple[str, JsonObject]] = [
    ("read_file", {"path": "odd"}),
    ("write_file", {"path": "odd", "content": "owned"}),
    ("edit_file", {"path": "odd", "old": "CANARY", "new": "owned"}),
    ("grep_files", {"pattern": "CANARY", "path": "odd"}),
    ("grep_files", {"pattern": "CANARY"}),
    ("list_files", {"path": "."}),
    ("list_files", {"path": "odd"}),
    ("read_file", {"path": "odd/secret"}),
    ("write_file", {"path": "odd/secret", "content": "owned"}),
]


@pytest.mark.parametrize(("name", "arguments"), EVERY_TOOL)
@pytest.mark.parametrize(
    "target", ["{root}/secret", "{root}", "../../secret", "../..", "/proc/self/root{root}", "/proc"]
)
async def test_link_made_inside_is_never_followed(
    room: Room, name: str, arguments: JsonObject, target: str
) -> None:
    await room.run(f"ln -s {target.format(root=room.root)} odd")
    control = run_unsandboxed("cat odd odd/secret 2>/dev/null", room.folder)
    assert CANARY in control or target == "/proc" or "self" in target

    ending = await use(room, name, arguments)

    assert CANARY not in words_of(ending)
    assert (room.root / "secret").read_text() == CANARY
    assert (room.folder / "odd").is_symlink()


@pytest.mark.parametrize(("name", "arguments"), EVERY_TOOL[:7])
@pytest.mark.parametrize(
    "make",
    [
        "mkfifo odd",
        'perl -MSocket -e "socket(S,AF_UNIX,SOCK_STREAM,0);bind(S,pack_sockaddr_un(q(odd)))"',
        "ln -s odd odd",
        "echo x > one; ln one odd",
        "truncate -s 150M odd",
    ],
)
async def test_odd_file_made_inside_hangs_no_tool(
    room: Room, name: str, arguments: JsonObject, make: str
) -> None:
    said = await room.run(make)
    assert code_of(said) == 0, said

    ending = await use(room, name, arguments)

    assert isinstance(ending, Done | NotApplied)
    assert "\n".join(words_of(ending).splitlines()[:60])


async def test_file_names_of_any_bytes_are_listed_harmlessly(room: Room) -> None:
    await room.run(r"touch $'new\nline' $'\xff\xfe' $'\u202egpj' -- '-rf' $'\e[2J' '.geode-x'")

    listed = words_of(await use(room, "list_files", {"path": "."}))

    assert not any(c in listed for c in "\x1b\u202e\udcff")
    assert ".geode-x" not in listed
    assert len(listed.splitlines()) >= 5


async def test_what_a_command_made_is_the_daemons_to_read_change_and_delete(room: Room) -> None:
    await room.run("mkdir -p d/e; echo one > d/e/f; chmod 000 d/e/f d/e d; umask 777; touch g; :")

    assert words_of(await use(room, "read_file", {"path": "d/e/f"})) == "one\n"
    assert isinstance(await use(room, "edit_file", {"path": "d/e/f", "old": "o", "new": "t"}), Done)
    assert isinstance(await use(room, "write_file", {"path": "d/e/n", "content": "new"}), Done)
    assert output_of(await room.run("cat d/e/f d/e/n; rm -r d g; ls")) == "tne\nnew\n"
    assert list(room.folder.iterdir()) == []


async def test_what_the_daemon_wrote_is_the_commands_to_read_change_and_delete(room: Room) -> None:
    assert isinstance(await use(room, "write_file", {"path": "d/f", "content": "one\n"}), Done)
    assert isinstance(await use(room, "write_file", {"path": "g", "content": "two\n"}), Done)

    said = await room.run("cat d/f g; echo more >> d/f; echo x > d/new; rm g; ls . d")

    assert output_of(said) == "one\ntwo\n.:\nd\n\nd:\nf\nnew\n"
    assert words_of(await use(room, "read_file", {"path": "d/f"})) == "one\nmore\n"


async def test_folder_of_the_session_itself_stays_usable(room: Room) -> None:
    await room.run("touch a; chmod 000 /ws")

    assert "a" in words_of(await use(room, "list_files", {"path": "."}))
    assert output_of(await room.run("ls")) == "a\n"
    assert stat.S_IMODE(room.folder.stat().st_mode) == 0o700


async def test_no_file_takes_rights_or_devices_out_of_the_sandbox(room: Room) -> None:
    await room.run(
        "cp /bin/bash s; chmod 4755 s; chmod u+s s; perl -e 'chmod 06777, q(s)';"
        " install -m 4755 s t; "
        "python3 -c 'import os; os.open(\"u\", os.O_CREAT | os.O_WRONLY, 0o4755)'; mknod c c 1 3; :"
    )

    modes = [each.lstat().st_mode for each in room.folder.rglob("*")]
    assert modes
    assert not any(mode & (stat.S_ISUID | stat.S_ISGID) for mode in modes)
    assert all(stat.S_ISREG(mode) for mode in modes)


async def test_one_file_cannot_outgrow_the_workspace(small: Room) -> None:
    said = await small.run("head -c 50000000 /dev/zero > big; ls -l big | cut -d' ' -f5")

    assert int(output_of(said).splitlines()[-1]) <= SMALL.total_bytes_max


@pytest.mark.parametrize(
    "command",
    [
        "for n in {1..4000}; do head -c 900000 /dev/zero > f$n; sleep 0.02; done",
        "for n in {1..100000}; do : > f$n; sleep 0.002; done",
        "for n in {1..100000}; do ln -s x f$n; sleep 0.002; done",
        "for n in {1..100000}; do mkdir f; cd f; sleep 0.002; done",
        "mkdir d; cd d; for n in {1..100000}; do : > f$n; sleep 0.002; done",
    ],
)
async def test_command_that_fills_the_workspace_is_ended(small: Room, command: str) -> None:
    end = await small.end(command)

    assert isinstance(end, Applied), end
    assert "everything it had started was ended: the workspace holds" in end.error
    refused = await use(small, "write_file", {"path": "w", "content": "x"})
    assert isinstance(refused, NotApplied) or "f/f/f" in command or "cd f" in command


async def test_workspace_that_is_full_can_be_tidied_up(small: Room) -> None:
    await small.end("for n in {1..99}; do head -c 900000 /dev/zero > f$n; sleep 0.02; done")

    full = await small.run("ls | wc -l")
    assert "[the workspace holds" in full
    assert isinstance(await use(small, "write_file", {"path": "w", "content": "x"}), NotApplied)

    tidied = await small.run("rm f*")

    assert "[the workspace holds" not in tidied
    assert isinstance(await use(small, "write_file", {"path": "w", "content": "x"}), Done)


async def test_disk_is_not_taken_in_one_call(room: Room) -> None:
    """Without the filter, a file without a size takes blocks that no file size limit sees."""
    control = run_unsandboxed("touch f; fallocate -n -l 30000000 f && du -k f", room.root)
    assert control.startswith(("29", "30")), control

    said = await room.run(
        "touch f g; fallocate -n -l 30000000 f; fallocate -l 3000000 g; du -k f g"
    )

    assert "not supported" in said
    assert max(int(row.split()[0]) for row in said.splitlines() if row[:1].isdigit()) < 100


def test_usage_counts_blocks_links_and_depth(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10_000)
    (tmp_path / "l").symlink_to("/")
    deep = tmp_path
    for _ in range(70):
        deep /= "d"
        deep.mkdir()
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        found = measure(folder, 1_000)
        cut = measure(folder, 5)
    finally:
        os.close(folder)

    assert found.size >= 10_000
    assert found.entries == 67
    assert found.is_too_deep
    assert cut.entries == 6


def test_usage_beyond_a_limit_counts_only_when_it_grew() -> None:
    limits = WorkspaceLimits(total_bytes_max=100, entries_max=10)

    assert not Usage(100, 10).exceeds(limits, Usage())
    assert Usage(101, 1).exceeds(limits, Usage())
    assert Usage(1, 11).exceeds(limits, Usage())
    assert not Usage(500, 20).exceeds(limits, Usage(500, 20))
    assert Usage(501, 20).exceeds(limits, Usage(500, 20))
    assert Usage(1, 1, is_too_deep=True).exceeds(limits, Usage())
    assert not Usage(1, 1, is_too_deep=True).exceeds(limits, Usage(1, 1, is_too_deep=True))


def test_disk_keeps_a_rest(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        floor = find_disk_floor(folder)
        assert floor > 0
        assert not is_below(folder, floor)
        assert is_below(folder, 1 << 62)
    finally:
        os.close(folder)


async def test_no_other_session_is_in_view(room: Room) -> None:
    other = Room(room.spaces, room.root, session="s2")
    assert CANARY in await other.run("cat other.txt")

    said = await room.run("ls -a /ws /ws/.. ; cat /ws/../s2/other.txt; find / -name other.txt 2>&-")

    assert CANARY not in said
    assert "other.txt\n" not in output_of(said).replace("/ws/../s2/other.txt", "")


async def test_many_files_cost_the_daemon_little_memory(room: Room) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    end = await room.end("perl -e 'for (1..60000) { open F, q(>), qq(f$_); close F }'; sleep 3")

    assert isinstance(end, Applied | Done)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000
