"""The places of the bot's servers and the people there, for `geode setup`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import cast

import discord

from channels.discord.connection import OUTAGES
from channels.discord.failures import PlatformRefusedError, TokenRefusedError
from channels.discord.gateway import GatewayClient
from channels.discord.places import DIRECT_WORKSPACE, kind_of
from channels.discord.rest import DiscordRest
from channels.fields import int_of, is_true, object_of, text_of, to_object
from geode.errors import ChannelDownError
from geode.guides import FoundPlace
from geode.messages import JsonObject, Person

SERVERS_MAX = 10
CHANNELS_MAX = 50
"""Of one server; of each the last messages are read, to see who talks there."""
MESSAGES = 50
MEMBERS_MAX = 100
SPEAKABLE = ("channel", "forum")


@asynccontextmanager
async def signed_in(client: GatewayClient, token: str, timeout_s: float) -> AsyncGenerator[None]:
    """A login without a gateway session, which a running daemon does not notice."""
    try:
        async with asyncio.timeout(timeout_s):
            await client.login(token)
        yield
    except discord.LoginFailure as error:
        raise TokenRefusedError("Discord refused the token.") from error
    except OUTAGES as error:
        raise ChannelDownError(f"Discord cannot be reached ({type(error).__name__}).") from error
    finally:
        await client.shut()


class DiscordDiscovery:
    """Reads a bounded part of what the bot may see; what it may not see is left out."""

    def __init__(self, client: GatewayClient, rest: DiscordRest) -> None:
        self._client = client
        self._rest = rest
        self._seen: dict[str, Person] = {}

    async def find(self) -> Sequence[FoundPlace]:
        """The channels of every server, then direct messages; raises `ChannelError`."""
        owner = self._read_owner()
        found: list[FoundPlace] = []
        answer: object = await self._rest.call(
            "GET /users/@me/guilds", query={"limit": SERVERS_MAX}
        )
        for guild in _objects_of(answer):
            found += await self._read_guild(guild, owner)
        if not found:
            return ()
        direct = f"{DIRECT_WORKSPACE}/{DIRECT_WORKSPACE}"
        return [*found, FoundPlace(direct, "direct messages", tuple(self._seen.values()))]

    def _read_owner(self) -> list[Person]:
        """Who made the application: most often the one who sets it up."""
        application = self._client.application
        if application is None:
            return []
        owner = application.team.owner if application.team else application.owner
        if owner is None:
            return []
        return [Person(str(owner.id), owner.display_name)]

    async def _read_guild(self, guild: JsonObject, owner: list[Person]) -> list[FoundPlace]:
        guild_id = text_of(guild, "id")
        members = await self._list_members(guild_id)
        places: list[FoundPlace] = []
        for channel in (await self._rest.list_channels(guild_id))[:CHANNELS_MAX]:
            if kind_of(int_of(channel, "type", -1)) not in SPEAKABLE:
                continue
            authors = await self._read_authors(channel)
            if authors is None:
                continue
            people = {person.id: person for person in [*owner, *members, *authors]}
            self._seen |= people
            name = f"#{text_of(channel, 'name')} of {text_of(guild, 'name')}"
            where = f"{guild_id}/{text_of(channel, 'id')}"
            places.append(FoundPlace(where, name, tuple(people.values())))
        return places

    async def _read_authors(self, channel: JsonObject) -> list[Person] | None:
        """Who wrote there lately; None when the bot may not see the place."""
        if kind_of(int_of(channel, "type", -1)) == "forum":
            return []
        try:
            messages = await self._rest.list_messages(text_of(channel, "id"), limit=MESSAGES)
        except PlatformRefusedError:
            return None
        authors = [object_of(m, "author") for m in messages if not text_of(m, "webhook_id")]
        return [_person_of(author) for author in authors if not is_true(author, "bot")]

    async def _list_members(self, guild: str) -> list[Person]:
        """Everybody, where the application may list them (a privileged intent)."""
        flags = self._client.application_flags
        if not (flags.gateway_guild_members or flags.gateway_guild_members_limited):
            return []
        try:
            answer: object = await self._rest.call(
                "GET /guilds/{guild_id}/members", query={"limit": MEMBERS_MAX}, guild_id=guild
            )
        except PlatformRefusedError:
            return []
        users = [object_of(member, "user") for member in _objects_of(answer)]
        return [_person_of(user) for user in users if not is_true(user, "bot")]


def _objects_of(answer: object) -> list[JsonObject]:
    found = cast("list[object]", answer) if isinstance(answer, list) else []
    return [to_object(item) for item in found]


def _person_of(user: JsonObject) -> Person:
    return Person(text_of(user, "id"), text_of(user, "global_name") or text_of(user, "username"))
