"""One process that runs a session's turn, whose call asks, and may die at a point on the way."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import orjson
from fakes.approval_room import make_ask_settings
from fakes.crash_points import Point, Recorder, Trap
from fakes.gate_room import make_tool
from fakes.scripted_model import PASS, ScriptedModel, call, say
from fakes.spine_room import SpineRoom

from geode.messages import JsonObject, SessionId
from geode.ports import Failpoints, SystemClock
from geode.steps import Done, Effect, Ending, ModelReply, StepSnapshot, Tool, ToolContext
from geode.store.database import Store


class RuledModel(ScriptedModel):
    """Sends once, and answers when it knows what came of it."""

    async def acomplete(self, step: StepSnapshot, on_delta: Any = None) -> ModelReply:
        if step.answer_schema is not None:
            return PASS
        del on_delta
        self.steps.append(step)
        results = step.messages[-1].results
        return say(f"Told: {results[0].text}") if results else call(("send", {"text": "to Ada"}))


def make_world(folder: Path) -> tuple[Tool, ...]:
    """A tool whose effect is a line in a file."""

    async def send(_context: ToolContext, arguments: JsonObject) -> Ending:
        with (folder / "world.txt").open("a") as world:
            world.write(f"{arguments['text']}\n")
        return Done("sent")

    return (make_tool("look").tool, make_tool("send", Effect.COMMUNICATE, send).tool)


def make_room(store: Store, folder: Path) -> SpineRoom:
    """The room over a store."""
    settings = make_ask_settings(ask=["send"])
    return SpineRoom(store, SystemClock(), folder, settings, tools=make_world(folder))


async def main(folder: Path, told: dict[str, Any]) -> None:
    """Run the session's turn; `point` kills this process there, else every point is written."""
    points: Failpoints = Recorder(folder / "points.txt")
    if told["point"]:
        points = Trap(Point(told["point"], told["nth"]), signal.SIGKILL)
    store = Store.open(folder / "geode.db", SystemClock(), points)
    room = make_room(store, folder)
    worker = room.worker("child", model=RuledModel(), failpoints=points)
    await worker.runner.run_session(SessionId(told["session"]))
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), orjson.loads(sys.argv[2])))
