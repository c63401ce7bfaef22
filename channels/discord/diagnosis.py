"""What `geode doctor` asks Discord: the token, the message content intent, a server."""

from __future__ import annotations

import asyncio

import discord

from channels.discord.connection import INTENT_OFF, OUTAGES
from channels.discord.gateway import GatewayClient
from channels.discord.rest import DiscordRest
from geode.errors import ChannelDownError
from geode.ports import Finding

NO_SERVER = (
    "The bot is in no server: invite it with the scopes bot and applications.commands, "
    "under OAuth2 in Discord's developer portal."
)


async def diagnose(
    client: GatewayClient, token: str, token_name: str, timeout_s: float
) -> list[Finding]:
    """Log in without a gateway session, which a running daemon would not notice."""
    try:
        async with asyncio.timeout(timeout_s):
            await client.login(token)
        return await _look(client, timeout_s)
    except discord.LoginFailure:
        return [Finding("fault", "token", f"Discord refused the token: check {token_name}.")]
    except OUTAGES as error:
        raise ChannelDownError(f"Discord cannot be reached ({type(error).__name__}).") from error
    finally:
        await client.shut()


async def _look(client: GatewayClient, timeout_s: float) -> list[Finding]:
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
    ]
