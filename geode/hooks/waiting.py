"""Waits for the operator's code for a bounded time, whatever it does with its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final, Literal, TypeVar

from geode.records.guard import Raised, run_guarded

T = TypeVar("T")

GRACE_S = 1.0
"""How long code may take to end after it was told to stop."""


class _Late(Enum):
    LATE = "late"


LATE: Final = _Late.LATE
"""There was no answer in time, or none at all."""

_abandoned: set[asyncio.Task[object]] = set()


async def wait_for(
    name: str, code: Callable[[], Awaitable[T]], timeout_s: float
) -> T | Raised | Literal[_Late.LATE]:
    """What the code answers within its time; an answer that comes later counts for nothing.

    It runs in a task of its own, so that code which swallows a cancellation swallows only its own.
    """
    work = asyncio.create_task(run_guarded(name, code), name=f"hook {name}")
    try:
        await asyncio.wait({work}, timeout=timeout_s)
    except asyncio.CancelledError:
        await _stop(work)
        raise
    if not work.done():
        await _stop(work)
        return LATE
    return LATE if work.cancelled() else work.result()


async def _stop(work: asyncio.Task[T]) -> None:
    work.cancel()
    await asyncio.wait({work}, timeout=GRACE_S)
    if not work.done():
        _abandoned.add(work)
        work.add_done_callback(_abandoned.discard)
