"""A loopback channel in memory: what people say goes to Intake, what is sent ends their wait."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence

from geode.messages import InboundMessage, OutboundBody, Part, Person, Place, QuotedMessage, Thread
from geode.ports import Accepted, CatchUpPlan, Channel, ChannelLimits, ChannelStatus, Intake
from geode.settings import Section

NAME = "bench"
WORKSPACE, ROOM, PERSON = "W", "C", "P1"


class BenchSettings(Section):
    """The channel has nothing to set."""


class BenchChannel(Channel):
    """One room; each conversation is a thread of it."""

    def __init__(self) -> None:
        self._intake: Intake | None = None
        self.started = asyncio.Event()
        # Message ids go on where an earlier process of the same state ended.
        self._numbers = itertools.count(time.time_ns())
        self._waiting: dict[str, asyncio.Future[str]] = {}

    @property
    def name(self) -> str:
        """The platform's name."""
        return NAME

    @property
    def limits(self) -> ChannelLimits:
        """What it takes at most."""
        return ChannelLimits(text_units_max=4_000, file_bytes_max=1_000_000)

    def status(self) -> ChannelStatus:
        """Up, once started."""
        return ChannelStatus("starting" if self._intake is None else "up")

    async def start(self, intake: Intake) -> None:
        """Receive until cancelled."""
        self._intake = intake
        self.started.set()
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """There is no connection."""

    async def ask(self, conversation: str, text: str) -> str:
        """A person writes; returns the answer's text when it is sent."""
        answer = asyncio.get_running_loop().create_future()
        self._waiting[conversation] = answer
        accepted = await self.accept(conversation, text)
        if accepted.outcome != "stored":
            raise RuntimeError(f"the message was not stored: {accepted}")
        async with asyncio.timeout(60):
            return await answer

    async def accept(self, conversation: str, text: str) -> Accepted:
        """Hand one message to Intake; returns after its commit."""
        assert self._intake is not None, "the channel was not started"
        number = f"{next(self._numbers):020d}"
        message = InboundMessage(
            thread=Thread(NAME, WORKSPACE, ROOM, conversation),
            message_id=number,
            order_key=number,
            dedupe_key=number,
            sender=Person(PERSON, "Ana"),
            text=text,
            is_addressed=True,
            reply_to=number,
        )
        return await self._intake.accept(message)

    def plan(self, body: OutboundBody) -> tuple[Part, ...]:
        """One part, whatever the length."""
        return (Part({"kind": body.kind, "text": body.markdown}, body.markdown),)

    async def send(self, place: Place, part: Part, key: str) -> str:
        """Take a message; an answer ends the person's wait."""
        self._take(place, part)
        return f"b{next(self._numbers)}"

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Take a new wording of a message."""
        self._take(place, part)

    def _take(self, place: Place, part: Part) -> None:
        if part.payload.get("kind") == "answer":
            answer = self._waiting.pop(place.thread.thread, None)
            if answer is not None and not answer.done():
                answer.set_result(part.plain)

    async def find_sent(
        self, place: Place, key: str, since_us: int, part: Part | None = None
    ) -> str | None:
        """Nothing is ever of unknown outcome."""
        return None

    async def react(self, place: Place, message_id: str, *, is_on: bool) -> None:
        """Show nothing."""

    async def read_earlier(self, thread: Thread, before: str) -> Sequence[QuotedMessage]:
        """No thread is older than its first message."""
        return ()

    async def catch_up(self, plan: CatchUpPlan, intake: Intake) -> None:
        """Nothing is ever missed."""
