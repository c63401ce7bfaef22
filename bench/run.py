"""One run: every measurement in its order, both sides in turn, medians over the repeats."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.cases import Figures
from bench.gate import measure_gate
from bench.processes import Child, Stub, running_child, running_stub
from bench.program import measure_help, measure_ready, measure_size
from bench.wire import measure_wire


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a run measures."""

    repeats: int = 7
    conversations: int = 3
    turns: int = 10
    tool_turns: int = 3
    crowd_sessions: int = 50
    crowd_turns: int = 10
    crowd_repeats: int = 3
    resume_repeats: int = 5
    memory_sessions: int = 100
    wire_turns: int = 15
    starts: int = 7
    gate_calls: int = 500


QUICK = Effort(
    repeats=1,
    conversations=1,
    turns=5,
    tool_turns=1,
    crowd_turns=1,
    crowd_repeats=1,
    resume_repeats=1,
    memory_sessions=10,
    wire_turns=2,
    starts=1,
    gate_calls=20,
)
RESUMED = 400
SLOPE = 1200
"""A second, longer history: what one more message costs."""


@dataclass(slots=True)
class Measured:
    """Medians of both sides by case, and what belongs to one side only."""

    geode: dict[str, Figures] = field(default_factory=dict[str, Figures])
    bare: dict[str, Figures] = field(default_factory=dict[str, Figures])
    slack: Figures = field(default_factory=dict[str, float])
    gate: dict[str, Figures] = field(default_factory=dict[str, Figures])
    help_ms: tuple[float, float] | None = None
    ready_ms: float | None = None
    size_mb: float = 0.0
    fsync_ms: float = 0.0
    took_s: float = 0.0


class Run:
    """Measures everything once; tells what it is at."""

    def __init__(self, folder: Path, effort: Effort, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._effort = effort
        self._tell = tell
        self._found = Measured()

    async def measure(self) -> Measured:
        """All of it."""
        began = time.monotonic()
        self._found.fsync_ms = measure_fsync(self._folder)
        async with running_stub() as stub:
            await self._measure_speed(stub)
            await self._measure_memory(stub)
            self._tell("the Slack wire path")
            self._found.slack = await measure_wire(
                stub, self._folder / "slack", self._effort.wire_turns
            )
        self._tell("the gate by itself")
        self._found.gate = await measure_gate(self._folder / "gate", self._effort.gate_calls)
        self._measure_program()
        self._found.took_s = time.monotonic() - began
        return self._found

    async def _measure_speed(self, stub: Stub) -> None:
        effort = self._effort
        async with self._both(stub) as sides:
            self._tell("turns without tools")
            await self._repeat(
                sides,
                "turns",
                effort.repeats,
                conversations=effort.conversations,
                turns=effort.turns,
            )
            self._tell("turns with ten tool calls")
            await self._repeat(
                sides, "tools", effort.repeats, conversations=effort.tool_turns, calls=10
            )
            self._tell("50 conversations side by side")
            await self._repeat(
                sides,
                "crowd",
                effort.crowd_repeats,
                sessions=effort.crowd_sessions,
                turns=effort.crowd_turns,
            )
            self._tell("resumed conversations")
            for messages in (RESUMED, SLOPE):
                await self._repeat(sides, "resume", effort.resume_repeats, messages=messages)
            await self._repeat(sides, "request_bytes", 1)

    async def _measure_memory(self, stub: Stub) -> None:
        sessions = self._effort.memory_sessions
        self._tell("memory")
        async with self._both(stub) as sides:
            await self._repeat(sides, "idle_memory", 1)
            await self._repeat(sides, "live_memory", 1, sessions=sessions)
            await self._repeat(sides, "left_memory", 1, sessions=sessions)

    def _measure_program(self) -> None:
        self._tell("the program itself")
        self._found.help_ms = measure_help(self._effort.starts)
        self._found.ready_ms = measure_ready(self._folder / "ready")
        self._found.size_mb = measure_size()

    @asynccontextmanager
    async def _both(self, stub: Stub) -> AsyncIterator[dict[str, Child]]:
        # The second time the database is there, as at every start of a daemon but its first.
        folder = self._folder / "sides"
        async with (
            running_child("geode", stub, folder / "geode") as geode,
            running_child("bare", stub, folder / "bare") as bare,
        ):
            yield {"geode": geode, "bare": bare}

    async def _repeat(
        self, sides: dict[str, Child], case: str, repeats: int, **fields: int
    ) -> None:
        """Both sides in turn, so that a busy machine is busy for both; the first is a warm-up."""
        found: dict[str, list[Figures]] = {name: [] for name in sides}
        for _ in range(repeats + (repeats > 1)):
            for name, child in sides.items():
                found[name].append(await child.ask(case, **fields))
        key = f"{case}:{fields['messages']}" if "messages" in fields else case
        for name, rows in found.items():
            kept = rows[1:] or rows
            medians = {figure: median(row[figure] for row in kept) for figure in kept[0]}
            getattr(self._found, name)[key] = medians


def measure_fsync(folder: Path) -> float:
    """Milliseconds of wall time that one small append with fsync takes here."""
    took: list[float] = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(30):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            took.append((time.perf_counter() - began) * 1e3)
    return median(took)
