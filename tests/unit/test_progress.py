"""What a thread sees of a turn that takes a while: steps in its message, a line in its status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from fakes.loop_fakes import read_tool
from fakes.scripted_model import call, say
from fakes.spine_room import THREAD, open_room, place_thread, until

from geode.messages import JsonObject, Place, ProgressStep, TurnId
from geode.ports import SystemClock
from geode.reply.statuses import REFRESH_S, TICK_S, StatusBoard
from geode.steps import Done, Ending, ToolContext

PLACE = Place(THREAD)
TURN = TurnId("t1")


class TickClock:
    """Sleeps end when a test turns the clock."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self._turned = asyncio.Condition()

    def now_us(self) -> int:
        return int(self.now_s * 1_000_000)

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        due = self.now_s + seconds
        async with self._turned:
            await self._turned.wait_for(lambda: self.now_s >= due)

    async def turn(self, seconds: float) -> None:
        """Let time pass and everything that waited for it run."""
        async with self._turned:
            self.now_s += seconds
            self._turned.notify_all()
        for _ in range(20):
            await asyncio.sleep(0)


@asynccontextmanager
async def open_board() -> AsyncIterator[tuple[StatusBoard, TickClock, list[str]]]:
    clock, lines = TickClock(), list[str]()

    async def show(place: Place, line: str) -> None:
        assert place == PLACE
        lines.append(line)

    board = StatusBoard(show, clock)
    running = asyncio.create_task(board.run())
    await asyncio.sleep(0)
    yield board, clock, lines
    running.cancel()
    await asyncio.wait((running,))


async def test_status_is_shown_at_the_tick_refreshed_in_time_and_cleared_once() -> None:
    async with open_board() as (board, clock, lines):
        board.put(TURN, PLACE, lambda: f"at {clock.now_s:g}")
        assert lines == []
        await clock.turn(TICK_S)
        await until(lambda: lines == ["at 100.7"])
        await clock.turn(TICK_S)
        assert lines == ["at 100.7"]
        await clock.turn(REFRESH_S)
        await until(lambda: lines == ["at 100.7", "at 105.4"])
        board.take(TURN)
        board.take(TURN)
        await clock.turn(REFRESH_S)
        await until(lambda: len(lines) == 3)
        assert lines == ["at 100.7", "at 105.4", ""]


async def test_quick_turn_shows_no_status_and_clears_none() -> None:
    async with open_board() as (board, clock, lines):
        board.put(TURN, PLACE, lambda: "never")
        board.take(TURN)
        await clock.turn(TICK_S)
        assert lines == []


async def test_turn_ends_without_waiting_for_a_slow_platform_and_its_status_is_cleared() -> None:
    clock, lines, release = TickClock(), list[str](), asyncio.Event()

    async def show(place: Place, line: str) -> None:
        if line == "slow":
            await release.wait()
        lines.append(line)

    board = StatusBoard(show, clock)
    running = asyncio.create_task(board.run())
    await asyncio.sleep(0)
    board.put(TURN, PLACE, lambda: "slow")
    await clock.turn(TICK_S)
    board.take(TURN)
    board.put(TurnId("t2"), Place(place_thread(2)), lambda: "quick")
    await clock.turn(TICK_S)
    assert lines == ["quick"]
    release.set()
    await until(lambda: lines == ["quick", "slow"])
    await clock.turn(TICK_S)
    await until(lambda: lines == ["quick", "slow", ""])
    running.cancel()
    await asyncio.wait((running,))


async def test_status_of_the_next_turn_is_not_cleared_for_the_one_before() -> None:
    async with open_board() as (board, clock, lines):
        board.put(TURN, PLACE, lambda: "first")
        await clock.turn(TICK_S)
        board.take(TURN)
        board.put(TurnId("t2"), PLACE, lambda: "second")
        await clock.turn(TICK_S)
        await until(lambda: lines[0] == "first" and lines[-1] == "second")
        board.take(TurnId("t2"))
        await board.clear_ended()
        assert lines[-1] == ""
        assert lines.count("second") == 1


async def test_long_turn_shows_its_tools_and_its_status_and_leaves_neither(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def wait(context: ToolContext, arguments: JsonObject) -> Ending:
        async with asyncio.timeout(15):
            await release.wait()
        return Done("done")

    tool = replace(read_tool("slow_read"), handler=wait)
    async with open_room(tmp_path, clock=SystemClock(), tools=(tool,)) as room:
        await room.say("begin")
        session_id = await room.session_id()
        worker = room.worker(replies=[call(("slow_read", {})), say("the answer")])
        shown = room.platform
        board = asyncio.create_task(worker.delivery.statuses.run())
        running = asyncio.create_task(worker.runner.run_session(session_id))
        await until(lambda: room.said("progress"))
        await worker.deliver(session_id)
        await until(lambda: any("slow_read" in line for line in shown.statuses), timeout_s=10)
        await until(lambda: shown.steps, timeout_s=10)
        release.set()
        await running
        await worker.deliver(session_id)
        await until(lambda: shown.statuses[-1] == "", timeout_s=10)
        board.cancel()
        await asyncio.wait((board,))

        assert shown.steps[0] == (ProgressStep("slow_read"),)
        assert shown.statuses[-1] == ""
        assert "" not in shown.statuses[:-1]
        assert shown.texts(THREAD) == ["the answer"]
