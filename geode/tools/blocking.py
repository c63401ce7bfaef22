"""Runs blocking work off the loop, and parsers of foreign text in a child that can be killed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import geode

Outcome = TypeVar("Outcome")

THREADS_MAX = 32
"""More than the calls that one turn runs at once, so that no turn holds up another."""

# Not the loop's own threads: they resolve names, so calls that fill them would stop every send.
_THREADS = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="tool")
_ROOT = str(Path(geode.__file__).resolve().parents[1])
_START = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
runpy.run_module(sys.argv[2], run_name="__main__")
"""


async def run_to_end(
    work: Callable[[], Outcome], *, stop: Callable[[], None] | None = None
) -> Outcome:
    """Run blocking work in a thread; a cancellation is raised only after the work has ended.

    A thread cannot be stopped, so whoever holds a lock over the work must not let go before.
    `stop`, called at the cancellation, is how work that listens for it ends at once.
    """
    task = asyncio.get_running_loop().run_in_executor(_THREADS, work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if stop is not None:
            stop()
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue
        if not task.cancelled():
            task.exception()
        raise


@dataclass(frozen=True, slots=True)
class ChildOutput:
    """What a child wrote before it ended or was ended."""

    stdout: bytes
    is_complete: bool
    """False when it ran out of time or failed; the output may then stop anywhere."""


def run_child(
    module: str, payload: bytes, *, seconds_max: float, pass_fds: tuple[int, ...] = ()
) -> ChildOutput:
    """Run one of our modules as a child with an empty environment, and kill it when time is up.

    Patterns and pages come from outside and can make a parser run for hours: in a thread it could
    not be stopped and would hold up the daemon.
    """
    # One argument list without a shell: the interpreter, its code and two fixed words.
    argv = [sys.executable, "-I", "-c", _START, _ROOT, module]
    try:
        done = subprocess.run(  # noqa: S603
            argv,
            input=payload,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds_max,
            env={},
            cwd="/",
            pass_fds=pass_fds,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        return ChildOutput(exc.stdout or b"", is_complete=False)
    return ChildOutput(done.stdout, is_complete=done.returncode == 0)
