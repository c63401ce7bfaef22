"""A Discord without a wire: the server, what people do in it, what goes wrong, what is counted."""

from __future__ import annotations

from aiohttp import web

from channels.rehearsal.discord_api import RestApi
from channels.rehearsal.discord_gateway import Gateway
from channels.rehearsal.discord_interactions import Asked
from channels.rehearsal.discord_methods import Methods
from channels.rehearsal.discord_refusal import DiscordRefusalError
from channels.rehearsal.discord_state import (
    ANA,
    BOT,
    BOT_TOKEN,
    CATEGORY_KIND,
    DIRECT,
    FORUM,
    GENERAL,
    GUILD,
    THREAD,
    DiscordWorld,
    Posted,
    Room,
    stamp_of,
)
from channels.rehearsal.discord_wire import message_json, room_json
from channels.rehearsal.faults import FaultKind
from channels.rehearsal.stand_in import StandIn
from geode.messages import JsonObject, JsonValue


class DiscordCore(StandIn):
    """Everything the stand-in is, except that it does not listen yet."""

    def __init__(self) -> None:
        super().__init__()
        self.bot_token = BOT_TOKEN
        self.guild, self.bot = GUILD, BOT
        self.world = DiscordWorld()
        self.gateway = Gateway(self.world, self.faults, BOT_TOKEN)
        self.methods = Methods(self.world, self.gateway)
        self.book = self.methods.book
        self.api = RestApi(self.faults, self.methods, BOT_TOKEN)

    async def say(
        self,
        text: str,
        *,
        user: str = ANA,
        channel: str = GENERAL,
        is_heard: bool = True,
        **extra: JsonValue,
    ) -> Posted:
        """A person writes; `text` is Discord's own spelling (`<@BOT> hi`).

        An empty `channel` is the person's direct message with the bot. What is not `is_heard`
        happened while the gateway told nobody. Further fields go into the wire form as they are.
        """
        room = self.world.rooms[channel] if channel else self.world.direct_room(user)
        post = self.world.add_post(
            Posted(room.id, self.world.next_id(), user, text, extra=dict(extra))
        )
        if is_heard:
            await self._announce("MESSAGE_CREATE", post)
        return post

    async def announce(self, post: Posted) -> None:
        """The gateway tells of a message, for the first time or once more."""
        await self._announce("MESSAGE_CREATE", post)

    async def _announce(self, name: str, post: Posted) -> None:
        await self.gateway.dispatch(name, message_json(self.world, post, form="gateway"))

    async def attach(
        self, text: str, *files: tuple[str, str, bytes], user: str = ANA, channel: str = GENERAL
    ) -> Posted:
        """A person sends files, each a name, a media type and bytes, with or without words."""
        room = channel or self.world.direct_room(user).id
        shown = [self.world.attach(room, *file) for file in files]
        return await self.say(text, user=user, channel=room, attachments=list[JsonValue](shown))

    async def serve_file(self, request: web.Request) -> web.Response:
        """The file host: no token, addresses that expire, faults under the name `cdn`."""
        number = request.match_info["file"]
        self.api.calls["cdn"] += 1
        if "Authorization" in request.headers:
            return web.Response(status=400, text="a token was sent to the file host")
        if fault := self.faults.take(FaultKind.SERVER_ERROR, "cdn"):
            return web.Response(status=fault.status)
        if fault := self.faults.take(FaultKind.RATE_LIMITED, "cdn"):
            wait = {"Retry-After": str(fault.retry_after_s)}
            return web.Response(status=429, headers=wait)
        if str(request.rel_url) in self.world.expired:
            return web.Response(status=404, text="This content is no longer available.")
        content = self.world.blobs.get(number)
        return web.Response(status=404) if content is None else web.Response(body=content)

    async def press(self, post: Posted, custom_id: str, *, user: str = ANA) -> Asked:
        """A person presses a button."""
        return await self.book.press(post, custom_id, user)

    async def submit(self, opened: Asked, text: str) -> Asked:
        """A person sends the form that a press opened."""
        return await self.book.submit(opened, text)

    async def command(
        self, name: str, argument: str = "", *, user: str = ANA, channel: str = GENERAL
    ) -> Asked:
        """A person uses a slash command."""
        room = self.world.rooms[channel] if channel else self.world.direct_room(user)
        return await self.book.command(name, argument, user, room)

    async def open_thread(
        self,
        name: str = "thread",
        *,
        channel: str = GENERAL,
        is_hidden: bool = False,
        message: str = "",
    ) -> Room:
        """A person opens a thread in a channel; `message` is what it hangs on, if anything."""
        opened = message or self.world.next_id()
        room = self.world.add_room(Room(opened, name, THREAD, channel, is_hidden=is_hidden))
        if not is_hidden:
            await self.gateway.dispatch("THREAD_CREATE", room_json(self.world, room))
        return room

    async def open_post(self, text: str, *, user: str = ANA, forum: str = FORUM) -> Posted:
        """A person opens a forum post: a thread whose first message has the thread's own id."""
        room = await self.open_thread("post", channel=forum)
        post = self.world.add_post(Posted(room.id, room.id, user, text))
        await self._announce("MESSAGE_CREATE", post)
        return post

    async def edit(self, post: Posted, text: str) -> None:
        """A person edits a message of theirs."""
        at = stamp_of(self.world.next_id())
        post.edits.append({"at": at, "content": post.text})
        post.text = text
        await self._announce("MESSAGE_UPDATE", post)

    async def unfurl(self, post: Posted) -> None:
        """Discord adds a link preview to a message."""
        preview: JsonObject = {"type": "link", "url": "https://example.org"}
        shown = message_json(self.world, post, form="gateway")
        shown["embeds"] = [preview]
        await self.gateway.dispatch("MESSAGE_UPDATE", shown)

    async def delete(self, post: Posted) -> None:
        """A person deletes a message of theirs."""
        post.is_deleted = True
        gone: JsonObject = {"id": post.id, "channel_id": post.room}
        if self.world.rooms[post.room].kind != DIRECT:
            gone["guild_id"] = GUILD
        await self.gateway.dispatch("MESSAGE_DELETE", gone)

    def find(self, room: str, message: str) -> Posted:
        """A living message; raises `DiscordRefusalError` when there is none."""
        post = self.world.find_post(room, message)
        if post is None:
            raise DiscordRefusalError(10008)
        return post

    def bot_posts(self, room: str) -> list[Posted]:
        """What the bot said in a place and did not take back, oldest first."""
        return [post for post in self.world.living(room) if post.author == BOT]

    def channel_names(self) -> dict[str, str]:
        """The server's channels by name."""
        kinds = (THREAD, DIRECT, CATEGORY_KIND)
        return {r.name: r.id for r in self.world.rooms.values() if r.kind not in kinds}

    def counters(self) -> JsonObject:
        """Everything counted: calls, refusals, gateway, faults used, threads opened."""
        return {
            "calls": dict(self.api.calls),
            "refused": dict(self.api.refused),
            "gateway": dict(self.gateway.counters),
            "rest": dict(self.methods.counters),
            "faults_taken": dict(self.faults.taken),
            "connections_now": len(self.gateway.connections),
        }
