"""Tool calls that take all the time they may hold up neither name look-ups nor other work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from geode.gate.processor import CALLS_PARALLEL_MAX
from geode.tools.blocking import THREADS_MAX, run_to_end

Run = Callable[[Callable[[], object]], Awaitable[object]]


class Gate:
    """Work that holds its thread until the gate opens."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()

    def pass_through(self) -> None:
        self.entered.release()
        self.open.wait(20)


@pytest.fixture
async def gate() -> AsyncIterator[Gate]:
    made = Gate()
    yield made
    made.open.set()


async def look_up_beside(run: Run, gate: Gate, calls: int, *, deadline_s: float) -> bool:
    """Whether a name is looked up in time while so many calls hold their threads."""
    held = [asyncio.ensure_future(run(gate.pass_through)) for _ in range(calls)]
    await asyncio.sleep(0)  # each task takes its first step: its work is submitted
    try:
        async with asyncio.timeout(deadline_s):
            await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 80)
    except TimeoutError:
        return False
    finally:
        gate.open.set()
        await asyncio.gather(*held)
    return True


async def test_names_are_looked_up_while_every_tool_thread_is_held(gate: Gate) -> None:
    assert await look_up_beside(run_to_end, gate, THREADS_MAX * 2, deadline_s=10)


async def test_loops_own_threads_would_have_been_used_up(gate: Gate) -> None:
    """The positive control: the same calls on the loop's threads stop every look-up."""
    loop = asyncio.get_running_loop()

    async def run(work: Callable[[], object]) -> object:
        return await loop.run_in_executor(None, work)

    assert not await look_up_beside(run, gate, THREADS_MAX * 2, deadline_s=0.5)


async def test_one_turn_leaves_threads_for_others(gate: Gate) -> None:
    held = [asyncio.ensure_future(run_to_end(gate.pass_through)) for _ in range(CALLS_PARALLEL_MAX)]
    for _ in held:
        assert await asyncio.to_thread(gate.entered.acquire, timeout=10)

    async with asyncio.timeout(10):
        assert await run_to_end(lambda: "done") == "done"

    gate.open.set()
    await asyncio.gather(*held)
