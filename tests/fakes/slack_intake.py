"""An intake in memory: dedupes as the real one does, and can refuse, wait or be slow on request."""

from __future__ import annotations

import asyncio

from geode.errors import StorageFullError
from geode.messages import ButtonPress, ChatCommand, Inbound, InboundMessage, Thread
from geode.ports import Accepted


class MemoryIntake:
    """Keeps what was accepted; `refusals` is how many events it refuses to store first."""

    def __init__(self) -> None:
        self.stored: list[InboundMessage] = []
        self.commands: list[ChatCommand] = []
        self.presses: list[ButtonPress] = []
        self.verdict: Accepted | None = None
        """What a command or a press is answered with, instead of what is usual."""
        self.asked: list[Inbound] = []
        self.catch_ups: list[str] = []
        self.confirmed: list[tuple[Thread, str]] = []
        self.stored_at_confirm: list[int] = []
        self.strangers: set[str] = set()
        self.refusals = 0
        self.open = asyncio.Event()
        self.open.set()
        self._seen: set[str] = set()

    async def accept(self, event: Inbound) -> Accepted:
        """Store an event once; raises `StorageFullError` while refusals are left."""
        self.asked.append(event)
        await self.open.wait()
        if self.refusals:
            self.refusals -= 1
            raise StorageFullError("the disk is full")
        if event.dedupe_key in self._seen:
            return Accepted("duplicate")
        self._seen.add(event.dedupe_key)
        if isinstance(event, ChatCommand):
            self.commands.append(event)
            return self.verdict or Accepted("answered", answer=f"You said {event.verb}.")
        if isinstance(event, ButtonPress):
            self.presses.append(event)
            return self.verdict or Accepted("decided", answer="That is decided.")
        self.stored.append(event)
        return Accepted("stored")

    def admits(self, event: Inbound) -> bool:
        """Everybody but the strangers."""
        person = event.presser if isinstance(event, ButtonPress) else event.sender
        return person.id not in self.strangers

    async def confirm_read(self, place: Thread, order_key: str, message_id: str) -> None:
        """Note how far a place was handed over, and how much of it was stored by then."""
        self.confirmed.append((place, message_id))
        self.stored_at_confirm.append(len(self.stored))

    async def move_place(self, old: Thread, new: Thread) -> None:
        """No conversation of these tests moves."""
        raise AssertionError((old, new))

    def mark_catch_up_due(self, channel: str) -> None:
        """Note that a catch-up was asked for."""
        self.catch_ups.append(channel)

    @property
    def texts(self) -> list[str]:
        """The words of what was stored, in order of arrival."""
        return [message.text for message in self.stored]
