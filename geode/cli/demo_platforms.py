"""The three local platforms: where the demo talks, how each writes a message and shows a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import aiohttp

from geode.cli.demo_platform import Line, LocalPlatform

TOPIC = 42
"""The topic of the local Telegram's forum that the demo talks in."""


class LocalSlack(LocalPlatform):
    """A channel of the local Slack; the first message is the thread's root."""

    name: ClassVar[str] = "slack"
    command: ClassVar[str] = "!status"

    def __init__(self, facts: dict[str, Any], http: aiohttp.ClientSession) -> None:
        super().__init__(facts, http)
        self.bot_user = str(facts["bot_user"])
        self.channel = str(facts["channels"][0])
        self.thread_ts = ""

    def configure(self) -> str:
        """The sections of a configuration that serves this place."""
        return (
            '[channels.slack]\nbot_token = "env:SLACK_BOT_TOKEN"\n'
            'app_token = "env:SLACK_APP_TOKEN"\n'
            f'api_url = "{self.facts["api_url"]}"\n'
        ) + self.bind(f"{self.facts['team']}/{self.channel}")

    def environ(self) -> Mapping[str, str]:
        """What the daemon's environment must hold for it."""
        bot, app = self.facts["bot_token"], self.facts["app_token"]
        return {"SLACK_BOT_TOKEN": str(bot), "SLACK_APP_TOKEN": str(app)}

    def mention(self) -> str:
        """How a person writes the bot's name."""
        return f"<@{self.bot_user}>"

    async def post(self, person: str, text: str) -> str:
        """A person writes in the demo's thread, which the first message opens; its time stamp."""
        words = self.address(text)
        ts = await self.say(person, words, self.thread_ts)
        self.thread_ts = self.thread_ts or ts
        return ts

    async def say(self, person: str, text: str, thread_ts: str = "") -> str:
        """A person writes; the message's time stamp."""
        user, channel = self.people[person], self.channel
        said = {"user": user, "channel": channel, "text": text, "thread_ts": thread_ts}
        return str((await self.call("say", **said))["ts"])

    async def press(self, person: str, ts: str, button: str) -> None:
        """A person presses a button of a message, by its label."""
        pressed = {"user": self.people[person], "channel": self.channel, "ts": ts}
        await self.call("press", **pressed, button=button)

    async def read_thread(self, thread_ts: str) -> list[dict[str, Any]]:
        """Every message of a thread with all its fields, oldest first."""
        answer = await self.call("transcript", channel=self.channel, thread_ts=thread_ts)
        return cast("list[dict[str, Any]]", answer["messages"])

    async def read(self) -> Sequence[Line]:
        """What stands in the demo's thread, oldest first."""
        rows = await self.read_thread(self.thread_ts) if self.thread_ts else []
        return [_slack_line(row) for row in rows if not row["is_deleted"]]


def _slack_line(row: dict[str, Any]) -> Line:
    wordings = (*(str(edit["text"]) for edit in row["edits"]), str(row["text"]))
    return Line(row["ts"], row["author"], row["text"], bool(row.get("bot_id")), wordings)


class LocalDiscord(LocalPlatform):
    """A text channel of the local Discord; the bot opens a thread from the first message."""

    name: ClassVar[str] = "discord"
    command: ClassVar[str] = "!status"

    def __init__(self, facts: dict[str, Any], http: aiohttp.ClientSession) -> None:
        super().__init__(facts, http)
        self._channel = str(facts["channels"]["general"])
        self._thread = ""

    def configure(self) -> str:
        """The sections of a configuration that serves this place."""
        return (
            '[channels.discord]\ntoken = "env:DISCORD_BOT_TOKEN"\n'
            f'proxy = "{self.facts["proxy"]}"\n'
        ) + self.bind(f"{self.facts['guild']}/{self._channel}")

    def environ(self) -> Mapping[str, str]:
        """What the daemon's environment must hold: the local authority is the one it trusts."""
        return {
            "DISCORD_BOT_TOKEN": str(self.facts["token"]),
            "SSL_CERT_FILE": str(self.facts["ca"]),
        }

    def mention(self) -> str:
        """How a person writes the bot's name."""
        return f"<@{self.facts['bot']}>"

    async def post(self, person: str, text: str) -> str:
        """A person writes in the demo's thread, which opens from the first message; its id."""
        words = self.address(text)
        channel = self._thread or self._channel
        answer = await self.call("say", user=self.people[person], channel=channel, text=words)
        # A thread that opens from a message has the message's own id.
        self._thread = self._thread or str(answer["id"])
        return str(answer["id"])

    async def read(self) -> Sequence[Line]:
        """The channel, then its thread; nothing else is said in the channel."""
        rows: list[dict[str, Any]] = []
        for channel in (self._channel, self._thread):
            if channel:
                answer = await self.call("transcript", channel=channel)
                rows += cast("list[dict[str, Any]]", answer["messages"])
        bot = str(self.facts["bot"])
        return [_discord_line(row, bot) for row in rows if row["text"] and not row["is_deleted"]]


def _discord_line(row: dict[str, Any], bot: str) -> Line:
    wordings = (*(str(edit["content"]) for edit in row["edits"]), str(row["text"]))
    return Line(row["id"], row["name"], row["text"], row["author"]["id"] == bot, wordings)


class LocalTelegram(LocalPlatform):
    """A topic of the local Telegram's forum."""

    name: ClassVar[str] = "telegram"
    command: ClassVar[str] = "/status"

    def __init__(self, facts: dict[str, Any], http: aiohttp.ClientSession) -> None:
        super().__init__(facts, http)
        self._chat = int(facts["chats"]["forum"])

    def configure(self) -> str:
        """The sections of a configuration that serves this place."""
        return (
            '[channels.telegram]\ntoken = "env:TELEGRAM_BOT_TOKEN"\n'
            f'api_url = "{self.facts["api_url"]}"\n'
        ) + self.bind(f"{self.facts['bot_id']}/{self._chat}", is_numeric=True)

    def environ(self) -> Mapping[str, str]:
        """What the daemon's environment must hold for it."""
        return {"TELEGRAM_BOT_TOKEN": str(self.facts["bot_token"])}

    def mention(self) -> str:
        """How a person writes the bot's name."""
        return f"@{self.facts['bot_name']}"

    async def post(self, person: str, text: str) -> str:
        """A person writes in the topic; the message's id."""
        words = self.address(text)
        user = int(self.people[person])
        answer = await self.call("say", user=user, chat=self._chat, topic=TOPIC, text=words)
        return str(answer["message_id"])

    async def read(self) -> Sequence[Line]:
        """What stands in the topic, oldest first."""
        answer = await self.call("transcript", chat=self._chat, topic=TOPIC)
        rows = cast("list[dict[str, Any]]", answer["messages"])
        return [_telegram_line(row) for row in rows if row.get("text")]


def _telegram_line(row: dict[str, Any]) -> Line:
    wordings = (*map(str, row["edits"]), str(row["text"]))
    is_ours = bool(row["from"]["is_bot"])
    return Line(str(row["message_id"]), row["author"], row["text"], is_ours, wordings)


PLATFORMS: dict[str, type[LocalPlatform]] = {
    kind.name: kind for kind in (LocalSlack, LocalDiscord, LocalTelegram)
}
"""By the name that bindings and `--channels` write."""
