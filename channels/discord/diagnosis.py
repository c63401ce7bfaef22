"""What `geode doctor` asks Discord: the token, the message content intent, a server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import discord

from channels.discord.connection import INTENT_OFF, OUTAGES
from channels.discord.failures import PlatformRefusedError
from channels.discord.gateway import GatewayClient
from channels.discord.rest import DiscordRest
from channels.fields import text_of
from geode.errors import ChannelDownError
from geode.messages import Thread
from geode.ports import Finding

NO_SERVER = (
    "The bot is in no server: invite it with the scopes bot and applications.commands, "
    "under OAuth2 in Discord's developer portal."
)


async def diagnose(
    client: GatewayClient, token: str, token_name: str, timeout_s: float, places: Sequence[Thread]
) -> list[Finding]:
    """Log in without a gateway session, which a running daemon would not notice."""
    try:
        async with asyncio.timeout(timeout_s):
            await client.login(token)
        return await _look(client, timeout_s, places)
    except discord.LoginFailure:
        return [Finding("fault", "token", f"Discord refused the token: check {token_name}.")]
    except OUTAGES as error:
        raise ChannelDownError(f"Discord cannot be reached ({type(error).__name__}).") from error
    finally:
        await client.shut()


async def _look(client: GatewayClient, timeout_s: float, places: Sequence[Thread]) -> list[Finding]:
    rest = DiscordRest(timeout_s)
    rest.use(client)
    has_text = client.has_content_intent()
    has_server = bool(await rest.call("GET /users/@me/guilds", query={"limit": 1}))
    return [
        Finding("ok", "token", "Discord accepts it."),
        Finding("ok", "message content intent", "It is on.")
        if has_text
        else Finding("fault", "message content intent", INTENT_OFF),
        Finding("ok", "server", "The bot is in a server.")
        if has_server
        else Finding("fault", "server", NO_SERVER),
        *([await _look_at_place(rest, each) for each in places] if has_server else ()),
    ]


async def _look_at_place(rest: DiscordRest, place: Thread) -> Finding:
    """Whether the bot can see a channel, thread or category that a binding names."""
    where = f"{place.workspace}/{place.channel}"
    if place.channel == "dm":
        return Finding("ok", "place", f"{where} is served")
    try:
        found = await rest.read_channel(place.thread or place.channel)
    except PlatformRefusedError as error:
        sentence = f"{where} cannot be seen: correct where, or let the bot's role view it ({error})"
        return Finding("fault", "place", sentence)
    if text_of(found, "guild_id") != place.workspace:
        sentence = f"{where} lies in the server {text_of(found, 'guild_id')}: correct where."
        return Finding("fault", "place", sentence)
    return Finding("ok", "place", f"{where} is #{text_of(found, 'name')}")
