"""Follows a command until it ends or must: its time, a stop, a workspace that grows too far."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from geode.tools.output import OUTPUT_BYTES_MAX, OutputWindow
from geode.tools.sandbox.launch import END_S, Running

NOTE_BYTES_MAX = 1_000
"""What is kept of the output's room for the sentences after it."""
FREE_BYTES = 64 << 20
"""Output beyond it is still read, so that the command can end, but slowly."""
_PAUSE_MS = 2
_CHUNK_BYTES = 1 << 16
CHECK_S = 0.5

Why = Literal["ended", "timed_out", "stopped", "outgrown"]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a command ended, and what it printed."""

    why: Why
    exit_code: int | None
    output: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """What ends a command from outside."""

    stop: int
    """An eventfd that can be read once the command is to end."""
    ends_at: float
    """On the machine's monotonic clock."""
    find_growth: Callable[[], str]
    """Why the workspace may not grow further; empty while it may."""


def follow(running: Running, watch: Watch) -> RunEnd:
    """Read what the command prints until nothing of it is alive."""
    window = OutputWindow(OUTPUT_BYTES_MAX - NOTE_BYTES_MAX)
    why, note = _read_until_end(running, watch, window)
    if why == "ended":
        code = running.process.wait(END_S)
    else:
        running.kill()
        code = None
    _drain(running.output, window)
    return RunEnd(why, code, window.text(), note)


def _read_until_end(running: Running, watch: Watch, window: OutputWindow) -> tuple[Why, str]:
    # Not the end of the output: a command may close it and go on.
    ended = os.pidfd_open(running.process.pid)
    try:
        waiting = select.poll()
        for descriptor in (running.output, watch.stop, ended):
            waiting.register(descriptor, select.POLLIN)
        stopping = select.poll()
        stopping.register(watch.stop, select.POLLIN)
        next_check = time.monotonic() + CHECK_S
        while True:
            now = time.monotonic()
            if now >= watch.ends_at:
                return "timed_out", ""
            if now >= next_check:
                if reason := watch.find_growth():
                    return "outgrown", reason
                next_check = time.monotonic() + max(CHECK_S, 10 * (time.monotonic() - now))
            wait_s = max(0.0, min(watch.ends_at, next_check) - time.monotonic())
            seen = dict(waiting.poll(wait_s * 1000 + 1))
            if watch.stop in seen:
                return "stopped", ""
            if running.output in seen and not _read_some(running.output, window):
                waiting.unregister(running.output)
            elif ended in seen:
                return "ended", ""
            if window.size > FREE_BYTES:
                stopping.poll(_PAUSE_MS)
    finally:
        os.close(ended)


def _read_some(output: int, window: OutputWindow) -> bool:
    """Take what is there; False when there will be nothing more."""
    try:
        chunk = os.read(output, _CHUNK_BYTES)
    except BlockingIOError:
        return True
    window.add(chunk)
    return bool(chunk)


def _drain(output: int, window: OutputWindow) -> None:
    """What is left in the pipe of a command that has ended; it holds little."""
    for _ in range(64):
        try:
            chunk = os.read(output, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            return
        window.add(chunk)
