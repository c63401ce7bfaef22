"""A process killed anywhere between a question and its effect neither loses it nor acts twice."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from crash.approve_and_die import RuledModel, make_room
from fakes.approval_room import APPROVER, ASKER, ONCE
from fakes.empty_database import lay_database
from fakes.forked import run_module
from fakes.spine_room import SpineRoom, Worker

from geode.ports import NoFailpoints, SystemClock
from geode.store.database import Store
from geode.store.gate_tables import approvals
from geode.store.sessions import expire_leases
from geode.store.tables import receipts, sessions

MOMENTS = ("before", "after")
ASKING = [
    f"commit.{moment}:{label}" for label in ("claim", "batch", "turn.pause") for moment in MOMENTS
]
ACTING = ("claim", "receipt.prepare", "receipt.settle", "turn.end")
RESUMING = [
    *(f"commit.{moment}:{label}" for label in ACTING for moment in MOMENTS),
    "effect.before:send",
    "effect.window:send",
    "effect.after:send",
]
BEGUN = {"effect.window:send", "effect.after:send", "commit.before:receipt.settle"}
"""After these nobody can tell whether the effect happened, so a person is asked."""


@dataclass
class Story:
    """A conversation whose turns run in processes that may die, beside a platform that lives."""

    room: SpineRoom
    worker: Worker

    async def run(self, point: str = "") -> int:
        """Run the turn in a process of its own."""
        told = {"session": await self.room.session_id(), "point": point, "nth": 1}
        code = await run_module(
            "crash.approve_and_die", str(self.room.folder), orjson.dumps(told).decode()
        )
        # As at the start of a daemon that is alone: whoever held a lease is gone.
        await self.room.store.write("leases.expire", expire_leases)
        return code

    async def outlive(self) -> None:
        """Go on in this process."""
        await self.worker.runner.run_session(await self.room.session_id())
        await self.deliver()

    async def deliver(self) -> None:
        await self.worker.deliver(await self.room.session_id())

    async def press(self) -> None:
        (post,) = [post for post in self.room.platform.posted if post.buttons]
        press = self.room.platform.press(post, ONCE, APPROVER)
        assert (await self.room.door.accept(press)).outcome == "decided"

    def world(self) -> list[str]:
        path = self.room.folder / "world.txt"
        return path.read_text().splitlines() if path.exists() else []


@asynccontextmanager
async def telling(folder: Path) -> AsyncIterator[Story]:
    lay_database(folder / "geode.db")
    store = Store.open(folder / "geode.db", SystemClock(), NoFailpoints())
    try:
        room = make_room(store, folder)
        await room.say("send it", sender=ASKER)
        yield Story(room, room.worker("parent", model=RuledModel()))
    finally:
        await store.close()


async def check_asked_once(story: Story) -> None:
    assert await story.room.rows(sessions.c.state) == ["awaiting_approval"]
    assert await story.room.rows(approvals.c.state) == ["pending"]
    assert len([post for post in story.room.platform.posted if post.buttons]) == 1
    assert story.world() == []


@pytest.mark.timeout(90)
@pytest.mark.parametrize("point", ASKING)
async def test_kill_on_the_way_to_the_question_asks_it_once(tmp_path: Path, point: str) -> None:
    async with telling(tmp_path) as story:
        code = await story.run(point)
        assert code == -signal.SIGKILL
        await story.outlive()
        await check_outcome(story, point)


async def check_outcome(story: Story, point: str) -> None:
    if point == "commit.after:batch":
        # The batch was stored and nobody was asked: its call is closed and the model told so.
        texts = await story.room.said("answer")
        assert texts == ["Told: Interrupted before it began; nothing was done."]
        assert story.world() == []
        return
    if point == "commit.before:turn.pause":
        texts = await story.room.said("answer")
        assert texts == ["Told: Interrupted before it began; nothing was done."]
        return
    await check_asked_once(story)
    await story.press()
    await story.outlive()
    assert (story.world(), await story.room.said("answer")) == (["to Ada"], ["Told: sent"])


@pytest.mark.timeout(90)
@pytest.mark.parametrize("point", RESUMING)
async def test_kill_between_the_yes_and_the_answer_acts_at_most_once(
    tmp_path: Path, point: str
) -> None:
    async with telling(tmp_path) as story:
        assert await story.run() == 0
        await story.deliver()
        await check_asked_once(story)
        await story.press()

        code = await story.run(point)
        assert code == -signal.SIGKILL
        await story.outlive()

        assert await story.room.rows(sessions.c.state) == ["idle"]
        (answer,) = await story.room.said("answer")
        (state,) = await story.room.rows(receipts.c.state)
        assert len(story.world()) <= 1
        if point in BEGUN or point in {"effect.before:send", "commit.after:receipt.prepare"}:
            assert state == "uncertain"
            assert "outcome of send is unknown" in answer
        else:
            assert (state, story.world(), answer) == ("committed", ["to Ada"], "Told: sent")
