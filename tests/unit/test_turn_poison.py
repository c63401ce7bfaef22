"""A turn whose restoring fails, every time, is given up like any other that never ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fakes.gate_room import make_tool
from fakes.scripted_model import call, say
from fakes.spine_room import LEASE_S, SpineRoom, open_room
from sqlalchemy import update

from geode.messages import JsonObject, SessionId
from geode.steps import Done, Effect, Ending, Tool, ToolContext
from geode.store.database import Tx
from geode.store.tables import checkpoints, messages, receipts, turns


class Hanging:
    """A tool that begins an effect and never says what became of it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.worker: asyncio.Task[bool] | None = None
        self.tool: Tool = make_tool("send_parcel", Effect.COMMUNICATE, self._hang).tool

    async def end(self) -> None:
        """Stop the worker that never woke."""
        assert self.worker is not None
        self.worker.cancel()
        await asyncio.wait((self.worker,))

    async def _hang(self, _context: ToolContext, _arguments: JsonObject) -> Ending:
        self.begun.set()
        await asyncio.Event().wait()
        return Done("never")


async def die_in_an_effect(
    room: SpineRoom, hanging: Hanging, *, is_readable: bool = False
) -> SessionId:
    """Leave an orphan batch, whose checkpoint no worker can read unless said otherwise."""
    await room.say("send it")
    session_id = await room.session_id()
    send = call(("send_parcel", {"text": "x"}))
    frozen = room.worker("frozen", [send]).runner.run_session(session_id)
    hanging.worker = asyncio.create_task(frozen)
    await hanging.begun.wait()

    def spoil(tx: Tx) -> None:
        tx.execute(update(checkpoints).values(batch='{"step":1,"positions":[7]}'))

    if not is_readable:
        await room.store.write("spoil", spoil)
    await room.clock.sleep(LEASE_S + 1)
    return session_id


async def run_until_given_up(room: SpineRoom, hanging: Hanging) -> int:
    """Claim again and again as a sweep does; how many claims failed."""
    session_id = await die_in_an_effect(room, hanging)
    failed = 0
    for number in range(6):
        worker = room.worker(f"w{number}", [say("never said")])
        try:
            await worker.runner.run_session(session_id)
        except IndexError:
            failed += 1
            await room.clock.sleep(LEASE_S + 1)
        else:
            break
    await hanging.end()
    return failed


async def test_turn_that_cannot_be_restored_is_poisoned_after_three_tries(tmp_path: Path) -> None:
    hanging = Hanging()
    async with open_room(tmp_path, tools=(hanging.tool,)) as room:
        assert await run_until_given_up(room, hanging) == 2

        assert await room.rows(turns.c.reason, turns.c.attempts) == [("poisoned", 4)]
        assert "gave it up" in (await room.said("answer"))[0]
        assert await room.state(await room.session_id()) == "idle"


async def test_effect_of_a_turn_that_was_given_up_unread_is_uncertain_and_told(
    tmp_path: Path,
) -> None:
    hanging = Hanging()
    async with open_room(tmp_path, tools=(hanging.tool,)) as room:
        await run_until_given_up(room, hanging)

        assert await room.rows(receipts.c.state) == ["uncertain"]
        (told,) = await room.said("card")
        assert "geode effects settle" in told


async def test_thread_goes_on_with_a_whole_history_after_it(tmp_path: Path) -> None:
    hanging = Hanging()
    async with open_room(tmp_path, tools=(hanging.tool,)) as room:
        await run_until_given_up(room, hanging)
        await room.say("and now?")
        worker = room.worker("next", [say("alive")])

        await worker.runner.run_session(await room.session_id())

        roles = [message.role for message in worker.model.steps[0].messages]
        assert roles[:3] == ["user", "assistant", "tool"]
        assert roles[-1] == "user"
        assert (await room.said("answer"))[-1] == "alive"


async def test_turn_whose_worker_died_while_giving_it_up_is_not_restored_again(
    tmp_path: Path,
) -> None:
    hanging = Hanging()
    async with open_room(tmp_path, tools=(hanging.tool,)) as room:
        session_id = await die_in_an_effect(room, hanging, is_readable=True)
        for owner in ("a", "b", "c"):
            assert await room.claim(session_id, owner) is not None
            await room.clock.sleep(LEASE_S + 1)

        await room.worker("last").runner.run_session(session_id)
        await hanging.end()

        assert await room.rows(turns.c.reason, turns.c.attempts) == [("poisoned", 5)]
        assert "tool" not in await room.rows(messages.c.role, order=messages.c.position)
        assert await room.rows(receipts.c.state) == ["uncertain"]
