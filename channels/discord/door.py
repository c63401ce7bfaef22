"""The way of a person's words into the core, live or read back, and of a command's answer out."""

from __future__ import annotations

import logging

from channels.discord.answers import Answers
from channels.discord.places import Spot
from channels.discord.recent import RecentMessages
from geode.errors import ChannelError
from geode.messages import ChatCommand, InboundMessage
from geode.ports import Intake

log = logging.getLogger(__name__)


class FrontDoor:
    """Hands in what was parsed; only a command that came as a message is answered from here."""

    def __init__(self, intake: Intake, recent: RecentMessages, answers: Answers) -> None:
        self.intake = intake
        self._recent = recent
        self._answers = answers

    async def take(self, said: InboundMessage | ChatCommand, spot: Spot) -> None:
        """Store it and say what the core answers; raises `StoreError` when it was not stored."""
        if isinstance(said, InboundMessage) and said.kind == "message":
            self._recent.remember(said)
        accepted = await self.intake.accept(said)
        if not isinstance(said, ChatCommand) or not accepted.answer:
            return
        try:
            await self._answers.reply(spot.id, said.message_id, accepted.answer)
        except ChannelError as error:
            log.warning("discord_command_not_answered reason=%s", error)
