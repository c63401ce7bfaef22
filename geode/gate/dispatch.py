"""Runs a handler under a wall clock and says how it ended; never pretends to know what it did."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

from geode.errors import ToolError
from geode.gate.locks import Hold
from geode.messages import JsonObject
from geode.records.guard import Raised, run_guarded
from geode.steps import Applied, Done, Ending, NotApplied, Tool, ToolContext

GRACE_S = 1.0
"""How long a handler may take to end after it was told to stop."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The handler gave no answer: it raised, ran out of time, or answered nonsense."""

    why: str
    has_ended: bool = True
    """False while the abandoned handler may still be at work."""


HandlerEnd: TypeAlias = Ending | Unknown


async def run_handler(
    tool: Tool, context: ToolContext, arguments: JsonObject, *, timeout_s: float, hold: Hold
) -> HandlerEnd:
    """Run the bound handler for at most `timeout_s` seconds and a short grace.

    A handler that ignores its cancellation is abandoned: the hold keeps its keys until it ends.
    """
    work = asyncio.create_task(
        run_guarded(tool.name, lambda: tool.handler(context, arguments)), name=f"tool {tool.name}"
    )
    try:
        await asyncio.wait({work}, timeout=timeout_s)
        if not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=GRACE_S)
    except asyncio.CancelledError:
        work.cancel()
        hold.keep_until(work)
        raise
    if not work.done():
        hold.keep_until(work)
        return Unknown(f"it did not end within {timeout_s:g} s and is still at work.", False)
    if work.cancelled():
        return Unknown(f"it did not end within {timeout_s:g} s and was stopped.")
    return _end_of(work.result())


def _end_of(answer: Ending | Raised) -> HandlerEnd:
    match answer:
        case Done() | NotApplied() | Applied():
            return answer
        case Raised(error=ToolError()):
            return NotApplied(answer.sentence)
        case Raised():
            return Unknown(f"it failed ({answer.sentence}).")
        case _:  # pyright: ignore[reportUnnecessaryComparison] - handlers come from outside too
            return Unknown("it answered with something that is not a result.")
