"""One town a platform: what a crash story needs of it, said and seen the same way everywhere."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import trustme

import channels.discord.adapter
import channels.slack.adapter
import channels.telegram.adapter
from channels.fields import object_of, objects_of, text_of
from channels.rehearsal import discord_state, telegram_state
from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_interactions import button_of, buttons_of
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_markup import list_buttons
from channels.telegram.render import DOUBLED

WARMED = (
    trustme,
    channels.discord.adapter,
    channels.slack.adapter,
    channels.telegram.adapter,
)
"""What a child would import by itself; none of it begins a thread."""
BINDING = """
[[bindings]]
channel = "{channel}"
where = "{where}"
people = ["{person}"]
operators = ["{person}"]
profile = "story"
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """One message of the bot's as it stands, with its earlier wordings."""

    text: str
    earlier: tuple[str, ...]
    buttons: tuple[str, ...]
    post: Any
    """As the platform keeps it."""


class CrashTown(ABC):
    """A platform with one conversation in it, seen from outside; lives in a process of its own."""

    name: ClassVar[str]
    doubled_mark: ClassVar[str] = ""
    """How a copy that may be a second one says so, where the platform knows no better way."""

    @property
    @abstractmethod
    def server(self) -> AbstractAsyncContextManager[object]:
        """Listens while it is entered."""

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """What a daemon must know to find it."""

    def is_attended(self) -> bool:
        """Whether what is said now reaches a bot that was never there before."""
        return True

    @abstractmethod
    async def begin(self, text: str) -> None:
        """A person addresses the bot, and a conversation begins."""

    @abstractmethod
    async def go_on(self, text: str) -> None:
        """The person writes on in the same conversation."""

    @abstractmethod
    async def give_command(self, verb: str) -> None:
        """The person gives a command there."""

    @abstractmethod
    async def press(self, shown: Shown, label: str) -> None:
        """The person presses a button."""

    @abstractmethod
    def shown(self) -> list[Shown]:
        """What the bot says in the conversation, oldest first."""

    @abstractmethod
    def marks(self) -> list[str]:
        """The messages that the working mark stands on."""

    @classmethod
    @abstractmethod
    def configure(cls, facts: Mapping[str, str]) -> str:
        """The part of the configuration that is the platform's."""

    @classmethod
    @abstractmethod
    def environ(cls, facts: Mapping[str, str]) -> Mapping[str, str]:
        """The secrets that the configuration refers to."""


class SlackTown(CrashTown):
    """A thread in a channel."""

    name = "slack"
    channel = "C0GENERAL"

    def __init__(self) -> None:
        self.slack = RehearsalSlack(ack_deadline_s=1.0)
        self._thread = ""

    @property
    def server(self) -> RehearsalSlack:
        return self.slack

    def facts(self) -> dict[str, str]:
        slack = self.slack
        return {"url": slack.base_url, "bot": slack.bot_token, "app": slack.app_token}

    async def begin(self, text: str) -> None:
        self._thread = (await self.slack.say(f"<@UBOT> {text}")).ts

    async def go_on(self, text: str) -> None:
        await self.slack.say(text, thread_ts=self._thread)

    async def give_command(self, verb: str) -> None:
        await self.go_on(f"!{verb}")

    async def press(self, shown: Shown, label: str) -> None:
        await self.slack.press(self.channel, shown.post.ts, label)

    def shown(self) -> list[Shown]:
        posts = self.slack.bot_posts(self.channel, self._thread)
        return [
            Shown(
                post.text,
                tuple(text_of(edit, "text") for edit in post.edits),
                tuple(
                    text_of(object_of(button, "text"), "text")
                    for block in objects_of({"blocks": post.blocks}, "blocks")
                    for button in objects_of(block, "elements")
                    if text_of(button, "type") == "button"
                ),
                post,
            )
            for post in posts
        ]

    def marks(self) -> list[str]:
        posts = self.slack.workspace.posts[self.channel]
        return [post.ts for post in posts if post.reactions.get("eyes")]

    @classmethod
    def configure(cls, facts: Mapping[str, str]) -> str:
        bound = BINDING.format(channel=cls.name, where=f"T0REHEARSAL/{cls.channel}", person="U0ANA")
        url = facts["url"]
        tokens = 'bot_token = "env:SLACK_BOT_TOKEN"\napp_token = "env:SLACK_APP_TOKEN"'
        return f'[channels.slack]\n{tokens}\napi_url = "{url}"\n{bound}'

    @classmethod
    def environ(cls, facts: Mapping[str, str]) -> Mapping[str, str]:
        return {"SLACK_BOT_TOKEN": facts["bot"], "SLACK_APP_TOKEN": facts["app"]}


class DiscordTown(CrashTown):
    """A thread that the bot opens from a message in a channel."""

    name = "discord"

    def __init__(self) -> None:
        self.discord = RehearsalDiscord()
        self._thread = ""

    @property
    def server(self) -> RehearsalDiscord:
        return self.discord

    def facts(self) -> dict[str, str]:
        discord = self.discord
        return {
            "proxy": discord.proxy_url,
            "ca": str(discord.ca_path),
            "bot": discord.bot_token,
        }

    def is_attended(self) -> bool:
        # What was said before its first start is nothing that a bot reads back.
        return bool(self.discord.gateway.connections)

    async def begin(self, text: str) -> None:
        self._thread = (await self.discord.say(f"<@{discord_state.BOT}> {text}")).id

    async def go_on(self, text: str) -> None:
        await self.discord.say(text, channel=self._thread)

    async def give_command(self, verb: str) -> None:
        await self.go_on(f"!{verb}")

    async def press(self, shown: Shown, label: str) -> None:
        await self.discord.press(shown.post, button_of(shown.post, label))

    def shown(self) -> list[Shown]:
        rooms = (self._thread, discord_state.GENERAL)
        return [
            Shown(
                post.text.replace("\\", ""),  # as a person reads it
                tuple(text_of(edit, "content") for edit in post.edits),
                tuple(text_of(button, "label") for button in buttons_of(post)),
                post,
            )
            for room in rooms
            for post in self.discord.bot_posts(room)
        ]

    def marks(self) -> list[str]:
        posts = self.discord.world.posts
        rooms = (self._thread, discord_state.GENERAL)
        found = [post for room in rooms for post in posts.get(room, [])]
        return [post.id for post in found if any(post.reactions.values())]

    @classmethod
    def configure(cls, facts: Mapping[str, str]) -> str:
        where = f"{discord_state.GUILD}/{discord_state.CATEGORY}"
        bound = BINDING.format(channel=cls.name, where=where, person=discord_state.ANA)
        proxy = facts["proxy"]
        return f'[channels.discord]\ntoken = "env:DISCORD_BOT_TOKEN"\nproxy = "{proxy}"\n{bound}'

    @classmethod
    def environ(cls, facts: Mapping[str, str]) -> Mapping[str, str]:
        os.environ["SSL_CERT_FILE"] = facts["ca"]  # the client's own look at the machine
        return {"DISCORD_BOT_TOKEN": facts["bot"]}


class TelegramTown(CrashTown):
    """A topic of a forum, received by polling."""

    name = "telegram"
    doubled_mark = DOUBLED

    def __init__(self) -> None:
        self.telegram = RehearsalTelegram()

    @property
    def server(self) -> RehearsalTelegram:
        return self.telegram

    def facts(self) -> dict[str, str]:
        return {"url": self.telegram.base_url, "bot": self.telegram.bot_token}

    async def begin(self, text: str) -> None:
        await self.go_on(f"@geode_bot {text}")

    async def go_on(self, text: str) -> None:
        self.telegram.say(text, topic=telegram_state.TOPIC_WORK)

    async def give_command(self, verb: str) -> None:
        await self.go_on(f"/{verb}@geode_bot")

    async def press(self, shown: Shown, label: str) -> None:
        self.telegram.press(shown.post, label)

    def shown(self) -> list[Shown]:
        return [
            Shown(
                post.text,
                tuple(post.edits),
                tuple(text_of(button, "text") for button in list_buttons(post.markup)),
                post,
            )
            for post in self.telegram.bot_posts()
        ]

    def marks(self) -> list[str]:
        posts = self.telegram.town.posts[telegram_state.FORUM]
        return [str(post.message_id) for post in posts if any(post.reactions.values())]

    @classmethod
    def configure(cls, facts: Mapping[str, str]) -> str:
        where = f"{telegram_state.BOT_ID}/{telegram_state.FORUM}"
        bound = BINDING.format(channel=cls.name, where=where, person=telegram_state.ANA)
        url = facts["url"]
        return f'[channels.telegram]\ntoken = "env:TELEGRAM_BOT_TOKEN"\napi_url = "{url}"\n{bound}'

    @classmethod
    def environ(cls, facts: Mapping[str, str]) -> Mapping[str, str]:
        return {"TELEGRAM_BOT_TOKEN": facts["bot"]}


TOWNS: Mapping[str, type[CrashTown]] = {
    town.name: town for town in (SlackTown, DiscordTown, TelegramTown)
}


def write_town_config(name: str, facts: Mapping[str, str], home: Path, more: str) -> Path:
    """A configuration for that town in the state folder."""
    path = home / "geode.toml"
    path.write_text(f"{more}\n{TOWNS[name].configure(facts)}")
    return path
