"""A strict local Telegram and a real daemon in one process, for stories told end to end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fakes.empty_database import lay_database
from fakes.scripted_model import Scripted, ScriptedModel
from sqlalchemy import Column, select

from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import ANA, BEN, BOT_ID, FORUM, Posted
from geode.app import Daemon, Seams
from geode.llm.routes import ModelRoute
from geode.ports import Failpoints, NoFailpoints
from geode.settings_load import InstalledChannelModels, load_settings

CONFIG = f"""
[channels.telegram]
token = "env:TELEGRAM_BOT_TOKEN"
api_url = "{{api_url}}"

{{more}}
[[bindings]]
channel = "telegram"
where = "{BOT_ID}/{FORUM}"
people = [{ANA}, {BEN}]
operators = [{ANA}]

[[bindings]]
channel = "telegram"
where = "{BOT_ID}/dm"
people = [{ANA}]
operators = [{ANA}]
"""


def telegram_environ(telegram: RehearsalTelegram, home: Path) -> Mapping[str, str]:
    """The environment that the configuration refers to."""
    return {
        "GEODE_HOME": str(home),
        "HOME": str(home),
        "TELEGRAM_BOT_TOKEN": telegram.bot_token,
        "TELEGRAM_WEBHOOK_SECRET": "a-secret-of-the-webhook",
    }


def write_telegram_config(home: Path, api_url: str) -> Path:
    """A configuration for the local Telegram in the state folder."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "geode.toml"
    more = home / "bindings.toml"
    added = more.read_text() if more.exists() else ""
    hook = home / "webhook.toml"
    mode = hook.read_text() if hook.exists() else ""
    path.write_text(CONFIG.format(api_url=api_url, more=mode) + added)
    return path


def use_webhook(home: Path) -> None:
    """Receive by webhook in the configuration that is written next."""
    home.mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    (home / "webhook.toml").write_text(
        f'mode = "webhook"\nwebhook_url = "http://{place}/telegram"\n'
        f'webhook_listen = "{place}"\nwebhook_secret = "env:TELEGRAM_WEBHOOK_SECRET"\n'
    )


def serve_chat(home: Path, chat: int, **values: str) -> None:
    """Bind one more chat in the configuration that is written next."""
    home.mkdir(parents=True, exist_ok=True)
    lines = ["[[bindings]]", 'channel = "telegram"', f'where = "{BOT_ID}/{chat}"']
    lines += [f"people = [{ANA}]", f"operators = [{ANA}]"]
    lines += [f"{name} = {value}" for name, value in values.items()]
    with (home / "bindings.toml").open("a") as file:
        file.write("\n" + "\n".join(lines) + "\n")


@asynccontextmanager
async def telegram_daemon(
    telegram: RehearsalTelegram,
    home: Path,
    replies: list[Scripted],
    failpoints: Failpoints | None = None,
) -> AsyncGenerator[Daemon]:
    """A daemon that is connected; cancelled and closed at the end."""
    path = write_telegram_config(home, telegram.base_url)
    environ = telegram_environ(telegram, home)
    loaded = load_settings(path, channel_models=InstalledChannelModels(), environ=environ)
    route = ModelRoute(ScriptedModel(replies), "scripted/model", "model", 150_000, 8_000)
    seams = Seams(route=route, second_look_s=0.2, failpoints=failpoints or NoFailpoints())
    lay_database(home / "geode.db")
    daemon = await Daemon.open(loaded, environ=environ, seams=seams)
    running = asyncio.create_task(daemon.run())
    try:
        await telegram.wait_for(lambda: daemon.channels["telegram"].status().state == "up")
        yield daemon
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await daemon.close()


def answers(telegram: RehearsalTelegram, chat: int = FORUM, topic: int | None = None) -> list[str]:
    """What stands there from the bot, as it reads now, progress left out."""
    posts = telegram.bot_posts(chat, topic)
    return [post.text for post in posts if not is_progress(post)]


def is_progress(post: Posted) -> bool:
    """Whether the message is still a progress line."""
    return post.text.startswith("Working on it")


async def column(daemon: Daemon, of: Column[Any]) -> list[Any]:
    """One column of a table, in row order."""
    return await daemon.store.read(lambda tx: list(tx.execute(select(of)).scalars()))
