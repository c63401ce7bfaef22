"""The Web API client of the channel: one HTTP session, no retry that could double a message."""

# The SDK's calls take and give dicts without types; they are read through channels.fields.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from channels.fields import is_true, text_of
from channels.slack.failures import call_slack
from channels.slack.origin import BotIdentity
from geode.errors import ChannelDownError
from geode.messages import JsonObject

CONNECT_S = 5.0
HTTP_OK = 200
SLACK_HOSTS = ("slack.com", "slack-files.com")
SLACK_SUFFIXES = (".slack.com", ".slack-gov.com", ".slack-files.com")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class SlackWeb:
    """Slack's methods as this channel uses them; each raises a `ChannelError` when it fails."""

    def __init__(self, api_url: str, token: str, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self.client = AsyncWebClient(token=token, base_url=api_url, retry_handlers=[])
        parts = urlsplit(api_url)
        self._api_origin = (parts.scheme, parts.netloc)
        host = parts.hostname or ""
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

    async def open_view(self, trigger_id: str, view: JsonObject) -> None:
        """Open a form for the person whose press gave that trigger."""
        call = self._ready().views_open(trigger_id=trigger_id, view=dict(view))
        await call_slack(call, timeout_s=self._timeout_s, is_write=True)

    async def set_status(self, method: str, channel: str, thread_ts: str, status: str) -> None:
        """Set a thread's working state by that method."""
        client = self._ready()
        if method == "agents.sessions.setStatus":
            call = client.agents_sessions_setStatus(
                channel_id=channel, thread_ts=thread_ts, status=status
            )
        else:
            call = client.assistant_threads_setStatus(
                channel_id=channel, thread_ts=thread_ts, status=status
            )
        await call_slack(call, timeout_s=self._timeout_s, is_write=True)

    async def respond(self, url: str, content: JsonObject) -> None:
        """Answer one person through the address that came with what they did."""
        if not self.may_carry_token(url):
            raise ChannelDownError("The address for an answer is not Slack's.")
        whisper = {"response_type": "ephemeral", "replace_original": False, **content}
        async with self.request("POST", url, json=whisper) as response:
            if response.status != HTTP_OK:
                raise ChannelDownError(f"Slack took no answer (HTTP {response.status}).")

    def may_carry_token(self, url: str) -> bool:
        """Whether an address is Slack's own, or of the configured API: none other is called."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if (parts.scheme, parts.netloc) == self._api_origin:
            return True
        is_slack = host in SLACK_HOSTS or host.endswith(SLACK_SUFFIXES)
        return parts.scheme == "https" and is_slack and port in (None, 443)

    @asynccontextmanager
    async def request(
        self, verb: str, url: str, *, timeout_s: float = 0.0, **fields: Any
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """One plain request that follows no redirect; raises `ChannelDownError` without an answer.

        For an address that Slack named, outside the Web API; see `may_carry_token`.
        """
        client = self._ready()
        assert client.session is not None
        try:
            async with (
                asyncio.timeout(timeout_s or self._timeout_s),
                client.session.request(
                    verb, url, allow_redirects=False, proxy=client.proxy, **fields
                ) as response,
            ):
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ChannelDownError(f"Slack did not answer ({type(error).__name__}).") from error

    @property
    def bearer(self) -> dict[str, str]:
        """The header that proves who we are; for addresses that may carry the token only."""
        return {"Authorization": f"Bearer {self.client.token}"}

    async def ask_upload(self, name: str, size_bytes: int) -> JsonObject:
        """An address to which a file's bytes may be posted; nobody sees anything yet."""
        call = self._ready().files_getUploadURLExternal(filename=name, length=size_bytes)
        return await call_slack(call, timeout_s=self._timeout_s, is_write=False)

    async def finish_upload(
        self, file_id: str, title: str, *, channel: str, thread_ts: str, comment: str
    ) -> JsonObject:
        """Show an uploaded file in a place; without an answer its outcome is unknown."""
        call = self._ready().files_completeUploadExternal(
            files=[{"id": file_id, "title": title}],
            channel_id=channel,
            thread_ts=thread_ts or None,
            initial_comment=comment or None,
        )
        return await call_slack(call, timeout_s=self._timeout_s, is_write=True)

    async def identify(self) -> BotIdentity:
        """Who the bot token makes us."""
        call = self._ready().auth_test()
        answer = await call_slack(call, timeout_s=self._timeout_s, is_write=False)
        return BotIdentity(
            user_id=text_of(answer, "user_id"),
            bot_id=text_of(answer, "bot_id"),
            team_id=text_of(answer, "team_id"),
            name=text_of(answer, "user"),
            enterprise_id=text_of(answer, "enterprise_id"),
            is_org=is_true(answer, "is_enterprise_install"),
        )

    async def read_scopes(self) -> frozenset[str]:
        """What the bot token may do, as Slack says it beside an answer."""
        said: list[str] = []

        async def ask() -> AsyncSlackResponse:
            answer = await self._ready().auth_test()
            said.append(str(cast("dict[str, str]", answer.headers).get("x-oauth-scopes", "")))
            return answer

        await call_slack(ask(), timeout_s=self._timeout_s, is_write=False)
        return frozenset(scope.strip() for scope in said[0].split(",") if scope.strip())

    async def open_socket_url(self, app_token: str) -> str:
        """A fresh address for one socket."""
        call = self._ready().apps_connections_open(app_token=app_token)
        answer = await call_slack(call, timeout_s=self._timeout_s, is_write=False)
        return text_of(answer, "url")
