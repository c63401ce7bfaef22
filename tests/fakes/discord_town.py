"""A strict local Discord and a real daemon in one process, for stories told end to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from fakes.discord_world import trusting
from fakes.empty_database import lay_database

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import ANA, BEN, CATEGORY, GUILD, OTHER
from geode.app import Daemon, Seams
from geode.settings_load import InstalledChannelModels, load_settings

CONFIG = f"""
[channels.discord]
token = "env:DISCORD_BOT_TOKEN"
proxy = "{{proxy}}"

[[bindings]]
channel = "discord"
where = "{GUILD}/{CATEGORY}"
people = ["{ANA}"]
operators = ["{ANA}"]

[[bindings]]
channel = "discord"
where = "{GUILD}/{OTHER}"
people = []
operators = ["{BEN}"]

[[bindings]]
channel = "discord"
where = "dm/dm"
people = ["{ANA}"]
operators = ["{ANA}"]
"""


def answers(discord: RehearsalDiscord, room: str) -> list[str]:
    """What the bot says in a place as it reads now, progress left out."""
    texts = [post.text for post in discord.bot_posts(room)]
    return [text for text in texts if not text.startswith("Working on it")]


def write_config(discord: RehearsalDiscord, home: Path, config: str = CONFIG) -> Path:
    """A configuration for the local Discord in the state folder."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "geode.toml"
    path.write_text(config.format(proxy=discord.proxy_url))
    return path


@asynccontextmanager
async def running_daemon(
    discord: RehearsalDiscord, home: Path, config: str = CONFIG
) -> AsyncGenerator[Daemon]:
    """A daemon that is connected; cancelled and closed at the end."""
    path = write_config(discord, home, config)
    environ = {
        "GEODE_HOME": str(home),
        "HOME": str(home),
        "DISCORD_BOT_TOKEN": discord.bot_token,
    }
    loaded = load_settings(path, channel_models=InstalledChannelModels(), environ=environ)
    lay_database(home / "geode.db")
    with trusting(discord):
        daemon = await Daemon.open(loaded, environ=environ, seams=Seams(second_look_s=0.05))
        running = asyncio.create_task(daemon.run())
        try:
            await discord.wait_for(lambda: daemon.channels["discord"].status().state == "up")
            yield daemon
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            await daemon.close()
