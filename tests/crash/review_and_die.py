"""One process that brings an answer through repair and review, or dies on the way."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import orjson
from fakes.approval_room import make_ask_settings, make_tools
from fakes.crash_points import Point, Recorder, Trap
from fakes.kept_platform import KeptChannel, KeptPlatform
from fakes.review_room import OPERATOR
from fakes.scripted_judge import FAILED, PASSED, RETRY
from fakes.scripted_model import ScriptedModel, say
from fakes.spine_room import RoomClock, SpineRoom

from geode.messages import SessionId
from geode.ports import Failpoints
from geode.steps import ModelReply, StepSnapshot
from geode.store.database import Store
from geode.store.sessions import expire_leases
from geode.verify.judge import Judgement, JudgeTerms
from geode.verify.structure import Candidate

REPAIRED, REVISED = "the repaired draft", "the revised draft"
WORDS = "say it better"


class RuledModel(ScriptedModel):
    """Writes what the last note of the runtime asks for."""

    async def acomplete(self, step: StepSnapshot, on_delta: Any = None) -> ModelReply:
        del on_delta
        told = step.messages[-1].text
        if WORDS in told:
            return say(REVISED)
        return say(REPAIRED if "not accepted" in told else "the first draft")


class RuledJudge:
    """The first draft can be mended, the repaired one a person must see."""

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        del terms
        return {REPAIRED: FAILED, REVISED: PASSED}.get(candidate.text, RETRY)


def make_room(store: Store, folder: Path, platform: KeptPlatform) -> SpineRoom:
    """The room over a store and a platform that both outlive the process."""
    settings = make_ask_settings(operators=[OPERATOR])
    tools = tuple(each.tool for each in make_tools().values())
    room = SpineRoom(store, RoomClock(), folder, settings, platform=platform, tools=tools)
    room.judge = RuledJudge()
    return room


async def main(folder: Path, told: dict[str, Any]) -> None:
    """Go on until nothing is left; `point` kills this process there, else points are written."""
    points: Failpoints = Recorder(folder / "points.txt")
    if told["point"]:
        points = Trap(Point(told["point"], told["nth"]), signal.SIGKILL)
    clock = RoomClock()
    store = Store.open(folder / "geode.db", clock, points)
    # As at the start of a daemon that is alone: whoever held a lease is gone.
    await store.write("leases.expire", expire_leases)
    platform = KeptPlatform(folder / "platform.json")
    room = make_room(store, folder, platform)
    session = SessionId(told["session"])
    worker = room.worker(
        "child", model=RuledModel(), failpoints=points, channel=KeptChannel(platform)
    )
    for _ in range(3):
        await worker.runner.run_session(session)
        await worker.deliver(session)
        await press(room, platform, told["choice"])
    await store.close()


async def press(room: SpineRoom, platform: KeptPlatform, choice: str) -> None:
    """The operator presses the open card, once: a press has one key on its platform."""
    for post in platform.posted:
        if post.buttons:
            words = {"text": WORDS} if choice != "Release" else {}
            pressed = platform.press(post, choice, OPERATOR, **words)
            await room.door.accept(pressed)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), orjson.loads(sys.argv[2])))
