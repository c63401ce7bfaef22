"""A process killed anywhere between a candidate and its reviewed answer loses nothing of it.

Nothing is released without a decision, and nothing is said twice.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from crash.review_and_die import REPAIRED, REVISED, make_room
from fakes.crash_points import Point, count_points
from fakes.empty_database import lay_database
from fakes.forked import run_module
from fakes.kept_platform import KeptPlatform
from fakes.spine_room import RoomClock, SpineRoom

from geode.ports import NoFailpoints
from geode.store.database import Store
from geode.store.review_tables import reviews
from geode.store.tables import sessions, turns

CHOICES = {"Release": REPAIRED, "Ask for a revision": REVISED, "Reject": "did not release it"}


SHARED = ("delivery.", "card_end", "review_decided")
"""Points behind a decision at which every decision is the same."""


@dataclass
class Story:
    """A conversation whose processes may die, beside a platform that lives."""

    folder: Path
    session: str
    choice: str

    async def run(self, point: Point | None = None) -> int:
        """Bring it as far as it goes in a process of its own."""
        told = {
            "session": self.session,
            "choice": self.choice,
            "point": point.name if point else "",
            "nth": point.nth if point else 1,
        }
        return await run_module(
            "crash.review_and_die", str(self.folder), orjson.dumps(told).decode()
        )

    def posted(self) -> list[str]:
        """What stands in the thread, oldest first."""
        return [post.text for post in KeptPlatform(self.folder / "platform.json").posted]


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[SpineRoom]:
    store = Store.open(folder / "geode.db", RoomClock(), NoFailpoints())
    try:
        yield make_room(store, folder, KeptPlatform(folder / "platform.json"))
    finally:
        await store.close()


async def begin(folder: Path, choice: str) -> Story:
    lay_database(folder / "geode.db")
    async with opened(folder) as room:
        await room.say("write it", sender="U2")
        return Story(folder, str(await room.session_id()), choice)


async def check(story: Story) -> None:
    """One card, one answer, and what was decided is what is said."""
    posted = story.posted()
    wanted = CHOICES[story.choice]
    assert len([text for text in posted if wanted in text]) == 1, posted
    hidden = {REPAIRED, REVISED} - {wanted}
    assert not any(draft in text for draft in hidden for text in posted), posted
    async with opened(story.folder) as room:
        assert await room.rows(sessions.c.state) == ["idle"]
        assert await room.rows(turns.c.repairs) == [1 if wanted != REVISED else 2]
        decided = await room.rows(reviews.c.state, reviews.c.decided_by)
        assert decided == [(story.state, "loop:U9")] if hasattr(story, "state") else decided
        assert all(by == "loop:U9" for _, by in decided)
        assert len(decided) == 1


async def check_unreleased(story: Story) -> None:
    """At the moment of death nothing of a candidate is said that nobody decided on."""
    if not any(CHOICES[story.choice] in text for text in story.posted()):
        return
    async with opened(story.folder) as room:
        assert "open" not in await room.rows(reviews.c.state)
        assert await room.rows(reviews.c.decided_by) == ["loop:U9"]


def choose_points(names: list[str], choice: str) -> list[Point]:
    """Every point for a release; of the others, those behind the press that are their own."""
    points = [point for point in count_points(names) if "leases.expire" not in point.name]
    if choice == "Release":
        return points
    pressed = next(at for at, point in enumerate(points) if ":intake" in point.name)
    return [p for p in points[pressed:] if not any(part in p.name for part in SHARED)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("choice", CHOICES)
async def test_kill_at_every_point_of_a_review_loses_and_doubles_nothing(
    tmp_path: Path, choice: str
) -> None:
    whole = await begin(tmp_path / "whole", choice)
    assert await whole.run() == 0
    await check(whole)
    points = choose_points((whole.folder / "points.txt").read_text().split("\n")[:-1], choice)
    assert len(points) >= 10

    for number, point in enumerate(points):
        story = await begin(tmp_path / str(number), choice)
        assert await story.run(point) == -signal.SIGKILL, point
        await check_unreleased(story)
        assert await story.run() == 0, point
        await check(story)
