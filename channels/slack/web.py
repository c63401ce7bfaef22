"""The Web API client of the channel: one HTTP session, no retry that could double a message."""

# The SDK's calls take and give dicts without types; they are read through channels.fields.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from channels.fields import text_of
from channels.slack.failures import call_slack
from channels.slack.parse import BotIdentity
from geode.messages import JsonObject

CONNECT_S = 5.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class SlackWeb:
    """Slack's methods as this channel uses them; each raises a `ChannelError` when it fails."""

    def __init__(self, api_url: str, token: str, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self.client = AsyncWebClient(token=token, base_url=api_url, retry_handlers=[])
        host = urlsplit(api_url).hostname or ""
        if host in LOOPBACK or proxy_bypass(host):
            # The SDK reads the proxy variables and knows no exception from them.
            self.client.proxy = None

    async def close(self) -> None:
        """Close the session; a later call opens another."""
        if self.client.session is not None:
            await self.client.session.close()

    def _ready(self) -> AsyncWebClient:
        session = self.client.session
        if session is None or session.closed:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
            self.client.session = aiohttp.ClientSession(timeout=timeout)
        return self.client

    async def read(self, method: str, **fields: str | int | bool) -> JsonObject:
        """A method that changes nothing."""
        params = {name: int(v) if isinstance(v, bool) else v for name, v in fields.items()}
        call = self._ready().api_call(method, http_verb="GET", params=params)
        return await call_slack(call, timeout_s=self._timeout_s, is_write=False)

    async def write(self, method: str, fields: JsonObject) -> JsonObject:
        """A method that changes something; without an answer its outcome is unknown."""
        call = self._ready().api_call(method, json=dict(fields))
        return await call_slack(call, timeout_s=self._timeout_s, is_write=True)

    async def mark(self, channel: str, ts: str, name: str, *, is_on: bool) -> None:
        """Put a reaction of ours on a message, or take it away."""
        client = self._ready()
        change = client.reactions_add if is_on else client.reactions_remove
        call = change(channel=channel, timestamp=ts, name=name)
        await call_slack(call, timeout_s=self._timeout_s, is_write=True)

    async def identify(self) -> BotIdentity:
        """Who the bot token makes us."""
        call = self._ready().auth_test()
        answer = await call_slack(call, timeout_s=self._timeout_s, is_write=False)
        return BotIdentity(
            user_id=text_of(answer, "user_id"),
            bot_id=text_of(answer, "bot_id"),
            team_id=text_of(answer, "team_id"),
            name=text_of(answer, "user"),
        )

    async def open_socket_url(self, app_token: str) -> str:
        """A fresh address for one socket."""
        call = self._ready().apps_connections_open(app_token=app_token)
        answer = await call_slack(call, timeout_s=self._timeout_s, is_write=False)
        return text_of(answer, "url")
