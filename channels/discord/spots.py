"""Finds out what a channel id stands for: the library's cache first, then Discord itself."""

from __future__ import annotations

from collections import OrderedDict

import discord

from channels.discord.failures import PlatformRefusedError
from channels.discord.places import Spot, kind_of
from channels.discord.rest import DiscordRest
from channels.fields import int_of, text_of
from geode.messages import JsonObject

LOOKED_UP_MAX = 2_000
NOWHERE = "other"


class Spots:
    """Every place by its id; what neither the cache nor Discord knows is a place of no use."""

    def __init__(self, rest: DiscordRest) -> None:
        self._rest = rest
        self._client: discord.Client | None = None
        self._looked_up: OrderedDict[str, Spot] = OrderedDict()

    def use(self, client: discord.Client | None) -> None:
        """Read this client's cache; what was looked up before may have changed."""
        self._client = client
        self._looked_up.clear()

    async def find(self, channel: str, guild: str) -> Spot:
        """The place with that id; without a server it is a direct message.

        Raises `ChannelDownError` or `SendRateLimitedError` when it is unknown and cannot be asked.
        """
        if not guild:
            return Spot(channel, "", "direct")
        spot = self._cached(channel, guild) or self._looked_up.get(channel)
        if spot is None:
            spot = await self._ask(channel, guild)
        return spot

    def is_cached(self, channel: str) -> bool:
        """Whether the library knows the place without asking."""
        return self._client is not None and self._client.get_channel(int(channel)) is not None

    def _cached(self, channel: str, guild: str) -> Spot | None:
        if self._client is None:
            return None
        found = self._client.get_channel(int(channel))
        if isinstance(found, discord.Thread):
            parent = self._cached(str(found.parent_id), guild)
            if parent is None:
                return None
            return Spot(channel, guild, "thread", parent.id, parent.category)
        if not isinstance(found, discord.abc.GuildChannel):
            return None
        category = str(found.category_id or "")
        return Spot(channel, guild, kind_of(found.type.value), category=category)

    async def _ask(self, channel: str, guild: str) -> Spot:
        try:
            found = await self._rest.read_channel(channel)
        except PlatformRefusedError:
            # Not remembered: a thread's id is known before the thread is open.
            return Spot(channel, guild, NOWHERE)
        spot = read_spot(found, guild)
        if spot.kind == "thread":
            parent = await self.find(spot.parent, guild)
            spot = Spot(channel, guild, "thread", spot.parent, parent.category)
        self._looked_up[channel] = spot
        if len(self._looked_up) > LOOKED_UP_MAX:
            self._looked_up.popitem(last=False)
        return spot


def read_spot(channel: JsonObject, guild: str) -> Spot:
    """A channel object as a place; of a thread the category is not known yet."""
    channel_id, above = text_of(channel, "id"), text_of(channel, "parent_id")
    kind = kind_of(int_of(channel, "type", -1))
    if kind == "thread":
        return Spot(channel_id, guild, kind, above)
    return Spot(channel_id, guild, kind, category=above)
