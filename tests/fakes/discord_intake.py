"""An intake in memory that also takes presses and commands, and answers as it is told."""

from __future__ import annotations

from fakes.slack_intake import MemoryIntake

from geode.errors import StorageFullError
from geode.messages import ButtonPress, ChatCommand, Inbound, InboundMessage
from geode.ports import Accepted


class DiscordIntake(MemoryIntake):
    """Keeps presses and commands beside the messages; `reply` is what the core says to them."""

    def __init__(self) -> None:
        super().__init__()
        self.presses: list[ButtonPress] = []
        self.commands: list[ChatCommand] = []
        self.reply = Accepted("decided", answer="Done so.")
        self._acted: set[str] = set()

    async def accept(self, event: Inbound) -> Accepted:
        """Store an event once; raises `StorageFullError` while refusals are left."""
        if isinstance(event, InboundMessage):
            return await super().accept(event)
        self.asked.append(event)
        await self.open.wait()
        if self.refusals:
            self.refusals -= 1
            raise StorageFullError("the disk is full")
        if event.dedupe_key in self._acted:
            return Accepted("duplicate")
        self._acted.add(event.dedupe_key)
        if isinstance(event, ButtonPress):
            self.presses.append(event)
        else:
            self.commands.append(event)
        return self.reply
