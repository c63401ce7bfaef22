"""Commands as people give them, and sessions in the state that a test wants."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from fakes.asked import put_questions, put_reviews
from fakes.gate_room import make_tool
from fakes.scripted_model import say
from fakes.spine_room import THREAD, SpineRoom
from sqlalchemy import update

from geode.messages import ChatCommand, JsonObject, Person, SessionState
from geode.ports import Accepted
from geode.steps import Done, Effect, Ending, ModelReply, StepSnapshot, Tool, ToolContext
from geode.store.tables import outbox, sessions


class Held:
    """A tool or a model call of a minute, which may be let go earlier."""

    def __init__(self, *, is_deaf: bool = False) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.let_go = asyncio.Event()
        self._is_deaf = is_deaf

    async def _hold(self) -> None:
        self.begun.set()
        try:
            await self._wait()
        except asyncio.CancelledError:
            if self._is_deaf:
                await self._wait()
            raise
        finally:
            self.ended.set()

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                await self.let_go.wait()

    async def run(self, _context: ToolContext, _arguments: JsonObject) -> Ending:
        """The handler of a tool."""
        await self._hold()
        return Done("after a minute")

    async def __call__(self, step: StepSnapshot) -> ModelReply:
        """A reply of the model."""
        await self._hold()
        return say("after a minute")


def slow_tool(held: Held, effect: Effect = Effect.READ) -> Tool:
    """A tool that takes a minute."""
    return make_tool("slow", effect, held.run, timeout_s=90.0).tool


def make_command(verb: str, sender: str = "U1", **more: Any) -> ChatCommand:
    """`!verb` in the thread; `is_private=True` makes it a slash command."""
    values: dict[str, Any] = {
        "thread": THREAD,
        "sender": Person(sender, f"name of {sender}"),
        "verb": verb,
        "argument": "",
        "dedupe_key": f"command {verb} of {sender}",
        **more,
    }
    return ChatCommand(**values)


async def give(room: SpineRoom, verb: str, sender: str = "U1", **more: Any) -> Accepted:
    """Hand a command to the front door."""
    return await room.door.accept(make_command(verb, sender, **more))


async def told(room: SpineRoom, verb: str, sender: str = "U1", **more: Any) -> str:
    """What one person alone is answered."""
    more = {"dedupe_key": f"private {verb} of {sender}", **more}
    accepted = await give(room, verb, sender, is_private=True, **more)
    assert accepted.outcome == "answered", accepted
    return accepted.answer


async def said_of(room: SpineRoom, verb: str, sender: str = "U1") -> list[str]:
    """What the thread was told because of a command."""
    return await room.rows(
        outbox.c.body, kind="command", episode=make_command(verb, sender).dedupe_key
    )


async def enter_state(room: SpineRoom, state: SessionState | None) -> None:
    """A session that a person wrote in, in that state; None: no session."""
    if state is None:
        return
    await room.say("hi")
    await room.claim(await room.session_id())
    if state is not SessionState.RUNNING:
        await put_in_state(room, state)


async def put_in_state(room: SpineRoom, state: SessionState) -> None:
    """The claimed session waits for somebody, or for nobody."""
    values: dict[str, Any] = {"state": state.value, "lease_until_us": 0, "lease_owner": ""}
    if state is SessionState.IDLE:
        values["turn_id"] = ""
    await room.store.write(
        "state", lambda tx: tx.execute(update(sessions).values(**values)) and None
    )
    if state is SessionState.AWAITING_APPROVAL:
        await room.store.write("asked", put_questions)
    if state is SessionState.AWAITING_REVIEW:
        await room.store.write("reviewed", put_reviews)
