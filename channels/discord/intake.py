"""The gateway's events, one after the other, through the front door of the core."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from channels.discord.door import FrontDoor
from channels.discord.parse import (
    NO_TEXT,
    BotIdentity,
    Dropped,
    Said,
    parse_deletion,
    parse_edit,
    parse_said,
)
from channels.discord.places import PLATFORM, Spot
from channels.discord.recent import RecentMessages
from channels.discord.spots import Spots
from channels.fields import list_of, text_of
from geode.errors import ChannelError, StoreError
from geode.messages import JsonObject
from geode.ports import Intake

log = logging.getLogger(__name__)

WAITING_MAX = 1_000
"""Events that wait for the store; above it they are left to the catch-up."""
MESSAGE_EVENTS = frozenset(
    {"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"}
)


class EventIntake:
    """A bounded queue between the socket and the store; order is the gateway's own."""

    def __init__(
        self,
        intake: Intake,
        spots: Spots,
        recent: RecentMessages,
        door: FrontDoor,
        *,
        identify: Callable[[str], BotIdentity],
        on_no_text: Callable[[], None],
    ) -> None:
        self._intake = intake
        self._spots = spots
        self._recent = recent
        self._door = door
        self._identify = identify
        self._on_no_text = on_no_text
        self._waiting: asyncio.Queue[tuple[str, JsonObject]] = asyncio.Queue(WAITING_MAX)
        self.dropped: Counter[str] = Counter()
        """What arrived and was no message for us, by name."""

    def offer(self, name: str, data: JsonObject) -> None:
        """Take one event from the socket; never waits."""
        if name not in MESSAGE_EVENTS:
            self.dropped[f"event.{name}"] += 1
            return
        try:
            self._waiting.put_nowait((name, data))
        except asyncio.QueueFull:
            self.dropped["overflow"] += 1
            self._intake.mark_catch_up_due(PLATFORM)

    async def run(self) -> None:
        """Hand the events in until cancelled; none of them can end this."""
        while True:
            name, data = await self._waiting.get()
            try:
                await self._take(name, data)
            except (ChannelError, StoreError) as error:
                # Discord is not told, and does not ask: the catch-up reads it again.
                log.warning("discord_event_not_stored event=%s reason=%s", name, error)
                self._intake.mark_catch_up_due(PLATFORM)

    async def _take(self, name: str, data: JsonObject) -> None:
        guild = text_of(data, "guild_id")
        channel = text_of(data, "channel_id")
        if not channel.isdecimal():
            self.dropped["malformed"] += 1
            return
        spot = await self._spots.find(channel, guild)
        for parsed in self._parse(name, data, spot, self._identify(guild)):
            if isinstance(parsed, Dropped):
                self._drop(parsed, data)
            else:
                await self._door.take(parsed, spot)

    def _parse(self, name: str, data: JsonObject, spot: Spot, bot: BotIdentity) -> list[Said]:
        match name:
            case "MESSAGE_CREATE":
                return [parse_said(data, spot, bot)]
            case "MESSAGE_UPDATE":
                return [parse_edit(data, spot, bot)]
            case "MESSAGE_DELETE":
                return [self._gone(text_of(data, "id"), spot)]
            case _:
                ids = [one for one in list_of(data, "ids") if isinstance(one, str)]
                return [self._gone(one, spot) for one in ids]

    def _gone(self, message_id: str, spot: Spot) -> Said:
        return parse_deletion(message_id, spot, self._recent.author_of(message_id))

    def _drop(self, dropped: Dropped, data: JsonObject) -> None:
        self.dropped[dropped.reason] += 1
        log.debug("discord_event_dropped reason=%s", dropped.reason)
        if dropped.reason == NO_TEXT and text_of(data, "guild_id") and not data.get("embeds"):
            self._on_no_text()
