"""A strict local Slack and a real daemon in one process, for stories told end to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from fakes.empty_database import lay_database

from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Posted
from geode.app import Daemon, Seams
from geode.settings_load import InstalledChannelModels, Loaded, load_settings

PEOPLE = '["U0ANA", "U0BEN"]'
CONFIG = """
[limits]
{limits}

[channels.slack]
bot_token = "env:SLACK_BOT_TOKEN"
app_token = "env:SLACK_APP_TOKEN"
api_url = "{api_url}"

[[bindings]]
channel = "slack"
where = "T0REHEARSAL/C0GENERAL"
people = {people}
operators = ["U0ANA"]
profile = "{profile}"
{binding}

[[bindings]]
channel = "slack"
where = "T0REHEARSAL/dm"
people = {people}
operators = ["U0ANA"]

[profiles.writer]
tools = ["list_files", "read_file", "grep_files", "write_file", "edit_file",
         "memory_save", "memory_search", "web_fetch"]
{more}
"""


def write_config(
    home: Path,
    api_url: str,
    *,
    limits: str = "",
    profile: str = "writer",
    binding: str = "",
    more: str = "",
) -> Path:
    """A configuration for the local Slack in the state folder."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "geode.toml"
    path.write_text(
        CONFIG.format(
            api_url=api_url,
            people=PEOPLE,
            limits=limits,
            profile=profile,
            binding=binding,
            more=more,
        )
    )
    return path


def town_environ(slack: RehearsalSlack, home: Path) -> Mapping[str, str]:
    """The environment that the configuration refers to."""
    return {
        "GEODE_HOME": str(home),
        "HOME": str(home),
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "ANTHROPIC_API_KEY": "sk-ant-test-key",
    }


def load_town(slack: RehearsalSlack, home: Path, **config: str) -> Loaded:
    """The settings of a daemon that talks to the local Slack."""
    path = write_config(home, slack.base_url, **config)
    return load_settings(
        path, channel_models=InstalledChannelModels(), environ=town_environ(slack, home)
    )


@asynccontextmanager
async def running_daemon(
    slack: RehearsalSlack,
    home: Path,
    *,
    seams: Seams | None = None,
    **config: str,
) -> AsyncGenerator[Daemon]:
    """A daemon that is connected; cancelled and closed at the end."""
    loaded = load_town(slack, home, **config)
    environ = town_environ(slack, home)
    lay_database(home / "geode.db")
    daemon = await Daemon.open(loaded, environ=environ, seams=seams)
    running = asyncio.create_task(daemon.run())
    try:
        await slack.wait_for(lambda: daemon.channels["slack"].status().state == "up")
        yield daemon
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await daemon.close()


def answers(slack: RehearsalSlack, thread_ts: str, channel: str = "C0GENERAL") -> list[str]:
    """What stands in a thread from the bot, as it reads now, progress left out."""
    return [post.text for post in slack.bot_posts(channel, thread_ts) if not is_progress(post)]


def is_progress(post: Posted) -> bool:
    """Whether the message is still a progress line."""
    return post.text.startswith("Working on it")
