"""An answer may be wanted without a check: at the terminal, for one turn, whatever restarts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.review_room import open_review_room
from fakes.scripted_judge import FAILED, RETRY
from fakes.scripted_model import say
from fakes.terminal_world import TerminalWorld, has_answer, open_terminal

from geode.errors import ControlError
from geode.messages import SessionId, TerminationReason
from geode.reply.sentences import NOT_VERIFIED
from geode.serve.terminal_events import SKIPS_VERIFICATION
from geode.steps import ModelReply, StepSnapshot
from geode.store.tables import sessions, turns
from geode.store.timeline import read_last
from geode.transcripts import RoomMessage
from geode.verify.skipping import skip_verification
from geode.verify.structure import Candidate


async def skip(world: TerminalWorld, text: str = "Quick") -> dict[str, str]:
    return await world.say(text, skips_verification=True)


async def checks(world: TerminalWorld) -> list[str]:
    """What the check of each turn came to."""
    return await world.column(turns.c.verification)


async def test_check_is_skipped_for_one_turn_and_comes_back(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("One"), say("Two")], verdicts=[RETRY]) as world:
        said = await skip(world)
        rows = await world.watch(has_answer("One"))
        asking = await world.settle(said["id"])
        assert world.judge.seen == []
        world.judge.verdicts.clear()

        await world.say("And?")
        await world.watch(has_answer("Two"))

        assert rows[-1]["markdown"] == f"One\n\n{NOT_VERIFIED}"
        assert asking["verification"] == "skipped"
        assert await checks(world) == ["skipped", "passed"]
        assert [each.text for each in world.judge.seen] == ["Two"]
        (session,) = await world.column(sessions.c.id)
        *_, entry = await world.daemon.store.read(
            lambda tx: read_last(tx, SessionId(session), "verification", 5)
        )
        assert (entry.body["outcome"], entry.body["by"]) == (
            "skipped",
            [world.daemon.terminal.owner.id],
        )


async def test_wish_outlives_a_restart_before_its_turn_and_ends_with_it(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as world:
        world.daemon.lanes.begin_drain()
        await skip(world)

    async with open_terminal(tmp_path, [say("One"), say("Two")]) as world:
        await world.watch(has_answer("One"))
        await world.say("And?")
        await world.watch(has_answer("Two"))
        assert await checks(world) == ["skipped", "passed"]


async def test_wish_outlives_a_restart_in_its_turn(tmp_path: Path) -> None:
    began = asyncio.Event()

    async def hang(_step: StepSnapshot) -> ModelReply:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with open_terminal(tmp_path, [hang]) as world:
        await skip(world)
        async with asyncio.timeout(10):
            await began.wait()

    async with open_terminal(tmp_path, [say("One"), say("Two")]) as world:
        await world.watch(has_answer("One"))
        await world.say("And?")
        await world.watch(has_answer("Two"))
        assert await checks(world) == ["skipped", "passed"]


async def test_wish_of_a_message_that_was_kept_and_not_taken_is_heeded(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as world:
        await skip(world, "/status")
        terminal = world.daemon.terminal
        payload = {"text": "Lost?", SKIPS_VERIFICATION: True}
        thread = terminal.thread_of("main")
        kept = RoomMessage(thread, "said:main:k12345678", payload, author=terminal.owner)
        await terminal.transcript.put(kept)

    async with open_terminal(tmp_path, [say("Found")]) as world:
        await world.watch(has_answer("Found"))
        assert await checks(world) == ["skipped"]


async def test_message_without_the_wish_in_the_same_turn_is_checked(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as world:
        world.daemon.lanes.begin_drain()
        await skip(world)
        await world.say("Slow")

    async with open_terminal(tmp_path, [say("Both")]) as world:
        await world.watch(has_answer("Both"))
        assert await checks(world) == ["passed"]


def test_what_has_not_the_form_of_an_answer_is_never_accepted() -> None:
    blank = Candidate("Hi", " \n", TerminationReason.NATURAL)
    unfinished = Candidate("Hi", "Words", TerminationReason.NATURAL, has_open_calls=True)

    assert [skip_verification(each) for each in (blank, unfinished)] == [None, None]


async def test_wish_of_somebody_in_a_chat_is_not_heeded(tmp_path: Path) -> None:
    async with open_review_room(tmp_path) as place:
        place.judge.add([FAILED])
        place.worker.model.replies.append(say("draft"))
        await place.room.say("please", sender="U9", skips_verification=True)
        await place.go_on()

        assert await place.state() == "awaiting_review"


@pytest.mark.parametrize("wish", ["yes", 1, None])
async def test_wish_is_yes_or_no(tmp_path: Path, wish: object) -> None:
    async with open_terminal(tmp_path) as world:
        with pytest.raises(ControlError, match="is true or false"):
            await world.say("Hi", skips_verification=wish)


async def test_command_makes_no_turn(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as world:
        await skip(world, "/status")

        assert await checks(world) == []
