"""A command ends in time with everything it started, and what it printed is told within bounds."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from fakes.gate_room import until
from fakes.sandbox_room import (
    Room,
    code_of,
    kill_all,
    output_of,
    processes_with,
    run_program,
    said_of,
    sandbox_room,
    started,
    until_gone,
)
from fakes.source_tree import ROOT

from geode.gate.dispatch import run_handler
from geode.gate.locks import ResourceLocks
from geode.steps import LOCK_ONLY, Applied, Done, NotApplied
from geode.tools.output import OUTPUT_BYTES_MAX
from geode.tools.write_file import file_resources

NAP = f"600.{os.getpid()}"
"""So many seconds does no honest process sleep."""
LATE_S = 5.0
"""What a busy machine is given on top of a limit."""


@pytest.fixture
def room() -> Iterator[Room]:
    with sandbox_room() as made:
        yield made


@pytest.fixture
def hasty() -> Iterator[Room]:
    """A room whose commands have two seconds."""
    with sandbox_room(run_s_max=2.0) as made:
        yield made


async def test_output_error_output_and_exit_code_come_back_in_order(room: Room) -> None:
    said = await room.run("echo one; echo two >&2; echo three; exit 3")

    assert said == "one\ntwo\nthree\n[exit code 3]"


@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("false", 1), ("nonesuch", 127), ("kill -9 $$", 137), ("exit 125", 125)],
)
async def test_exit_code_is_the_commands_own(room: Room, command: str, code: int) -> None:
    assert code_of(await room.run(command)) == code


async def test_quoting_heredoc_and_globs_are_the_shells(room: Room) -> None:
    said = await room.run(
        "cat <<'E' > 'a b'\n$HOME `x` \"q\"\nE\nls *; cat a*; cat <(echo sub)\n# end"
    )

    assert output_of(said) == 'a b\n$HOME `x` "q"\nsub\n'


async def test_command_of_full_length_runs(room: Room) -> None:
    assert output_of(await room.run("echo ok #" + "€" * 19_990)) == "ok\n"


async def test_input_is_empty_and_no_terminal_is_there(room: Room) -> None:
    said = await room.run("cat; read x; echo $?; tty; (exec 3<>/dev/tty) 2>/dev/null || echo none")

    assert output_of(said) == "1\nnot a tty\nnone\n"


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud800"], ids=["NUL", "surrogate"])
async def test_command_that_no_shell_can_read_is_not_run(room: Room, command: str) -> None:
    assert isinstance(await room.end(command), NotApplied)
    assert not room.folder.exists()


async def test_workspace_lasts_from_one_command_to_the_next_and_nothing_else_does(
    room: Room,
) -> None:
    await room.run("echo kept > kept; mkdir d; echo gone | tee /tmp/gone > /dev/shm/gone")

    said = await room.run("cat kept; ls -d d; ls /tmp /dev/shm")

    assert "kept\nd\n" in said
    assert "gone" not in said
    assert (room.folder / "kept").read_text() == "kept\n"


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'sleep NAP & echo hi; sleep NAP'",
        "trap '' TERM INT HUP QUIT; echo hi; while :; do sleep NAP; done",
        "setsid sh -c 'trap \"\" TERM; echo hi; sleep NAP' & sleep NAP",
        "(setsid setsid sleep NAP &) ; echo hi; exec sleep NAP",
        "echo hi; kill -STOP $$; sleep NAP",
        "echo hi; exec > /dev/null 2>&1; sleep NAP",
        "echo hi; exec >&- 2>&-; sleep NAP",
        "perl -e 'fork; fork; fork; $|=1; print \"hi\\n\"; sleep NAP'",
    ],
)
async def test_command_past_its_time_is_ended_with_all_it_started(
    hasty: Room, command: str
) -> None:
    """AG-05."""
    began = time.monotonic()

    end = await hasty.end(command.replace("NAP", NAP))

    assert time.monotonic() - began < 2 + LATE_S
    assert isinstance(end, Applied), end
    assert end.error.startswith("hi\n")
    assert "[timed out after 2 s" in end.error
    assert processes_with(NAP) == []


async def test_child_in_its_own_session_cannot_hold_the_return(room: Room) -> None:
    """AG-05; without a sandbox the pipe stays open."""
    command = f"setsid sleep {NAP} & echo hi"
    with pytest.raises(subprocess.TimeoutExpired):
        run_program("bash", "-c", command, timeout_s=2)
    kill_all(processes_with(NAP))
    began = time.monotonic()

    said = await room.run(command)

    assert time.monotonic() - began < LATE_S
    assert output_of(said) == "hi\n"
    assert processes_with(NAP) == []


async def test_turns_time_left_is_the_commands_limit(room: Room) -> None:
    began = time.monotonic()

    end = await room.end(f"echo hi; sleep {NAP}", deadline_s=3.0)

    assert time.monotonic() - began < 3 + LATE_S
    assert isinstance(end, Applied), end
    assert end.error.startswith("hi\n[timed out after 2.25 s")


async def test_stopped_command_ends_within_two_seconds(room: Room) -> None:
    """AG-05: what a person's /stop does to the call."""
    tool, locks = room.tool(), ResourceLocks()
    hold = await locks.acquire(["shell"], 1)
    assert hold is not None
    call = run_handler(
        tool, room.context(), {"command": f"touch begun; sleep {NAP}"}, timeout_s=60, hold=hold
    )
    task = asyncio.create_task(call)
    await until((room.folder / "begun").exists)
    began = time.monotonic()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    hold.release()
    assert await locks.acquire(["shell"], 10) is not None  # free once the command has ended

    assert time.monotonic() - began < 2 + LATE_S / 2
    assert processes_with(NAP) == []


async def test_command_dies_with_the_daemon(room: Room) -> None:
    """AG-05: the daemon is killed while the tool runs."""
    code = (
        "import asyncio, sys; from pathlib import Path; from fakes.sandbox_room import Room;"
        "from geode.tools.workspace import Workspaces; root = Path(sys.argv[1]);"
        "room = Room(Workspaces(root / 'files'), root);"
        f"asyncio.run(room.end('touch begun; setsid sleep {NAP} & sleep {NAP}'))"
    )
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    env = os.environ | {"PYTHONPATH": path}
    with started(sys.executable, "-c", code, str(room.root), env=env):
        await until((room.folder / "begun").exists)
        await until(lambda: len(processes_with(f"sleep\0{NAP}")) == 2)

    await until_gone(NAP)


async def test_output_is_kept_at_both_ends_with_its_true_size(room: Room) -> None:
    """AG-06."""
    said = await room.run("echo first; yes | head -c 50000000; echo last-line >&2; exit 7")

    assert len(said.encode()) <= OUTPUT_BYTES_MAX
    assert said.startswith("first\ny\n")
    assert said.endswith("last-line\n[exit code 7]")
    assert "50,000,016 bytes" in said


async def test_flood_grows_the_daemon_little_and_lets_it_work(hasty: Room) -> None:
    """AG-06: `yes` for all of its time; the loop goes on meanwhile."""
    await hasty.run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.05)
            ticks += 1

    ticking = asyncio.create_task(tick())
    end = await hasty.end("yes & yes")
    ticking.cancel()

    assert isinstance(end, Applied)
    assert len(end.error.encode()) <= OUTPUT_BYTES_MAX
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    assert ticks >= 5


async def test_bytes_that_are_no_text_are_shown_as_such(room: Room) -> None:
    """AG-06."""
    said = await room.run(r"printf 'ok\xff\xfe\xf0!'")

    assert said == "ok\ufffd\ufffd\ufffd!\n[exit code 0]"


@pytest.mark.parametrize(
    "command",
    [
        "head -c 1000000 /dev/urandom",
        "head -c 1000000 /dev/zero",
        "for i in {1..50000}; do printf '€'; done",
        "printf '\\e[2J\\e]0;title\\a\\r\\b\\x9b31m'",
        "perl -e 'print chr($_ % 256) x 999 for 1..999'",
    ],
)
async def test_any_output_is_valid_text_within_the_cap(room: Room, command: str) -> None:
    """AG-06."""
    said = await room.run(command)

    raw = said.encode()
    assert len(raw) <= OUTPUT_BYTES_MAX
    assert json.loads(json.dumps(said)) == said
    assert not any(c in said for c in "\0\x1b\x07\x9b")
    assert said.endswith("[exit code 0]")


async def test_one_command_runs_after_the_other_in_a_session(room: Room) -> None:
    tool = room.tool()
    assert tool.resources is not None
    shell = tool.resources(room.context(), {"command": "x"})
    writes = file_resources(room.context(), {"path": "a", "content": ""})
    other = file_resources(room.context(), {"path": "b", "content": ""})

    assert set(shell) & set(writes) == set(shell) & set(other) != set()
    assert all(key.startswith(LOCK_ONLY) for key in set(shell) & set(writes))
    assert room.session in " ".join(shell)


async def test_lock_only_keys_keep_apart_and_stand_in_no_receipt() -> None:
    locks = ResourceLocks()
    first = await locks.acquire(["lock:ws", "file:a"], 1)
    assert first is not None

    assert first.keys == ("file:a",)
    assert await locks.acquire(["lock:ws", "file:b"], 0.05) is None
    first.release()
    second = await locks.acquire(["lock:ws", "file:b"], 1)
    assert second is not None
    second.release()
    assert locks.keys_held == 0


async def test_more_commands_than_places_wait_for_one(room: Room) -> None:
    rooms = [Room(room.spaces, room.root, session=f"many{n}") for n in range(8)]

    ends = await asyncio.gather(*(each.end("sleep 0.3; echo done") for each in rooms))

    assert [said_of(end) for end in ends] == ["done\n[exit code 0]"] * 8


async def test_read_back_says_whether_the_command_began(room: Room) -> None:
    tool, context = room.tool(), room.context(position=4)
    assert tool.reconcile is not None

    assert await tool.reconcile(context, {"command": "x"}) is False
    assert isinstance(await tool.handler(context, {"command": "true"}), Done)
    assert await tool.reconcile(context, {"command": "true"}) is True
    assert await tool.reconcile(room.context(position=5), {"command": "true"}) is False


async def test_command_in_no_list_of_processes_and_no_argument(room: Room) -> None:
    """Other users of the machine can read every argument list."""
    task = asyncio.create_task(room.end(f"touch begun; sleep 1 # SEEN-{NAP}"))
    await until((room.folder / "begun").exists)

    assert processes_with(f"SEEN-{NAP}") == []
    assert isinstance(await task, Done)
