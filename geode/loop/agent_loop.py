"""The loop of one turn: six phases, run until the model answers or a limit ends it."""

from __future__ import annotations

from geode.loop.batches import resume_batch
from geode.loop.phases import (
    call_provider,
    observe_and_compact,
    pause,
    prepare_call,
    prepare_input,
    process_tools,
    terminate,
)
from geode.loop.run import Ending, LoopParts, TurnRun, Waits
from geode.loop.state import TurnEnd, TurnPause, TurnStart


class AgenticLoop:
    """Runs one turn over bound parts; holds nothing between runs.

    A crash at any point leaves what the last save stored: the same loop goes on from there.
    """

    def __init__(self, parts: LoopParts) -> None:
        self._parts = parts

    async def arun(self, start: TurnStart) -> TurnEnd | TurnPause:
        """Run until an end, whose candidate is not yet a completed turn, or until people are asked.

        Raises `StoreError` when a batch could not be saved (a lost lease too); model failures,
        limits and guards are ends, not exceptions.
        """
        run = prepare_input(self._parts, start)
        ending = await resume_batch(run, start.open_batch) if start.open_batch else None
        ending = ending or await observe_and_compact(run)
        while ending is None:
            ending = await self._take_step(run)
        return pause(run, ending) if isinstance(ending, Waits) else terminate(run, ending)

    async def _take_step(self, run: TurnRun) -> Ending | Waits | None:
        snapshot = prepare_call(run)
        if isinstance(snapshot, Ending):
            return snapshot
        reply = await call_provider(run, snapshot)
        if isinstance(reply, Ending):
            return reply
        ending = await process_tools(run, reply) if reply is not None else None
        return ending or await observe_and_compact(run)
