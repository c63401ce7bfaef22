"""A person at the terminal lets a command run, or not, and stops one that runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.sandbox_room import why_none
from fakes.scripted_model import call, say
from fakes.terminal_person import TerminalPerson, sit
from fakes.terminal_world import TerminalWorld, open_terminal

from geode.store.gate_tables import approvals
from geode.store.tables import receipts, turns

pytestmark = pytest.mark.timeout(90)


def results_of(world: TerminalWorld) -> list[str]:
    return [each.text for each in world.model.steps[-1].messages[-1].results]


async def test_command_runs_in_the_sandbox_once_a_person_allows_it(tmp_path: Path) -> None:
    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("run it")
        shown = person.reads("1) Allow once")
        assert "echo $((6 * 7)) > out.txt; cat out.txt" in shown
        person.is_asked()
        person.types("")
        person.reads("An empty line decides nothing")
        person.is_asked()
        person.types("1")
        person.reads("It said 42.")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0

    command = call(("run_bash", {"command": "echo $((6 * 7)) > out.txt; cat out.txt"}))
    script = [command, say("It said 42.")]
    async with open_terminal(tmp_path, script, profile="terminal") as world:
        assert not why_none(), "this test needs the sandbox that run_bash needs"
        await sit(tmp_path, play)

        assert await world.column(approvals.c.state) == ["approved"]
        assert await world.column(receipts.c.state) == ["committed"]
        assert "42" in results_of(world)[0]


async def test_command_that_a_person_denies_with_words_never_runs(tmp_path: Path) -> None:
    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("run it")
        person.reads("3) Deny with a reason")
        person.is_asked()
        person.types("3")
        person.reads("Why not?")
        person.types("not on a Friday")
        person.reads("I leave it.")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0

    script = [call(("run_bash", {"command": "touch gone"})), say("I leave it.")]
    async with open_terminal(tmp_path, script, profile="terminal") as world:
        await sit(tmp_path, play)

        assert await world.column(receipts.c.state) == []
        (text,) = results_of(world)
        assert text.startswith("Refused (approval.denied)")
        assert "not on a Friday" in text


async def test_stop_ends_an_allowed_command_and_what_it_started(tmp_path: Path) -> None:
    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("run it")
        person.reads("1) Allow once")
        person.is_asked()
        person.types("1")
        person.reads("using `run_bash`")
        person.presses("c")
        person.reads("Stopping")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0

    script = [call(("run_bash", {"command": "sleep 300 & sleep 301"}))]
    async with open_terminal(tmp_path, script, profile="terminal") as world:
        await sit(tmp_path, play)

        assert await world.column(turns.c.reason) == ["user_cancelled"]
        (state,) = await world.column(receipts.c.state)
        assert state == "reconciled"
        assert not any(is_sleeping(seconds) for seconds in (300, 301))


def is_sleeping(seconds: int) -> bool:
    """Whether a process anywhere on this machine sleeps for so long."""
    wanted = f"sleep\0{seconds}\0".encode()
    return any(read_line(entry) == wanted for entry in Path("/proc").glob("[0-9]*/cmdline"))


def read_line(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
