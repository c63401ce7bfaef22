"""Discord's REST calls as this channel uses them, over the library's own rate limits."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import discord
import orjson
from discord.http import Route

from channels.discord.failures import UNKNOWN_MESSAGE, PlatformRefusedError, call_discord
from channels.discord.silence import silence
from channels.fields import to_object
from geode.errors import ChannelDownError
from geode.messages import JsonObject, JsonValue

MARK = "\N{EYES}"
TO_SPEAK = "View Channel, Send Messages and Send Messages in Threads"


@dataclass(frozen=True, slots=True)
class Attached:
    """A file beside a message."""

    name: str
    media_type: str
    content: bytes


class DiscordRest:
    """Each call raises a `ChannelError` when it fails; without a login nothing is sent."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._client: discord.Client | None = None

    def use(self, client: discord.Client | None) -> None:
        """Take the client that is logged in, or none."""
        self._client = client

    async def call(
        self,
        address: str,
        body: JsonObject | list[JsonValue] | None = None,
        *,
        query: JsonObject | None = None,
        files: Sequence[Attached] = (),
        needs: str = "",
        **ids: str,
    ) -> Any:
        """One call; `needs` names the permission without which Discord refuses it.

        Nothing of this channel reaches Discord by another way, so nothing said can notify.
        """
        if self._client is None or self._client.is_closed():
            raise ChannelDownError("Discord is not connected yet.")
        if not all(ids.values()):
            # An address with a hole in it is another address.
            raise PlatformRefusedError(UNKNOWN_MESSAGE)
        method, _, path = address.partition(" ")
        more: dict[str, Any] = {"params": query} if query else {}
        quiet = silence(body) if isinstance(body, dict) else body
        if files:
            # The library begins a repeated call with the files' first bytes again.
            more["files"] = opened = [discord.File(io.BytesIO(f.content), f.name) for f in files]
            more["form"] = _form_of(to_object(quiet), files, opened)
        elif quiet is not None:
            more["json"] = quiet
        call = self._client.http.request(Route(method, path, **ids), **more)
        is_write = method != "GET"
        return await call_discord(call, timeout_s=self._timeout_s, is_write=is_write, needs=needs)

    async def read_channel(self, channel: str) -> JsonObject:
        """A channel object."""
        return to_object(await self.call("GET /channels/{channel_id}", channel_id=channel))

    async def list_messages(self, channel: str, **query: str | int) -> list[JsonObject]:
        """Messages of a place, newest first."""
        path = "GET /channels/{channel_id}/messages"
        answer: object = await self.call(path, query=dict(query), channel_id=channel)
        found = cast("list[object]", answer) if isinstance(answer, list) else []
        return [to_object(message) for message in found]

    async def read_message(self, channel: str, message: str) -> JsonObject:
        """One message."""
        path = "GET /channels/{channel_id}/messages/{message_id}"
        return to_object(await self.call(path, channel_id=channel, message_id=message))

    async def list_active_threads(self, guild: str) -> JsonObject:
        """The server's threads that are not archived, with their parents."""
        return to_object(await self.call("GET /guilds/{guild_id}/threads/active", guild_id=guild))

    async def list_channels(self, guild: str) -> list[JsonObject]:
        """The server's channels and categories, without threads."""
        answer: object = await self.call("GET /guilds/{guild_id}/channels", guild_id=guild)
        found = cast("list[object]", answer) if isinstance(answer, list) else []
        return [to_object(channel) for channel in found]

    async def create_message(
        self, channel: str, fields: JsonObject, files: Sequence[Attached] = ()
    ) -> JsonObject:
        """Post; the answer is the message, also when the nonce was known."""
        path = "POST /channels/{channel_id}/messages"
        needs = f"{TO_SPEAK}, and Attach Files" if files else TO_SPEAK
        found = await self.call(path, fields, files=files, needs=needs, channel_id=channel)
        return to_object(found)

    async def edit_message(self, channel: str, message: str, fields: JsonObject) -> None:
        """Change a message of ours."""
        path = "PATCH /channels/{channel_id}/messages/{message_id}"
        await self.call(path, fields, needs=TO_SPEAK, channel_id=channel, message_id=message)

    async def open_thread(self, channel: str, message: str, name: str) -> None:
        """Open the thread of a message; its id is the message's."""
        path = "POST /channels/{channel_id}/messages/{message_id}/threads"
        fields: JsonObject = {"name": name, "auto_archive_duration": 1440}
        needs = "Create Public Threads"
        await self.call(path, fields, needs=needs, channel_id=channel, message_id=message)

    async def reopen_thread(self, thread: str) -> None:
        """Take a thread out of the archive, as speaking in it would."""
        fields: JsonObject = {"archived": False}
        needs = "Send Messages in Threads"
        await self.call("PATCH /channels/{channel_id}", fields, needs=needs, channel_id=thread)

    async def open_direct(self, person: str) -> JsonObject:
        """The direct message with a person; repeating it is harmless."""
        fields: JsonObject = {"recipient_id": person}
        return to_object(await self.call("POST /users/@me/channels", fields))

    async def show_typing(self, channel: str) -> None:
        """Say for ten seconds that we are typing."""
        await self.call("POST /channels/{channel_id}/typing", channel_id=channel)

    async def mark(self, channel: str, message: str, *, is_on: bool) -> None:
        """Put the eyes on a message, or take ours away; both are repeatable."""
        method = "PUT" if is_on else "DELETE"
        path = f"{method} /channels/{{channel_id}}/messages/{{message_id}}/reactions/{{emoji}}/@me"
        needs = "Add Reactions and Read Message History"
        await self.call(path, needs=needs, channel_id=channel, message_id=message, emoji=MARK)


def _form_of(
    body: JsonObject, files: Sequence[Attached], opened: Sequence[discord.File]
) -> list[dict[str, Any]]:
    shown = [{"id": str(number), "filename": file.name} for number, file in enumerate(files)]
    head = orjson.dumps(body | {"attachments": shown}).decode()
    form: list[dict[str, Any]] = [{"name": "payload_json", "value": head}]
    for number, file in enumerate(files):
        form.append(
            {
                "name": f"files[{number}]",
                "value": opened[number].fp,
                "filename": file.name,
                "content_type": file.media_type or "application/octet-stream",
            }
        )
    return form
