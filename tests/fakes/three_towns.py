"""Three strict local platforms for one `geode serve`, with the tokens in files."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import ANA, CATEGORY, GUILD
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import ANA as TELEGRAM_ANA
from channels.rehearsal.telegram_state import BOT_ID, CLUB, Posted

SECTIONS = {
    "slack": """
[channels.slack]
bot_token = "{slack_token}"
app_token = "env:SLACK_APP_TOKEN"
api_url = "{slack_url}"

[[bindings]]
channel = "slack"
where = "T0REHEARSAL/C0GENERAL"
people = ["U0ANA"]
operators = ["U0ANA"]
""",
    "discord": f"""
[channels.discord]
token = "file:{{home}}/discord.token"
proxy = "{{proxy}}"

[[bindings]]
channel = "discord"
where = "{GUILD}/{CATEGORY}"
people = [{ANA}]
operators = ["{ANA}"]
""",
    "telegram": f"""
[channels.telegram]
token = "file:{{home}}/telegram.token"
api_url = "{{telegram_url}}"

[[bindings]]
channel = "telegram"
where = "{BOT_ID}/{CLUB}"
people = [{TELEGRAM_ANA}]
operators = [{TELEGRAM_ANA}]
""",
}


@dataclass
class ThreeTowns:
    """The platforms, and the files that an operator changes."""

    home: Path
    slack: RehearsalSlack
    discord: RehearsalDiscord
    telegram: RehearsalTelegram

    @property
    def environ(self) -> dict[str, str]:
        """What `geode serve` is started with."""
        return {
            "GEODE_HOME": str(self.home),
            "HOME": str(self.home),
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "SSL_CERT_FILE": str(self.discord.ca_path),
        }

    def write(self, *names: str, slack_token: str = "", more: str = "") -> None:
        """Write a configuration with these channels."""
        places = {
            "home": self.home,
            "slack_token": slack_token or "env:SLACK_BOT_TOKEN",
            "slack_url": self.slack.base_url,
            "proxy": self.discord.proxy_url,
            "telegram_url": self.telegram.base_url,
        }
        text = "".join(SECTIONS[name].format(**places) for name in names or SECTIONS)
        (self.home / "geode.toml").write_text(text + more)

    def put_token(self, name: str, token: str) -> None:
        """Write a token into its file."""
        (self.home / f"{name}.token").write_text(token)

    async def ask_slack(self) -> None:
        """A mention is answered within five seconds."""
        post = await self.slack.say("<@UBOT> what is 20 + 3?")
        await self.slack.wait_for(
            lambda: any("23" in p.text for p in self.slack.bot_posts("C0GENERAL", post.ts)), 5
        )

    async def ask_discord(self) -> None:
        """The same on Discord."""
        post = await self.discord.say(f"<@{self.discord.bot}> what is 20 + 3?")
        await self.discord.wait_for(
            lambda: any("23" in p.text for p in self.discord.bot_posts(post.id)), 5
        )

    async def ask_telegram(self) -> None:
        """The same on Telegram."""
        before = len(self._told())
        self.telegram.say("@geode_bot what is 20 + 3?", chat=CLUB)
        await self.telegram.wait_for(lambda: len(self._told()) > before, 5)

    def _told(self) -> list[Posted]:
        return [post for post in self.telegram.bot_posts(CLUB) if "23" in post.text]


@asynccontextmanager
async def three_towns(home: Path) -> AsyncGenerator[ThreeTowns]:
    """The platforms, with every token in its file and all three channels configured."""
    async with (
        RehearsalSlack() as slack,
        RehearsalDiscord() as discord,
        RehearsalTelegram() as telegram,
    ):
        towns = ThreeTowns(home, slack, discord, telegram)
        towns.put_token("slack", slack.bot_token)
        towns.put_token("discord", discord.bot_token)
        towns.put_token("telegram", telegram.bot_token)
        towns.write()
        yield towns
