"""`geode ask` and a piped `geode chat`: plain words, and an exit code that says what came of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from fakes.card_room import HAPPENED, PARCEL, burn
from fakes.gate_room import make_tool
from fakes.geode_command import GEODE, Ended, command_environ, run_geode
from fakes.scripted_judge import FAILED
from fakes.scripted_model import call, say
from fakes.terminal_world import TerminalWorld, open_terminal

from geode.llm.errors import Refused
from geode.messages import SessionState
from geode.reply.sentences import NOT_VERIFIED
from geode.steps import Effect, ModelReply, StepSnapshot
from geode.store.tables import cards, inbox, sessions

pytestmark = pytest.mark.timeout(90)
WAIT_S = 40.0


async def run_piped(folder: Path, *arguments: str, given: bytes = b"") -> Ended:
    """Run a command whose standard input is a pipe that ends."""
    process = await asyncio.create_subprocess_exec(
        GEODE,
        *arguments,
        env=command_environ({"GEODE_HOME": str(folder)}),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WAIT_S):
            out, err = await process.communicate(given)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def ask(folder: Path, *arguments: str) -> Ended:
    return await run_geode({"GEODE_HOME": str(folder)}, "ask", *arguments)


async def test_question_is_answered_on_a_line_of_its_own(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("**Four**.")]):
        ended = await ask(tmp_path, "What is two and two?")

    assert (ended.code, ended.out, ended.err) == (0, "**Four**.\n", "")


async def test_answer_for_a_program_is_one_line_of_plain_characters(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("Vier \x9b31m \x1b]0;x\x07 — ok")]) as world:
        ended = await ask(tmp_path, "--json", "--name", "sums", "What?")
        session = (await world.column(sessions.c.id))[0]

    said = json.loads(ended.out)
    assert ended.out.isascii()
    assert ended.out.count("\n") == 1
    assert (said["state"], said["reason"], said["answer"][-4:]) == ("answered", "natural", "— ok")
    assert (said["conversation"], said["session"]) == ("sums", session)


async def test_standard_input_is_the_question_or_a_file(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("One"), say("Two")]) as world:
        asked = await run_piped(tmp_path, "ask", given=b"from the pipe\n")
        attached = await run_piped(tmp_path, "ask", "see it", "--file", "-", given=b"some words")

        assert (asked.out, attached.out) == ("One\n", "Two\n")
        assert [text.strip() for text in await world.column(inbox.c.text)] == [
            "from the pipe",
            "see it",
        ]
        (found,) = (tmp_path / "files").rglob("input.txt")
        assert found.read_bytes() == b"some words"


async def test_failure_is_told_beside_the_answers_with_its_own_code(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [Refused()]):
        ended = await ask(tmp_path, "Hi")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("geode: ")


async def test_file_that_cannot_be_read_is_named_and_nothing_is_said(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as world:
        ended = await ask(tmp_path, "Hi", "--file", "nowhere.txt")

        assert (ended.code, ended.err[:6]) == (1, "geode:")
        assert "nowhere.txt cannot be read" in ended.err
        assert await world.column(inbox.c.id) == []


async def test_turn_that_waits_for_a_decision_has_a_code_of_its_own(tmp_path: Path) -> None:
    worlds: list[TerminalWorld] = []

    async def wait_for_somebody(_step: StepSnapshot) -> ModelReply:
        values = {"state": SessionState.AWAITING_APPROVAL.value, "lease_until_us": 0}
        moved = sessions.update().values(epoch=sessions.c.epoch + 1, lease_owner="", **values)
        await worlds[0].daemon.store.write("suspend", lambda tx: tx.execute(moved) and None)
        await asyncio.Event().wait()
        raise AssertionError

    async with open_terminal(tmp_path, [wait_for_somebody]) as world:
        worlds.append(world)
        ended = await ask(tmp_path, "Hi", "--name", "mine")

    assert (ended.code, ended.out) == (2, "")
    assert "geode chat --name mine" in ended.err


async def test_lines_of_a_pipe_are_messages_and_nobody_decides_through_it(tmp_path: Path) -> None:
    tool = make_tool("send_parcel", Effect.COMMUNICATE, burn).tool
    script = [say("First"), call(("send_parcel", PARCEL)), say("I do not know"), say("Third")]
    async with open_terminal(tmp_path, script, tools=(tool,)) as world:
        given = b"one\n\n/status\ntwo\n1\n"
        ended = await run_piped(tmp_path, "chat", given=given)

        lines = ended.out.splitlines()
        assert ended.code == 0
        assert [line for line in lines if line in ("First", "I do not know", "Third")] == [
            "First",
            "I do not know",
            "Third",
        ]
        assert any(line.startswith("Idle") for line in lines)
        assert "\x1b" not in ended.out
        assert await world.column(cards.c.state) == ["open"]
        assert HAPPENED not in (await world.column(inbox.c.text))


async def test_question_may_skip_its_check_and_its_answer_says_so(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("Four")], verdicts=[FAILED]):
        ended = await ask(tmp_path, "--skip-verification", "What is two and two?")

    assert (ended.code, ended.out) == (0, f"Four\n\n{NOT_VERIFIED}\n")
