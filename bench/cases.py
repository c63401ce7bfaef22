"""What is measured, the same for both sides: CPU by the process clock, memory by the kernel."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

from bench.stub import Watch

Figures = dict[str, float]
HI = "hi"


class Side(Protocol):
    """GEODE or the bare loop."""

    async def open(self) -> None:
        """Start."""
        ...

    async def close(self) -> None:
        """Stop."""
        ...

    async def ask(self, conversation: str, text: str) -> None:
        """One turn, until its answer is out."""
        ...

    async def prepare(self, conversation: str) -> None:
        """Begin a conversation so that tool calls find what they list."""
        ...

    async def seed(self, conversation: str, count: int) -> None:
        """Store a conversation of so many messages, and keep none of it in memory."""
        ...

    async def settle(self) -> None:
        """Wait until nothing of earlier turns is at work."""
        ...

    def count(self) -> dict[str, int]:
        """What was written so far."""
        ...


@dataclass(slots=True)
class Meter:
    """CPU and wall time between two looks; all threads of the process count."""

    cpu: float = 0.0
    wall: float = 0.0

    def start(self) -> None:
        """Begin; garbage of earlier work is collected first."""
        gc.collect()
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Milliseconds of CPU and of wall time since the start."""
        return (time.process_time() - self.cpu) * 1e3, (time.perf_counter() - self.wall) * 1e3


class Cases:
    """The measurements over one side."""

    def __init__(self, side: Side, watch_port: int) -> None:
        self._side = side
        self._watch_port = watch_port
        self._numbers = count(1)

    def _name(self) -> str:
        return f"c{os.getpid()}-{next(self._numbers)}"

    async def turns(self, conversations: int, turns: int) -> Figures:
        """Turns without tools, one after the other: milliseconds per turn."""
        meter = Meter()
        await self._side.settle()
        meter.start()
        for _ in range(conversations):
            name = self._name()
            for _ in range(turns):
                await self._side.ask(name, HI)
        await self._side.settle()
        cpu, wall = meter.read()
        return {"cpu": cpu / conversations / turns, "wall": wall / conversations / turns}

    async def tools(self, conversations: int, calls: int) -> Figures:
        """One turn with so many tool calls in sequence: milliseconds of the turn."""
        names = [self._name() for _ in range(conversations)]
        for name in names:
            await self._side.prepare(name)
        await self._side.settle()
        before = self._side.count()
        meter = Meter()
        meter.start()
        for name in names:
            await self._side.ask(name, f"look at it [tools={calls}]")
        await self._side.settle()
        cpu, wall = meter.read()
        written = _changes(before, self._side.count(), conversations)
        return {"cpu": cpu / conversations, "wall": wall / conversations, **written}

    async def crowd(self, sessions: int, turns: int) -> Figures:
        """Conversations side by side: turns per second and how long a turn takes."""
        names = [self._name() for _ in range(sessions)]
        took: list[float] = []

        async def talk(name: str) -> None:
            for _ in range(turns):
                began = time.perf_counter()
                await self._side.ask(name, HI)
                took.append((time.perf_counter() - began) * 1e3)

        await self._side.settle()
        before = self._side.count()
        meter = Meter()
        meter.start()
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(talk(name))
        cpu, wall = meter.read()
        await self._side.settle()
        took.sort()
        total = len(took)
        return {
            "rate": total / wall * 1e3,
            "cpu": cpu / total,
            "p50": took[total // 2],
            "p99": took[int(total * 0.99) - 1],
            **_changes(before, self._side.count(), 1),
        }

    async def resume(self, messages: int) -> Figures:
        """A stored conversation goes on: milliseconds until the request is at the provider.

        `cpu` is of the first request, `again` of the next turn's, of which all but the new was
        sent before.
        """
        name = self._name()
        await self._side.seed(name, messages)
        await self._side.settle()
        watch = await Watch.open(self._watch_port)
        try:
            cpu, wall = await self._until_request(watch, name)
            again, _ = await self._until_request(watch, name)
        finally:
            await watch.close()
        return {"cpu": cpu, "wall": wall, "again": again}

    async def _until_request(self, watch: Watch, name: str) -> tuple[float, float]:
        watch.hold()
        meter = Meter()
        meter.start()
        asking = asyncio.create_task(self._side.ask(name, "and now?"))
        await watch.next_size()
        spent = meter.read()
        watch.release()
        await asking
        await self._side.settle()
        return spent

    async def request_bytes(self) -> Figures:
        """The size of the request for the one word "hi"."""
        watch = await Watch.open(self._watch_port)
        try:
            name = self._name()
            asking = asyncio.create_task(self._side.ask(name, HI))
            size = await watch.next_size()
            await asking
        finally:
            await watch.close()
        await self._side.settle()
        return {"bytes": size}

    async def spent(self) -> Figures:
        """Milliseconds of CPU since the process began, once nothing is at work."""
        await self._side.settle()
        return {"cpu": time.process_time() * 1e3}

    async def idle_memory(self) -> Figures:
        """Resident kB after one conversation, with nothing to do."""
        name = self._name()
        for _ in range(3):
            await self._side.ask(name, HI)
        await self._side.settle()
        gc.collect()
        return {"kb": resident_kb()}

    async def live_memory(self, sessions: int) -> Figures:
        """kB per session whose turn waits for the model, all at once."""
        await self._warm(sessions // 4)
        watch = await Watch.open(self._watch_port)
        try:
            watch.hold()
            gc.collect()
            before = resident_kb()
            async with asyncio.TaskGroup() as tasks:
                for _ in range(sessions):
                    tasks.create_task(self._side.ask(self._name(), HI))
                for _ in range(sessions):
                    await watch.next_size()
                gc.collect()
                held = resident_kb()
                watch.release()
        finally:
            await watch.close()
        await self._side.settle()
        return {"kb": (held - before) / sessions}

    async def left_memory(self, sessions: int) -> Figures:
        """kB that a session leaves when its turns are over, beyond what the process reuses."""
        await self._warm(sessions)
        await self._warm(sessions)
        before = resident_kb()
        await self._warm(sessions)
        await self._warm(sessions)
        return {"kb": (resident_kb() - before) / sessions / 2}

    async def _warm(self, sessions: int) -> None:
        """Conversations that come and go, some side by side."""
        for _ in range(0, sessions, 10):
            async with asyncio.TaskGroup() as tasks:
                for _ in range(10):
                    tasks.create_task(self._two_turns(self._name()))
        await self._side.settle()
        gc.collect()

    async def _two_turns(self, name: str) -> None:
        await self._side.ask(name, HI)
        await self._side.ask(name, HI)


def resident_kb() -> int:
    """The resident memory of this process, in kB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("the kernel tells no resident size")


def _changes(before: dict[str, int], after: dict[str, int], divisor: int) -> Figures:
    return {key: (number - before.get(key, 0)) / divisor for key, number in after.items()}
