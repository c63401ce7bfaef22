"""Discord's REST calls as this channel uses them, over the library's own rate limits."""

from __future__ import annotations

from typing import Any, cast

import discord
from discord.http import Route

from channels.discord.failures import call_discord
from channels.fields import to_object
from geode.errors import ChannelDownError
from geode.messages import JsonObject

MARK = "\N{EYES}"


class DiscordRest:
    """Each call raises a `ChannelError` when it fails; without a login nothing is sent."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._client: discord.Client | None = None

    def use(self, client: discord.Client | None) -> None:
        """Take the client that is logged in, or none."""
        self._client = client

    async def _call(
        self,
        address: str,
        *,
        body: JsonObject | None = None,
        query: JsonObject | None = None,
        **ids: str,
    ) -> Any:
        if self._client is None or self._client.is_closed():
            raise ChannelDownError("Discord is not connected yet.")
        method, _, path = address.partition(" ")
        more: dict[str, Any] = {} if body is None else {"json": body}
        if query:
            more["params"] = query
        route = Route(method, path, **ids)
        call = self._client.http.request(route, **more)
        return await call_discord(call, timeout_s=self._timeout_s, is_write=method != "GET")

    async def read_channel(self, channel: str) -> JsonObject:
        """A channel object."""
        return to_object(await self._call("GET /channels/{channel_id}", channel_id=channel))

    async def list_messages(self, channel: str, **query: str | int) -> list[JsonObject]:
        """Messages of a place, newest first."""
        path = "GET /channels/{channel_id}/messages"
        answer: object = await self._call(path, query=dict(query), channel_id=channel)
        found = cast("list[object]", answer) if isinstance(answer, list) else []
        return [to_object(message) for message in found]

    async def read_message(self, channel: str, message: str) -> JsonObject:
        """One message."""
        path = "GET /channels/{channel_id}/messages/{message_id}"
        return to_object(await self._call(path, channel_id=channel, message_id=message))

    async def list_active_threads(self, guild: str) -> JsonObject:
        """The server's threads that are not archived, with their parents."""
        return to_object(await self._call("GET /guilds/{guild_id}/threads/active", guild_id=guild))

    async def list_channels(self, guild: str) -> list[JsonObject]:
        """The server's channels and categories, without threads."""
        answer: object = await self._call("GET /guilds/{guild_id}/channels", guild_id=guild)
        found = cast("list[object]", answer) if isinstance(answer, list) else []
        return [to_object(channel) for channel in found]

    async def create_message(self, channel: str, fields: JsonObject) -> JsonObject:
        """Post; the answer is the message, also when the nonce was known."""
        path = "POST /channels/{channel_id}/messages"
        return to_object(await self._call(path, body=fields, channel_id=channel))

    async def edit_message(self, channel: str, message: str, fields: JsonObject) -> None:
        """Change a message of ours."""
        path = "PATCH /channels/{channel_id}/messages/{message_id}"
        await self._call(path, body=fields, channel_id=channel, message_id=message)

    async def open_thread(self, channel: str, message: str, name: str) -> None:
        """Open the thread of a message; its id is the message's."""
        path = "POST /channels/{channel_id}/messages/{message_id}/threads"
        fields: JsonObject = {"name": name, "auto_archive_duration": 1440}
        await self._call(path, body=fields, channel_id=channel, message_id=message)

    async def show_typing(self, channel: str) -> None:
        """Say for ten seconds that we are typing."""
        await self._call("POST /channels/{channel_id}/typing", channel_id=channel)

    async def mark(self, channel: str, message: str, *, is_on: bool) -> None:
        """Put the eyes on a message, or take ours away; both are repeatable."""
        method = "PUT" if is_on else "DELETE"
        path = f"{method} /channels/{{channel_id}}/messages/{{message_id}}/reactions/{{emoji}}/@me"
        await self._call(path, channel_id=channel, message_id=message, emoji=MARK)
