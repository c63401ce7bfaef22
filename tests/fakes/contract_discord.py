"""Discord under the contract suite: the strict local Discord and the real channel."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from fakes.contract_platform import Where, Who
from fakes.discord_world import make_channel

from channels.fields import objects_of, text_of
from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import ANA, BEN, BOT, GENERAL, GUILD, OTHER, STRANGER
from geode.messages import JsonObject, Place
from geode.ports import Channel

CA = "SSL_CERT_FILE"
PEOPLE: dict[Who, str] = {"ana": ANA, "ben": BEN, "stranger": STRANGER}


class DiscordPlatform:
    """One Discord server, behind its proxy."""

    name = "discord"
    bindings = (
        {"channel": name, "where": f"{GUILD}/{GENERAL}", "people": [ANA, BEN], "operators": [ANA]},
        {"channel": name, "where": f"{GUILD}/{OTHER}", "people": [ANA, BEN], "operators": [ANA]},
        {"channel": name, "where": "dm/dm", "people": [ANA], "operators": [ANA]},
    )

    def __init__(self) -> None:
        self.discord = RehearsalDiscord()
        self._trusted_before = os.environ.get(CA)
        self._proxy_port = 0

    async def __aenter__(self) -> Self:
        await self.discord.start()
        os.environ[CA] = str(self.discord.ca_path)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.environ.pop(CA)
        if self._trusted_before is not None:
            os.environ[CA] = self._trusted_before
        await self.discord.stop()

    def make_channel(self) -> Channel:
        """A channel configured for the server and not connected yet."""
        return make_channel(self.discord)

    async def begin(self, text: str, where: Where = "one", who: Who = "ana") -> str:
        """A person mentions the agent in a thread of their own, or writes to it directly."""
        if where == "direct":
            return (await self.discord.say(text, user=PEOPLE[who], channel="")).id
        room = await self.discord.open_thread(channel=OTHER if where == "side" else GENERAL)
        post = await self.discord.say(f"<@{BOT}> {text}", user=PEOPLE[who], channel=room.id)
        return post.id

    async def follow(self, place: Place, text: str, who: Who = "ana") -> str:
        """A person goes on in that thread."""
        room = _room_of(place)
        return (await self.discord.say(text, user=PEOPLE[who], channel=room)).id

    def shown(self, place: Place) -> list[str]:
        """What stands in the thread from the bot."""
        room = _room_of(place)
        return [post.text for post in self.discord.bot_posts(room)]

    async def make_noise(self, place: Place, message_id: str) -> None:
        """Previews, reactions, typing, and an event that nobody knows yet."""
        room = place.thread.thread
        await self.discord.unfurl(self.discord.find(room, message_id))
        spot: JsonObject = {"channel_id": room, "guild_id": GUILD, "user_id": ANA}
        reaction: JsonObject = {**spot, "message_id": message_id, "emoji": {"name": "+1"}}
        await self.discord.gateway.dispatch("MESSAGE_REACTION_ADD", reaction)
        await self.discord.gateway.dispatch("TYPING_START", {**spot, "timestamp": 1})
        await self.discord.gateway.dispatch("TOMORROW", spot)

    def _buttons(self, place: Place, message_id: str) -> dict[str, str]:
        """What every button of a message sends, by its words."""
        post = self.discord.find(_room_of(place), message_id)
        rows = objects_of(post.shown, "components")
        buttons = [each for row in rows for each in objects_of(row, "components")]
        return {text_of(each, "label"): text_of(each, "custom_id") for each in buttons}

    def labels(self, place: Place, message_id: str) -> list[str]:
        """The buttons that stand under a message now."""
        return list(self._buttons(place, message_id))

    async def press(
        self, place: Place, message_id: str, label: str, who: Who = "ana", words: str = ""
    ) -> None:
        """A person presses a button, and fills in the form that it opens."""
        post = self.discord.find(_room_of(place), message_id)
        custom_id = self._buttons(place, message_id)[label]
        asked = await self.discord.press(post, custom_id, user=PEOPLE[who])
        if words:
            await self.discord.wait_for(lambda: asked.answered)
            await self.discord.submit(asked, words)

    async def command(self, place: Place, verb: str, argument: str, who: Who = "ana") -> None:
        """A person uses a slash command in the thread."""
        room = _room_of(place)
        await self.discord.command(verb, argument, user=PEOPLE[who], channel=room)

    def whispers(self, who: Who) -> list[str]:
        """What only that person was shown."""
        asked = [each for each in self.discord.book.asked.values() if each.user == PEOPLE[who]]
        return [text for each in asked for text in each.texts if text]

    async def share(self, place: Place, name: str, content: bytes, who: Who = "ana") -> str:
        """A person sends a file in that thread."""
        file = (name, "application/octet-stream", content)
        post = await self.discord.attach("", file, user=PEOPLE[who], channel=_room_of(place))
        return post.id

    def files(self, place: Place) -> list[tuple[str, bytes]]:
        """The bot's files that stand there."""
        posts = self.discord.bot_posts(_room_of(place))
        shown = [file for post in posts for file in objects_of(post.shown, "attachments")]
        blobs = self.discord.world.blobs
        return [(text_of(file, "filename"), blobs[text_of(file, "id")]) for file in shown]

    def lose_files(self) -> None:
        """The bytes are deleted."""
        self.discord.world.blobs.clear()

    def drop_send_response(self) -> None:
        """The next message arrives, and its answer is lost."""
        self.discord.fault("drop_response", method="message.create")

    def drop_edit_response(self) -> None:
        """The next edit arrives, and its answer is lost."""
        self.discord.fault("drop_response", method="message.edit")

    def limit_next_send(self, wait_s: int) -> None:
        """The next message is refused for so many seconds."""
        self.discord.fault("rate_limited", method="message.create", retry_after_s=wait_s)

    def hold_sends(self, word: str, seconds: float) -> None:
        """Messages with that word are answered later."""
        self.discord.fault(
            "slow_response", method="message.create", contains=word, times=0, delay_s=seconds
        )

    def release(self) -> None:
        """No fault is in force any more."""
        self.discord.faults.clear()

    def remove_side(self) -> None:
        """The channel and its threads are deleted."""
        world = self.discord.world
        for room in [each for each in world.rooms.values() if OTHER in (each.id, each.parent)]:
            del world.rooms[room.id]

    async def cut_receiving(self) -> None:
        """The gateway's socket breaks."""
        self.discord.gateway.kill_all()

    async def go_down(self) -> None:
        """The way to Discord is shut."""
        self._proxy_port = self.discord.proxy.port
        await self.discord.proxy.stop()

    async def come_back(self) -> None:
        """The way to Discord is open again."""
        await self.discord.proxy.start(self._proxy_port)


def _room_of(place: Place) -> str:
    return place.thread.thread or place.thread.channel
