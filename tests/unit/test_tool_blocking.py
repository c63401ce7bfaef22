"""Work in a thread ends before its cancellation is told, and a child ends when its time is up."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from geode.tools.blocking import run_child, run_to_end


async def test_a_cancellation_is_raised_only_after_the_work_has_ended():
    """A lock over the work is let go at the cancellation, so no write may still be going on."""
    entered, leave = threading.Event(), threading.Event()
    ended: list[str] = []

    def work() -> None:
        entered.set()
        leave.wait(10)
        ended.append("work")

    task = asyncio.create_task(run_to_end(work))
    await asyncio.to_thread(entered.wait, 10)
    task.cancel()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    leave.set()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["work"]


async def test_an_error_of_the_work_is_raised():
    def work() -> None:
        raise FileNotFoundError("gone")

    with pytest.raises(FileNotFoundError):
        await run_to_end(work)


def test_a_child_that_does_not_end_is_killed_and_its_output_kept(tmp_path: Path):
    (tmp_path / "f").write_text("aaa\n" + "a" * 60 + "!\n")
    started = time.monotonic()
    with (tmp_path / "f").open() as file:
        descriptor = file.fileno()
        output = run_child("this", b"", seconds_max=5, pass_fds=(descriptor,))

    assert output.is_complete
    assert b"Zen of Python" in output.stdout

    endless = run_child("timeit", b"", seconds_max=0.3)

    assert not endless.is_complete
    assert time.monotonic() - started < 5
