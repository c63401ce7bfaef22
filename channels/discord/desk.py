"""Buttons, forms and slash commands: acknowledged at once, then through the front door."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import replace

from channels.discord.answers import Answers
from channels.discord.interactions import Interaction, event_of, parse_interaction
from channels.discord.parse import Dropped
from channels.discord.spots import Spots
from geode.errors import ChannelError, StoreError
from geode.messages import JsonObject
from geode.ports import Accepted, Intake

log = logging.getLogger(__name__)

AT_ONCE_MAX = 100
"""Interactions under way; Discord tells the person of one above it that nothing answered."""
LOOK_S = 1.0
"""Discord waits for three seconds, and the form itself needs the rest of them."""
NOT_TAKEN = "This could not be taken in just now. Please try again in a moment."
NOT_YOURS = "You cannot use this here."
DONE = "Done."
REFUSALS = frozenset({"ignored", "refused"})


class InteractionDesk:
    """Serves interactions side by side, since each has three seconds; none can end this."""

    def __init__(self, intake: Intake, spots: Spots, answers: Answers) -> None:
        self._intake = intake
        self._spots = spots
        self._answers = answers
        self._waiting: asyncio.Queue[Interaction] = asyncio.Queue(AT_ONCE_MAX)
        self._free = asyncio.Semaphore(AT_ONCE_MAX)
        self.dropped: Counter[str] = Counter()

    def offer(self, shown: JsonObject) -> None:
        """Take one interaction from the socket; never waits."""
        parsed = parse_interaction(shown)
        if isinstance(parsed, Dropped):
            self.dropped[parsed.reason] += 1
        elif not self._answers.claim(parsed.id):
            self.dropped["repeated"] += 1
        elif self._waiting.full():
            self.dropped["overflow"] += 1
        else:
            self._waiting.put_nowait(parsed)

    async def run(self) -> None:
        """Serve until cancelled."""
        async with asyncio.TaskGroup() as serving:
            while True:
                done = await self._waiting.get()
                await self._free.acquire()
                task = serving.create_task(self._serve(done))
                task.add_done_callback(lambda _: self._free.release())

    async def _serve(self, done: Interaction) -> None:
        if done.kind == "ask" and not await self._may_ask(done):
            # Without a form it is a press like any other, and the core says why it decides nothing.
            done = replace(done, kind="press")
        is_alive = await self._answers.acknowledge(done)
        if done.kind == "ask":
            return
        accepted = await self._accept(done)
        words = accepted.answer or _words_for(accepted, done)
        if not words:
            return
        is_for_all = (
            accepted.outcome not in REFUSALS
            and bool(accepted.answer)
            and not accepted.is_confidential
        )
        try:
            await self._answers.tell(done, words, is_alive=is_alive, is_for_all=is_for_all)
        except ChannelError as error:
            log.warning("discord_interaction_not_answered reason=%s", error)

    async def _may_ask(self, done: Interaction) -> bool:
        """Whether the form may be opened for this person; in doubt not, and soon enough."""
        try:
            async with asyncio.timeout(LOOK_S):
                spot = await self._spots.find(done.channel, done.guild)
        except (ChannelError, TimeoutError):
            return False
        return self._intake.admits(event_of(done, spot))

    async def _accept(self, done: Interaction) -> Accepted:
        try:
            spot = await self._spots.find(done.channel, done.guild)
            return await self._intake.accept(event_of(done, spot))
        except (ChannelError, StoreError) as error:
            log.warning("discord_interaction_not_stored kind=%s reason=%s", done.kind, error)
            return Accepted("refused", "not_stored", NOT_TAKEN)


def _words_for(accepted: Accepted, done: Interaction) -> str:
    """What is said when the core says nothing: a command must be answered, a press need not be."""
    if accepted.outcome in REFUSALS:
        return NOT_YOURS
    return DONE if done.kind == "command" else ""
