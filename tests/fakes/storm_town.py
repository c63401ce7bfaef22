"""A hundred conversations on three strict local platforms, and what each of them shows."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import CATEGORY, GUILD
from channels.rehearsal.discord_state import Person as Member
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Room, ts_key
from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import BOT_ID, FORUM, Chat, User

NAMES = ("ana", "ben", "cleo", "dan", "eva")
SLACK_ROOMS = tuple(f"C0STORM{n}" for n in range(4))
SLACK_PEOPLE = tuple(f"U0STORM{n}" for n in range(len(NAMES)))
DISCORD_PEOPLE = tuple(str(910000000000000100 + n) for n in range(len(NAMES)))
TELEGRAM_PEOPLE = tuple(200 + n for n in range(len(NAMES)))
TELEGRAM_CHATS = tuple(-1001000000100 - n for n in range(8))
TELEGRAM_TOPICS = tuple(500 + n for n in range(20))
SLACK_THREADS, DISCORD_THREADS = 34, 33


@dataclass(frozen=True, slots=True)
class Shown:
    """One message as a platform keeps it."""

    text: str
    is_ours: bool
    before: tuple[str, ...] = ()
    """What it said earlier."""
    is_marked: bool = False
    """Our working mark stands on it."""


class Talk(ABC):
    """One conversation: several people say something in it, one after the other."""

    platform = ""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    @abstractmethod
    async def say(self, text: str) -> None:
        """Somebody says it."""

    @abstractmethod
    def read(self) -> list[Shown]:
        """Everything that stands there, in the platform's order."""


class SlackTalk(Talk):
    """A thread in a channel."""

    platform = "slack"

    def __init__(self, chance: random.Random, slack: RehearsalSlack, room: str) -> None:
        super().__init__(chance)
        self._slack, self._room, self._root = slack, room, ""

    async def say(self, text: str) -> None:
        named = text if self._root and self._chance.random() < 0.7 else f"<@UBOT> {text}"
        order = self._chance.choice(("AB", "BA"))
        user = self._chance.choice(SLACK_PEOPLE)
        post = await self._slack.say(
            named, user=user, channel=self._room, thread_ts=self._root, order=order
        )
        self._root = self._root or post.ts

    def read(self) -> list[Shown]:
        posts = self._slack.workspace.posts[self._room]
        here = [p for p in posts if not p.is_deleted and self._root in (p.ts, p.thread_ts)]
        return [
            Shown(
                post.text,
                bool(post.bot_id),
                tuple(str(edit["text"]) for edit in post.edits),
                bool(post.reactions.get("eyes")),
            )
            for post in sorted(here, key=lambda post: ts_key(post.ts))
        ]


class DiscordTalk(Talk):
    """A thread that hangs on a mention, that a person opened, or a forum post."""

    platform = "discord"

    def __init__(self, chance: random.Random, discord: RehearsalDiscord, kind: int) -> None:
        super().__init__(chance)
        self._discord, self._kind, self._room = discord, kind % 3, ""

    async def say(self, text: str) -> None:
        user = self._chance.choice(DISCORD_PEOPLE)
        named = f"<@{self._discord.bot}> {text}"
        if self._room:
            # A thread that hangs on a mention is there once the bot opened it.
            await self._discord.wait_for(lambda: self._room in self._discord.world.rooms, 120)
            said = text if self._chance.random() < 0.7 else named
            await self._discord.say(said, user=user, channel=self._room)
        elif self._kind == 0:
            self._room = (await self._discord.say(named, user=user)).id
        elif self._kind == 1:
            self._room = (await self._discord.open_thread()).id
            await self._discord.say(named, user=user, channel=self._room)
        else:
            self._room = (await self._discord.open_post(named, user=user)).room

    def read(self) -> list[Shown]:
        world = self._discord.world
        general = next(room.id for room in world.rooms.values() if room.name == "general")
        starter = world.find_post(general, self._room)
        posts = [*([starter] if starter else []), *world.living(self._room)]
        return [
            Shown(
                post.text,
                post.author == self._discord.bot,
                tuple(str(edit["content"]) for edit in post.edits),
                any(self._discord.bot in users for users in post.reactions.values()),
            )
            for post in posts
            if post.text
        ]


class TelegramTalk(Talk):
    """A topic, a group, or a person's own chat with the bot."""

    platform = "telegram"

    def __init__(
        self, chance: random.Random, telegram: RehearsalTelegram, chat: int, topic: int = 0
    ) -> None:
        super().__init__(chance)
        self._telegram, self._chat, self._topic = telegram, chat, topic
        self._is_begun = False

    async def say(self, text: str) -> None:
        is_named = not self._is_begun or self._chance.random() < 0.3
        user = self._chat if self._chat > 0 else self._chance.choice(TELEGRAM_PEOPLE)
        said = f"@{self._telegram.town.bot.username} {text}" if is_named else text
        self._is_begun = True
        self._telegram.say(said, user=user, chat=self._chat, topic=self._topic)

    def read(self) -> list[Shown]:
        bot = self._telegram.town.bot.id
        return [
            Shown(post.text, post.sender == bot, tuple(post.edits), bool(post.reactions.get(bot)))
            for post in self._telegram.town.posts[self._chat]
            if post.topic == self._topic
        ]


@dataclass(slots=True)
class StormTown:
    """The three platforms with people, places and a hundred conversations."""

    slack: RehearsalSlack
    discord: RehearsalDiscord
    telegram: RehearsalTelegram
    talks: list[Talk] = field(default_factory=list[Talk])

    def open_talks(self, chance: random.Random) -> None:
        """Let people in and begin every conversation's place."""
        self._let_in()
        for number in range(SLACK_THREADS):
            room = SLACK_ROOMS[number % len(SLACK_ROOMS)]
            self.talks.append(SlackTalk(chance, self.slack, room))
        self.talks += [DiscordTalk(chance, self.discord, n) for n in range(DISCORD_THREADS)]
        spots = [(FORUM, topic) for topic in TELEGRAM_TOPICS]
        spots += [(chat, 0) for chat in (*TELEGRAM_CHATS, *TELEGRAM_PEOPLE)]
        self.talks += [TelegramTalk(chance, self.telegram, *spot) for spot in spots]

    def _let_in(self) -> None:
        workspace, town = self.slack.workspace, self.telegram.town
        for user, name in zip(SLACK_PEOPLE, NAMES, strict=True):
            workspace.add_person(user, name)
        for room in SLACK_ROOMS:
            workspace.add_room(Room(room, room.lower(), set(workspace.people)))
        for person, name in zip(DISCORD_PEOPLE, NAMES, strict=True):
            self.discord.world.people[person] = Member(person, name)
        for user, name in zip(TELEGRAM_PEOPLE, NAMES, strict=True):
            town.add_user(User(user, name))
            town.private_chat(user)
        for chat in TELEGRAM_CHATS:
            town.add_chat(Chat(chat, "supergroup", f"club {chat}"))
        town.chats[FORUM].topics |= {topic: f"topic {topic}" for topic in TELEGRAM_TOPICS}

    def write_config(self, home: Path) -> None:
        """The daemon's configuration for all three."""
        home.mkdir(parents=True, exist_ok=True)
        lines = ["[limits]", "turns_parallel = 32", "lease_s = 5.0"]
        lines += ["[channels.slack]", f'api_url = "{self.slack.base_url}"']
        lines += ["[channels.discord]", f'proxy = "{self.discord.proxy_url}"']
        lines += ["[channels.telegram]", f'api_url = "{self.telegram.base_url}"']
        (home / "geode.toml").write_text("\n".join([*lines, *self._bindings()]) + "\n")

    def _bindings(self) -> Iterator[str]:
        slack, telegram = list(SLACK_PEOPLE), [str(person) for person in TELEGRAM_PEOPLE]
        discord = list(DISCORD_PEOPLE)
        places = [
            ("slack", f"{self.slack.workspace.team_id}/{room}", slack) for room in SLACK_ROOMS
        ]
        places += [("discord", f"{GUILD}/{CATEGORY}", discord)]
        chats = [str(chat) for chat in (FORUM, *TELEGRAM_CHATS)]
        places += [("telegram", f"{BOT_ID}/{chat}", telegram) for chat in (*chats, "dm")]
        for channel, where, people in places:
            listed = ", ".join(f'"{person}"' for person in people)
            yield f'[[bindings]]\nchannel = "{channel}"\nwhere = "{where}"'
            yield f'people = [{listed}]\noperators = ["{people[0]}"]'

    def environ(self, home: Path, seed: str) -> dict[str, str]:
        """What the daemon's process needs."""
        return {
            "GEODE_HOME": str(home),
            "HOME": str(home),
            "STORM_SEED": seed,
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "DISCORD_BOT_TOKEN": self.discord.bot_token,
            "TELEGRAM_BOT_TOKEN": self.telegram.bot_token,
            "SSL_CERT_FILE": str(self.discord.ca_path),
        }
