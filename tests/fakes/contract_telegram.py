"""Telegram under the contract suite: the strict local Bot API and the real channel."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from fakes.contract_platform import Where, Who
from fakes.telegram_world import make_channel

from channels.fields import object_of, text_of
from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_markup import list_buttons
from channels.rehearsal.telegram_state import (
    ANA,
    BEN,
    BOT_ID,
    CLUB,
    FORUM,
    STRANGER,
    TOPIC_PLAY,
    TOPIC_WORK,
    Posted,
)
from geode.messages import JsonObject, Place
from geode.ports import Channel

PEOPLE: dict[Who, int] = {"ana": ANA, "ben": BEN, "stranger": STRANGER}
SPOTS: dict[Where, tuple[int, int]] = {
    "one": (FORUM, TOPIC_WORK),
    "two": (FORUM, TOPIC_PLAY),
    "side": (CLUB, 0),
    "direct": (0, 0),
}


class TelegramPlatform:
    """One town with a forum, a group and private chats."""

    name = "telegram"
    bindings = (
        {"channel": name, "where": f"{BOT_ID}/{FORUM}", "people": [ANA, BEN], "operators": [ANA]},
        {"channel": name, "where": f"{BOT_ID}/{CLUB}", "people": [ANA, BEN], "operators": [ANA]},
        {"channel": name, "where": f"{BOT_ID}/dm", "people": [ANA], "operators": [ANA]},
    )

    def __init__(self) -> None:
        self.telegram = RehearsalTelegram()
        self._queries: list[tuple[Who, str]] = []
        self._commands: list[tuple[Who, int, int]] = []

    async def __aenter__(self) -> Self:
        await self.telegram.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.telegram.stop()

    def make_channel(self) -> Channel:
        """A channel configured for the town and not connected yet."""
        return make_channel(self.telegram)

    async def begin(self, text: str, where: Where = "one", who: Who = "ana") -> str:
        """A person mentions the agent in a topic or group, or writes to it directly."""
        chat, topic = SPOTS[where]
        words = f"@geode_bot {text}" if chat else text
        post = self.telegram.say(words, user=PEOPLE[who], chat=chat, topic=topic)
        return str(post.message_id)

    async def follow(self, place: Place, text: str, who: Who = "ana") -> str:
        """A person goes on in that topic or chat."""
        chat, topic = int(place.thread.channel), int(place.thread.thread or 0)
        post = self.telegram.say(text, user=PEOPLE[who], chat=chat, topic=topic)
        return str(post.message_id)

    def shown(self, place: Place) -> list[str]:
        """What stands in the topic or chat from the bot."""
        topic = int(place.thread.thread) if place.thread.thread else None
        return [post.text for post in self.telegram.bot_posts(int(place.thread.channel), topic)]

    async def make_noise(self, place: Place, message_id: str) -> None:
        """Membership, a poll, a channel's post, a service message, a kind that nobody knows."""
        chat = self.telegram.town.chats[int(place.thread.channel)].as_json()
        ana = self.telegram.town.users[ANA].as_json()
        at: JsonObject = {"chat": chat, "date": 1_700_000_000, "message_id": 5}
        for fields in (
            {"my_chat_member": {**at, "from": ana}},
            {"poll": {"id": "1"}},
            {"channel_post": {**at, "text": "from a channel"}},
            {"message": {**at, "from": ana, "new_chat_title": "another title"}},
            {"tomorrow": at},
        ):
            self.telegram.queue.push(**fields)

    def _post(self, place: Place, message_id: str) -> Posted:
        post = self.telegram.town.find_post(int(place.thread.channel), int(message_id))
        assert post is not None
        return post

    def labels(self, place: Place, message_id: str) -> list[str]:
        """The buttons that stand under a message now."""
        return [
            text_of(each, "text") for each in list_buttons(self._post(place, message_id).markup)
        ]

    async def press(
        self, place: Place, message_id: str, label: str, who: Who = "ana", words: str = ""
    ) -> None:
        """A person presses a button, and answers the prompt that follows."""
        post = self._post(place, message_id)
        known = len(self.telegram.bot_posts(post.chat))
        query = self.telegram.press(post, label, user=PEOPLE[who])
        self._queries.append((who, query))
        if words:
            await self.telegram.wait_for(lambda: len(self.telegram.bot_posts(post.chat)) > known)
            prompt = self.telegram.bot_posts(post.chat)[-1]
            spot = {"chat": post.chat, "topic": post.topic, "reply_to": prompt.message_id}
            self.telegram.say(words, user=PEOPLE[who], **spot)

    async def command(self, place: Place, verb: str, argument: str, who: Who = "ana") -> None:
        """A person writes a command, with our name where there are others."""
        name = "" if place.thread.channel == str(PEOPLE[who]) else "@geode_bot"
        said = await self.follow(place, f"/{verb}{name} {argument}".strip(), who)
        self._commands.append((who, int(place.thread.channel), int(said)))

    def whispers(self, who: Who) -> list[str]:
        """The alerts that person saw, what was answered below their commands or said privately."""
        queries = self.telegram.town.queries
        alerts = [text_of(queries[query] or {}, "text") for by, query in self._queries if by == who]
        answers = [
            post.text
            for by, chat, said in self._commands
            if by == who
            for post in self.telegram.bot_posts(chat)
            if post.message_id > said
        ]
        private = [post.text for post in self.telegram.bot_posts(PEOPLE[who])]
        return [text for text in (*alerts, *answers, *private) if text]

    async def share(self, place: Place, name: str, content: bytes, who: Who = "ana") -> str:
        """A person sends a file in that topic or chat."""
        chat, topic = int(place.thread.channel), int(place.thread.thread or 0)
        document = self.telegram.add_file(content, name)
        post = self.telegram.say("", user=PEOPLE[who], chat=chat, topic=topic, document=document)
        return str(post.message_id)

    def files(self, place: Place) -> list[tuple[str, bytes]]:
        """The bot's files that stand there."""
        topic = int(place.thread.thread) if place.thread.thread else None
        posts = self.telegram.bot_posts(int(place.thread.channel), topic)
        shown = [object_of(post.extra, "document") for post in posts if "document" in post.extra]
        kept = self.telegram.town.files
        return [(text_of(file, "file_name"), kept[text_of(file, "file_id")]) for file in shown]

    def lose_files(self) -> None:
        """The bytes are deleted."""
        self.telegram.town.files.clear()

    def drop_send_response(self) -> None:
        """The next message arrives, and its answer is lost."""
        self.telegram.fault("drop_response", method="sendMessage")

    def drop_edit_response(self) -> None:
        """The next edit arrives, and its answer is lost."""
        self.telegram.fault("drop_response", method="editMessageText")

    def limit_next_send(self, wait_s: int) -> None:
        """The next message is refused for so many seconds."""
        self.telegram.fault("rate_limited", method="sendMessage", retry_after_s=wait_s)

    def hold_sends(self, word: str, seconds: float) -> None:
        """Messages with that word are answered later."""
        self.telegram.fault(
            "slow_response", method="sendMessage", contains=word, times=0, delay_s=seconds
        )

    def release(self) -> None:
        """No fault is in force any more."""
        self.telegram.faults.clear()

    def remove_side(self) -> None:
        """The bot was removed from the group."""
        self.telegram.town.chats[CLUB].has_bot = False

    async def cut_receiving(self) -> None:
        """The next poll breaks."""
        self.telegram.fault("drop_request", method="getUpdates")
        self.telegram.queue.end_polls()

    async def go_down(self) -> None:
        """Nobody listens."""
        await self.telegram.stop()

    async def come_back(self) -> None:
        """Telegram listens again, on the port of before."""
        await self.telegram.start()
