"""A working mark is taken away after it was set, and again when that failed."""

from __future__ import annotations

import asyncio

from fakes.spine_room import THREAD

from geode.messages import Place
from geode.ports import SystemClock
from geode.reply.marks import PATIENCE_S, WorkingMarks

PLACE = Place(THREAD)


class Desk:
    """A message's mark, with calls that take their time or fail."""

    def __init__(self, *failures: float) -> None:
        self.failures = list(failures)
        self.is_on = False
        self.tries = 0
        self.may_set = asyncio.Event()

    async def mark(self, place: Place, message_id: str, is_on: bool) -> float | None:
        if is_on:
            await self.may_set.wait()
        else:
            self.tries += 1
            if self.failures:
                return self.failures.pop(0)
        self.is_on = is_on
        return None


async def test_mark_that_is_still_being_set_is_taken_away_after_it() -> None:
    desk = Desk()
    marks = WorkingMarks(desk.mark, SystemClock())
    marks.begin(PLACE, "7", SystemClock().monotonic())
    clearing = asyncio.create_task(marks.clear(PLACE, ("7",)))
    for _ in range(3):
        await asyncio.sleep(0)

    tries_before = desk.tries
    desk.may_set.set()
    await clearing

    assert tries_before == 0
    assert not desk.is_on


async def test_mark_is_taken_away_again_when_that_failed() -> None:
    desk = Desk(0.0, 0.01)
    desk.is_on = True
    marks = WorkingMarks(desk.mark, SystemClock())

    await marks.clear(PLACE, ("7",))

    assert not desk.is_on
    assert desk.tries == 3


async def test_mark_is_left_when_the_platform_asks_for_too_long_a_wait() -> None:
    desk = Desk(PATIENCE_S + 1)
    marks = WorkingMarks(desk.mark, SystemClock())

    await marks.clear(PLACE, ("7",))

    assert desk.tries == 1


async def test_mark_is_not_set_on_a_message_of_a_while_ago() -> None:
    desk = Desk()
    desk.may_set.set()
    marks = WorkingMarks(desk.mark, SystemClock())

    marks.begin(PLACE, "7", SystemClock().monotonic() - 5.0)
    await marks.clear(PLACE, ())
    await asyncio.sleep(0)

    assert not desk.is_on
