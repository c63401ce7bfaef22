"""Runs a stand-in as a process: `python -m channels.rehearsal slack`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import orjson

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_http import API_KEY
from channels.rehearsal.observers import written_as_asked
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.telegram import RehearsalTelegram
from geode.messages import JsonObject


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line of the stand-ins."""
    parser = argparse.ArgumentParser(prog="python -m channels.rehearsal", description=__doc__)
    platforms = parser.add_subparsers(dest="platform", required=True)
    slack = platforms.add_parser("slack", help="a strict local Slack")
    slack.add_argument("--ack-deadline-s", type=float, default=3.0)
    slack.add_argument("--team", default="T0REHEARSAL")
    discord = platforms.add_parser("discord", help="a strict local Discord behind a proxy")
    telegram = platforms.add_parser("telegram", help="a strict local Telegram")
    model = platforms.add_parser("model", help="strict local Anthropic and OpenAI model APIs")
    for platform in (slack, telegram, discord, model):
        platform.add_argument("--port", type=int, default=0, help="0 takes a free port")
        platform.add_argument("--until-stdin-closes", action="store_true")
    return parser.parse_args(arguments)


async def run_slack(options: argparse.Namespace) -> None:
    """Serve a Slack until it is told to end."""
    slack = RehearsalSlack(
        port=options.port, ack_deadline_s=options.ack_deadline_s, team_id=options.team
    )
    async with slack:
        await _serve(options, _slack_facts(slack))


async def run_discord(options: argparse.Namespace) -> None:
    """Serve a Discord until it is told to end; `--port` is the proxy's."""
    async with RehearsalDiscord(proxy_port=options.port) as discord:
        await _serve(options, _discord_facts(discord))


async def run_telegram(options: argparse.Namespace) -> None:
    """Serve a Telegram until it is told to end."""
    async with RehearsalTelegram(port=options.port) as telegram:
        await _serve(options, _telegram_facts(telegram))


async def run_model(options: argparse.Namespace) -> None:
    """Serve the model APIs, by rule, until it is told to end."""
    async with RehearsalModel(has_rules=True, port=options.port) as model:
        facts: JsonObject = {
            "anthropic_url": model.url,
            "openai_url": model.openai_url,
            "control_url": model.control_url,
            "api_key": API_KEY,
        }
        await _serve(options, facts)


PLATFORMS: dict[str, Callable[[argparse.Namespace], Coroutine[Any, Any, None]]] = {
    "slack": run_slack,
    "discord": run_discord,
    "telegram": run_telegram,
    "model": run_model,
}


async def _serve(options: argparse.Namespace, facts: JsonObject) -> None:
    """Say the facts in one line, then wait for SIGTERM, SIGINT or, when asked, end of input."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    sys.stdout.write(orjson.dumps(facts).decode() + "\n")
    sys.stdout.flush()
    if options.until_stdin_closes:
        await _watch_stdin(stopped)
    await stopped.wait()


async def _watch_stdin(stopped: asyncio.Event) -> None:
    class EndOfInput(asyncio.Protocol):
        def eof_received(self) -> None:
            stopped.set()

        def connection_lost(self, exc: Exception | None) -> None:
            stopped.set()

    await asyncio.get_running_loop().connect_read_pipe(EndOfInput, sys.stdin)


def _slack_facts(slack: RehearsalSlack) -> JsonObject:
    workspace = slack.workspace
    return {
        "api_url": slack.base_url,
        "control_url": slack.control_url,
        "bot_token": slack.bot_token,
        "app_token": slack.app_token,
        "team": workspace.team_id,
        "bot_user": workspace.bot_user,
        "channels": [room for room in workspace.rooms if not workspace.rooms[room].is_im],
        "people": {p.name: p.id for p in workspace.people.values() if not p.is_bot},
    }


def _telegram_facts(telegram: RehearsalTelegram) -> JsonObject:
    town = telegram.town
    return {
        "api_url": telegram.base_url,
        "control_url": telegram.control_url,
        "bot_token": telegram.bot_token,
        "bot_id": town.bot.id,
        "bot_name": town.bot.username,
        "chats": {chat.title: chat.id for chat in town.chats.values()},
        "people": {u.first_name.lower(): u.id for u in town.users.values() if not u.is_bot},
    }


def _discord_facts(discord: RehearsalDiscord) -> JsonObject:
    people = discord.world.people.values()
    return {
        "proxy": discord.proxy_url,
        "ca": str(discord.ca_path),
        "control_url": discord.control_url,
        "token": discord.bot_token,
        "guild": discord.guild,
        "bot": discord.bot,
        "channels": dict(discord.channel_names()),
        "people": {p.name: p.id for p in people if not p.is_bot},
    }


if __name__ == "__main__":
    chosen = parse_arguments(sys.argv[1:])
    with written_as_asked():
        asyncio.run(PLATFORMS[chosen.platform](chosen))
