"""Where no sandbox can be had the tool is absent with the reason; it never runs without one."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.gate_room import until
from fakes.sandbox_room import Room, require_sandbox, run_program, said_of, sandbox_room

from geode.gate.policy import Deny, find_tool, project_plan
from geode.messages import UNATTENDED, Mode, SessionId
from geode.ports import SystemClock
from geode.session.toolbox import Toolbox
from geode.settings import BUILTIN_PROFILES, Profile
from geode.steps import Done, NotApplied
from geode.tools import run_bash
from geode.tools.sandbox.bounds import Bounds
from geode.tools.sandbox.control_groups import Group, make_group, remove_left_over
from geode.tools.sandbox.detect import (
    PROBE_S,
    SandboxProbe,
    explain_absence,
    find_programs,
    is_machine_root,
    try_sandbox,
)
from geode.tools.sandbox.run import Command, Stop, run_command
from geode.tools.shell import ShellTools, find_exposure
from geode.tools.workspace import Workspaces

GRANTED = Profile("p", frozenset({"run_bash"}), frozenset())


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def programs(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, holding only what root needs beside bubblewrap."""
    folder = open_folder / "bin"
    folder.mkdir()
    for name in ("unshare", "setpriv"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def put_bwrap(programs: Path, script: str) -> None:
    place = programs / "bwrap"
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


def shell_of(probe: SandboxProbe, folder: Path) -> ShellTools:
    tool = run_bash.build(Workspaces(folder / "files"), SystemClock(), probe=probe)
    return ShellTools(tool, probe, folder)


def test_machine_with_a_sandbox_has_the_tool(tmp_path: Path) -> None:
    require_sandbox()
    probe = SandboxProbe()
    shell = shell_of(probe, tmp_path)

    verdict = probe.wait()

    assert verdict.sandbox is not None
    assert [tool.name for tool in shell.tools] == ["run_bash"]
    assert (dict(shell.absences), shell.generation) == ({}, 0)
    assert set(shell.names) == {"run_bash"}


def test_missing_program_is_known_without_a_look(programs: Path, tmp_path: Path) -> None:
    shell = shell_of(SandboxProbe(), tmp_path)

    assert shell.tools == ()
    assert shell.generation == 1
    absence = shell.absences["run_bash"]
    assert absence.rule == "sandbox.missing"
    assert "bubblewrap is not installed" in absence.sentence
    assert "never without one" in absence.sentence
    assert set(shell.names) == {"run_bash"}
    assert programs.exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to"),
        ("[ $1 = --version ] && echo bubblewrap 0.4.1; exit 1", "0.4.1 is too old; 0.8.0"),
        ("exit 0", "ended without a word"),
        ("head -c 100000 /dev/zero; exit 1", "cannot make one here"),
    ],
)
def test_program_that_makes_no_sandbox_is_told(programs: Path, script: str, reason: str) -> None:
    put_bwrap(programs, script)

    verdict = SandboxProbe().wait()

    assert verdict.sandbox is None
    assert reason in verdict.reason


@pytest.mark.parametrize(
    "script",
    [
        # Says that it isolates, and runs the words as they are.
        'shift; shift; shift; exec "$@"',
        'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    ],
)
def test_program_that_only_claims_to_isolate_is_found_out(programs: Path, script: str) -> None:
    put_bwrap(programs, script)

    verdict = SandboxProbe().wait()

    assert verdict.sandbox is None
    assert "no process namespace of its own" in verdict.reason


def test_look_is_bounded(programs: Path) -> None:
    put_bwrap(programs, "exec /bin/sleep 300")
    began = time.monotonic()

    verdict = SandboxProbe().wait()

    assert time.monotonic() - began < PROBE_S
    assert "was not ready within" in verdict.reason


def test_begin_waits_for_nothing_and_looks_once(programs: Path) -> None:
    (programs / "looks").touch()
    (programs / "looks").chmod(0o666)
    put_bwrap(programs, f"echo x >> {programs}/looks; exec /bin/sleep 1")
    probe = SandboxProbe()
    began = time.monotonic()

    for _ in range(50):
        probe.begin()

    assert time.monotonic() - began < 1
    assert probe.verdict is None
    assert probe.wait().reason
    assert (programs / "looks").read_text().count("x") == 2  # the look, and its version


async def test_call_while_nobody_knows_yet_waits_and_is_refused(
    programs: Path, tmp_path: Path
) -> None:
    put_bwrap(programs, "/bin/sleep 0.3; exit 1")
    probe = SandboxProbe()
    shell = shell_of(probe, tmp_path)
    assert [tool.name for tool in shell.tools] == ["run_bash"]
    toolbox = Toolbox((shell,))
    before = toolbox.generation
    room = Room(Workspaces(tmp_path / "files"), tmp_path)

    ending = await shell.tools[0].handler(room.context(), {"command": f"touch {tmp_path}/ran"})

    assert isinstance(ending, NotApplied)
    assert "never without one" in ending.reason
    await until(lambda: shell.tools == ())
    assert toolbox.generation == before + 1
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("is_there", [True, False])
def test_refusal_names_its_rule_in_every_mode(mode: Mode, *, is_there: bool) -> None:
    tool = run_bash.build(Workspaces(Path("/nowhere")), SystemClock())
    absences = {} if is_there else {"run_bash": explain_absence("bubblewrap is not installed")}

    plan = project_plan([tool] if is_there else [], mode, GRANTED, absences=absences)
    found = find_tool(plan, "run_bash")

    if mode in UNATTENDED:
        assert isinstance(found, Deny)
        assert found.rule == "mode.removed"
        assert "run_bash is not available" in found.sentence
    elif is_there:
        assert found is tool
    else:
        assert isinstance(found, Deny)
        assert found.rule == "sandbox.missing"
        assert "bubblewrap is not installed" in found.sentence
    ungranted = find_tool(project_plan([], mode, None, absences=absences), "run_bash")
    assert isinstance(ungranted, Deny)


def test_terminal_profile_offers_the_shell_with_an_approval() -> None:
    tool = run_bash.build(Workspaces(Path("/nowhere")), SystemClock())

    plan = project_plan([tool], Mode.REPL, BUILTIN_PROFILES["terminal"])

    assert "run_bash" in plan.by_name
    assert tool.policy.approval == "ask"


@pytest.mark.parametrize("place", ["/usr/local/geode", "/usr", "/bin/geode", "/lib/geode/state"])
def test_state_that_commands_could_read_takes_the_tool_away(place: str) -> None:
    tool = run_bash.build(Workspaces(Path(place, "files")), SystemClock())
    shell = ShellTools(tool, SandboxProbe(), Path(place))

    assert shell.tools == ()
    assert "which commands can read" in shell.absences["run_bash"].sentence


def test_state_elsewhere_takes_nothing_away(tmp_path: Path) -> None:
    assert find_exposure(tmp_path) == ""
    assert find_exposure(Path("/usrlocal/x")) == ""
    (tmp_path / "link").symlink_to("/usr/local")
    assert find_exposure(tmp_path / "link" / "state")


def test_import_starts_nothing() -> None:
    code = (
        "import subprocess, sys, threading\n"
        "subprocess.Popen = None\n"
        "import geode.app\n"
        "from geode.tools.sandbox.detect import PROBE\n"
        "assert PROBE.verdict is None\n"
        "print([t.name for t in threading.enumerate()])\n"
    )

    done = run_program(sys.executable, "-c", code)

    assert done.stdout.decode().strip() == "['MainThread']", done.stderr.decode()


def test_groups_bound_what_they_can_and_are_taken_away(tmp_path: Path) -> None:
    group = make_group(Bounds())
    folders = list(group.folders)

    for folder in folders:
        for name in ("pids.max", "memory.max", "memory.limit_in_bytes"):
            if (folder / name).exists():
                assert (folder / name).read_text().strip() != "max"
    group.remove()

    assert not any(folder.exists() for folder in folders)
    assert make_group(Bounds(), root=tmp_path / "none") == Group()
    # A plain folder is no group: nothing is left there.
    assert make_group(Bounds(), root=tmp_path) == Group()
    assert list(tmp_path.iterdir()) == []


def test_groups_of_daemons_that_are_gone_are_taken_away(tmp_path: Path) -> None:
    gone, ours = tmp_path / "geode-run-999999999-ab", tmp_path / f"geode-run-{os.getpid()}-ab"
    gone.mkdir()
    ours.mkdir()

    remove_left_over(tmp_path)

    assert not gone.exists()
    assert ours.exists()


def test_sandbox_works_for_a_user_who_is_not_root(open_folder: Path) -> None:
    """A service runs as a user of its own; only root's tests need to become one."""
    require_sandbox()
    answer = open_folder / "answer"
    state = open_folder / "state"
    state.mkdir()
    if os.geteuid() == 0:
        os.chown(state, 64_000, 64_000)
        os.chown(open_folder, 64_000, 64_000)
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(64_000, 64_000, 64_000)
                os.setresuid(64_000, 64_000, 64_000)
            answer.write_text(_look_as_a_user(state))
        finally:
            os._exit(0)
    os.waitpid(child, 0)

    assert answer.read_text() == "ok"


def _look_as_a_user(state: Path) -> str:
    programs = find_programs()
    if isinstance(programs, str) or is_machine_root() or programs.as_nobody is not None:
        return f"not a user: {programs}"
    verdict = try_sandbox(programs)
    if verdict.sandbox is None:
        return verdict.reason
    forks = (
        b"touch made; perl -e 'for (1..400) { my $k = fork; exec qw(sleep 9) if defined $k && !$k;"
    )
    forks += b" last unless defined $k; $n++ } print $n'"
    spaces, stop = Workspaces(state), Stop()
    ran = run_command(verdict.sandbox, spaces, Command(SessionId("s"), forks, "r", 15), stop)
    made = state / "s" / "made"
    if not made.exists() or made.stat().st_uid != os.getuid():
        return f"no file of its own: {ran.end}"
    forked = int(ran.end.output)
    return "ok" if 20 < forked <= Bounds().processes_max else ran.end.output[:500]


async def test_room_for_tests_runs_what_the_tool_runs() -> None:
    with sandbox_room() as room:
        end = await room.end("echo ok")

    assert isinstance(end, Done)
    assert said_of(end) == "ok\n[exit code 0]"
