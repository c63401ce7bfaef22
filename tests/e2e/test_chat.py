"""`geode chat` as a person has it: talk, watch, stop, decide, leave and come back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.card_room import DID_NOT, HAPPENED, PARCEL, burn
from fakes.gate_room import make_tool
from fakes.geode_command import run_geode
from fakes.scripted_model import call, say
from fakes.terminal_person import TerminalPerson, at_terminal, sit
from fakes.terminal_world import open_terminal

from geode.steps import Effect, ModelReply, StepSnapshot
from geode.store.tables import cards, inbox, turns

pytestmark = pytest.mark.timeout(90)
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b]52;c;aGk=\x1b\\\x9b31mred\x9d0;x\x9c and <b>bold</b>\x08\x7f"


async def test_person_talks_commands_leaves_and_comes_back(tmp_path: Path) -> None:
    def first(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("Hi")
        person.reads("A list")
        assert "**" not in person.is_asked()
        person.types("/status")
        person.reads("Idle")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0

    def second(person: TerminalPerson) -> None:
        before = person.is_asked()
        assert "You: Hi" in before
        assert "A list" in before
        person.presses("d")
        assert person.ends() == 0

    async with open_terminal(tmp_path, [say("A list of **two**:\n\n- one\n- two")]):
        await sit(tmp_path, first)
        await sit(tmp_path, second)


async def test_answer_and_names_act_on_nothing_in_the_terminal(tmp_path: Path) -> None:
    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("Hi")
        person.reads("<b>bold</b>")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0
        for part in ("\x1b]", "\x1b[2J", "\x07", "\x9b", "\x9d", "\x08\x7f", "owned"):
            assert part not in person.raw.replace(">\x08", "")

    async with open_terminal(tmp_path, [say(HOSTILE)]):
        await sit(tmp_path, play)


def parcel_tools() -> tuple[object, list[object]]:
    tool = make_tool("send_parcel", Effect.COMMUNICATE, burn).tool
    return tool, [call(("send_parcel", PARCEL)), say("I do not know")]


async def test_effect_is_settled_by_number_and_an_empty_line_settles_nothing(
    tmp_path: Path,
) -> None:
    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("send it")
        shown = person.reads(f"1) {HAPPENED}")
        assert "to Ada" in shown
        assert "Did send_parcel happen?" in shown
        person.is_asked()
        person.types("")
        person.reads("An empty line decides nothing")
        person.is_asked()
        person.types("yes")
        person.reads("none of the answers")
        person.is_asked()
        person.types("2")
        person.reads("Settled: send_parcel")
        person.reads("It did not happen.")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0

    tool, script = parcel_tools()
    async with open_terminal(tmp_path, script, tools=(tool,)) as world:  # type: ignore[arg-type]
        await sit(tmp_path, play)

        assert await world.column(cards.c.choice) == ["did_not"]


async def test_card_left_by_eof_waits_for_whoever_comes_back(tmp_path: Path) -> None:
    def leave(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("send it")
        person.reads("Choose> ".rstrip())
        person.presses("d")
        assert person.ends() == 0

    def settle(person: TerminalPerson) -> None:
        person.reads(f"2) {DID_NOT}")
        person.is_asked()
        person.types("later")
        person.reads("/cards asks again")
        person.is_asked()
        person.types("/cards")
        person.reads(f"1) {HAPPENED}")
        person.is_asked()
        person.types(HAPPENED.lower())
        person.reads("Settled: send_parcel")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0

    tool, script = parcel_tools()
    async with open_terminal(tmp_path, script, tools=(tool,)) as world:  # type: ignore[arg-type]
        await sit(tmp_path, leave)
        assert await world.column(cards.c.state) == ["open"]

        await sit(tmp_path, settle)

        assert await world.column(cards.c.choice) == ["happened"]


async def test_line_typed_before_the_card_was_shown_decides_nothing(tmp_path: Path) -> None:
    go, loop = asyncio.Event(), asyncio.get_running_loop()

    async def wait_then_send(_step: StepSnapshot) -> ModelReply:
        await go.wait()
        return call(("send_parcel", PARCEL))

    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("send it")
        person.reads("Working on it")
        person.types("1")
        loop.call_soon_threadsafe(go.set)
        person.reads(f"1) {HAPPENED}")
        person.is_asked()
        person.types("")
        assert "none of the answers" not in person.reads("An empty line decides nothing")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0

    tool, (_, last) = parcel_tools()
    script = [wait_then_send, last]
    async with open_terminal(tmp_path, script, tools=(tool,)) as world:  # type: ignore[arg-type]
        await sit(tmp_path, play)

        assert await world.column(cards.c.state) == ["open"]


async def hang(_step: StepSnapshot) -> ModelReply:
    await asyncio.Event().wait()
    raise AssertionError


async def test_ctrl_c_stops_the_turn_and_twice_it_leaves(tmp_path: Path) -> None:
    def stop(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("think hard")
        person.reads("Working on it")
        person.presses("c")
        person.reads("Stopping")
        person.is_asked()
        person.presses("c")
        person.reads("again, or Ctrl-D, leaves")
        person.is_asked()
        person.presses("c")
        assert person.ends() == 0

    async with open_terminal(tmp_path, [hang]) as world:
        await sit(tmp_path, stop)

        assert await world.column(turns.c.reason) == ["user_cancelled"]


async def test_window_may_change_its_size_while_a_line_is_typed(tmp_path: Path) -> None:
    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.resizes(10, 30)
        person.types("a line that is longer than the window is wide now")
        person.reads("Narrow")
        person.resizes(50, 160)
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0

    async with open_terminal(tmp_path, [say("Narrow " + "word " * 50)]) as world:
        await sit(tmp_path, play)

        assert await world.column(inbox.c.text) == [
            "a line that is longer than the window is wide now"
        ]


async def test_simple_terminal_is_enough(tmp_path: Path) -> None:
    def play(person: TerminalPerson) -> None:
        person.reads("> ")
        person.types("Hi")
        person.reads("Plain")
        person.reads("> ")
        person.presses("d")
        assert person.ends() == 0

    async with open_terminal(tmp_path, [say("Plain words")]):
        await sit(tmp_path, play, term="dumb")


async def test_without_a_daemon_it_says_what_to_do(tmp_path: Path) -> None:
    for verb in (("chat",), ("ask", "Hi")):
        ended = await run_geode({"GEODE_HOME": str(tmp_path)}, *verb)

        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith(f"geode: No daemon is running on {tmp_path}; start one with")
        assert "geode chat --local" in ended.err


async def test_local_chat_needs_no_daemon_and_keeps_others_out(tmp_path: Path) -> None:
    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("Hello")
        person.reads("rehearsal model")
        person.is_asked()
        with at_terminal(tmp_path, "--local") as other:
            other.reads("geode chat without --local")
            assert other.ends() == 1
        person.presses("d")
        assert person.ends() == 0

    await sit(tmp_path, play, "--local")

    ended = await run_geode({"GEODE_HOME": str(tmp_path)}, "sessions", "list")
    assert "terminal/local/" in ended.out
