"""Live progress of a turn: phase, tools and elapsed time, in its message and its status."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from geode.errors import StoreError
from geode.log import get_logger
from geode.messages import OutboundBody, Place, ProgressStep, SessionId, Thread, TurnId
from geode.ports import Clock
from geode.reply import sentences
from geode.reply.delivery import Delivery

log = get_logger(__name__)

FIRST_EDIT_S = 2.0
"""A turn shorter than this shows no more than its first progress line."""
EDIT_INTERVAL_S = 3.0
STEPS_MAX = 20
"""The newest steps that a progress message lists."""


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """The turn whose progress is shown, and where."""

    session_id: SessionId
    turn_id: TurnId
    thread: Thread
    reply_to: str


class ProgressReporter:
    """Takes what the loop tells and edits the progress message at a rate platforms bear."""

    def __init__(
        self,
        delivery: Delivery,
        clock: Clock,
        turn: ShownTurn,
        may_edit: Callable[[], bool],
    ) -> None:
        self._delivery = delivery
        self._clock = clock
        self._turn = turn
        self._may_edit = may_edit
        self._began = clock.monotonic()
        self._phase = "thinking"
        self._tools: tuple[str, ...] = ()
        self._steps: list[ProgressStep] = []
        self._plan: tuple[ProgressStep, ...] = ()
        self._note = ""
        self._changed = asyncio.Event()
        self._editing = asyncio.Lock()
        self._is_over = False

    def step(self, phase: str, tools: tuple[str, ...] = ()) -> None:
        """The turn entered a phase; returns at once."""
        self._phase, self._tools = phase, tools
        self._steps = [ProgressStep(step.title, "done") for step in self._steps]
        self._steps = [*self._steps, *map(ProgressStep, tools)][-STEPS_MAX:]
        self._changed.set()

    def note(self, sentence: str) -> None:
        """One plain sentence for the person; returns at once."""
        self._note = sentence
        self._changed.set()

    def plan(self, steps: tuple[ProgressStep, ...]) -> None:
        """The session's own plan, above what was done; returns at once."""
        self._plan = steps[:STEPS_MAX]
        self._changed.set()

    async def finish(self) -> None:
        """Begin no further edit, and return when the one under way has ended."""
        self._is_over = True
        async with self._editing:
            pass

    async def run(self) -> None:
        """Edit while there is something new, until cancelled."""
        turn, statuses = self._turn, self._delivery.statuses
        statuses.put(turn.turn_id, Place(turn.thread, turn.reply_to), self._line)
        try:
            await self._keep_edited()
        finally:
            statuses.take(turn.turn_id)

    async def _keep_edited(self) -> None:
        await self._clock.sleep(FIRST_EDIT_S)
        while True:
            await self._changed.wait()
            self._changed.clear()
            async with self._editing:
                if self._may_still_edit():
                    await self._edit()
            await self._clock.sleep(EDIT_INTERVAL_S)

    async def _edit(self) -> None:
        turn = self._turn
        room = STEPS_MAX - len(self._plan)
        used = self._steps[-room:] if room else []
        body = OutboundBody(self._text(), "progress", steps=(*self._plan, *used))
        try:
            await self._delivery.edit_progress(
                turn.session_id, turn.turn_id, body, self._may_still_edit
            )
        except StoreError as error:
            log.warning("progress_not_shown", session=turn.session_id, reason=str(error))

    def _may_still_edit(self) -> bool:
        return not self._is_over and self._may_edit()

    def _line(self) -> str:
        elapsed_s = self._clock.monotonic() - self._began
        return sentences.describe_progress(self._phase, self._tools, elapsed_s)

    def _text(self) -> str:
        return f"{self._line()}\n{self._note}" if self._note else self._line()
