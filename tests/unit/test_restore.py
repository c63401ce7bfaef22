"""What a resumed turn knows of the effects that its predecessor left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fakes.gate_room import make_tool
from fakes.scripted_model import call, say
from fakes.spine_room import LEASE_S, open_room

from geode.messages import JsonObject
from geode.steps import Done, Effect, Ending, ToolContext


async def test_turn_resumed_with_an_uncertain_effect_is_not_repaired(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def hang(_context: ToolContext, _arguments: JsonObject) -> Ending:
        begun.set()
        await asyncio.Event().wait()
        return Done("never")

    tool = make_tool("send_parcel", Effect.COMMUNICATE, hang).tool
    async with open_room(tmp_path, tools=(tool,)) as room:
        await room.say("send it")
        session_id = await room.session_id()
        send = call(("send_parcel", {"text": "x"}))
        frozen = asyncio.create_task(room.worker("one", [send]).runner.run_session(session_id))
        await begun.wait()
        await room.clock.sleep(LEASE_S + 1)

        worker = room.worker("two", [say(""), say(""), say("a repair")])
        await worker.runner.run_session(session_id)
        frozen.cancel()
        await asyncio.wait((frozen,))

        assert len(await room.said("card")) == 1
        assert len(worker.model.steps) == 2
        assert "a repair" not in (await room.said("answer"))[0]
