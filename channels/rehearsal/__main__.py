"""Runs a stand-in as a process: `python -m channels.rehearsal slack --port 0`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

import orjson

from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.telegram import RehearsalTelegram
from geode.messages import JsonObject


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line of the stand-ins."""
    parser = argparse.ArgumentParser(prog="python -m channels.rehearsal", description=__doc__)
    platforms = parser.add_subparsers(dest="platform", required=True)
    slack = platforms.add_parser("slack", help="a strict local Slack")
    slack.add_argument("--port", type=int, default=0, help="0 takes a free port")
    slack.add_argument("--ack-deadline-s", type=float, default=3.0)
    slack.add_argument("--team", default="T0REHEARSAL")
    slack.add_argument("--until-stdin-closes", action="store_true")
    telegram = platforms.add_parser("telegram", help="a strict local Telegram")
    telegram.add_argument("--port", type=int, default=0, help="0 takes a free port")
    telegram.add_argument("--until-stdin-closes", action="store_true")
    return parser.parse_args(arguments)


async def run_stand_in(options: argparse.Namespace) -> None:
    """Serve until SIGTERM, SIGINT or, when asked, the end of standard input."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    stand_in = _build(options)
    async with stand_in:
        sys.stdout.write(_ready_line(stand_in))
        sys.stdout.flush()
        if options.until_stdin_closes:
            await _watch_stdin(stopped)
        await stopped.wait()


def _build(options: argparse.Namespace) -> RehearsalSlack | RehearsalTelegram:
    if options.platform == "telegram":
        return RehearsalTelegram(port=options.port)
    return RehearsalSlack(
        port=options.port, ack_deadline_s=options.ack_deadline_s, team_id=options.team
    )


async def _watch_stdin(stopped: asyncio.Event) -> None:
    class EndOfInput(asyncio.Protocol):
        def eof_received(self) -> None:
            stopped.set()

        def connection_lost(self, exc: Exception | None) -> None:
            stopped.set()

    await asyncio.get_running_loop().connect_read_pipe(EndOfInput, sys.stdin)


def _ready_line(stand_in: RehearsalSlack | RehearsalTelegram) -> str:
    is_slack = isinstance(stand_in, RehearsalSlack)
    ready = _slack_facts(stand_in) if is_slack else _telegram_facts(stand_in)
    shared: JsonObject = {
        "api_url": stand_in.base_url,
        "control_url": stand_in.control_url,
        "bot_token": stand_in.bot_token,
    }
    return orjson.dumps(shared | ready).decode() + "\n"


def _slack_facts(slack: RehearsalSlack) -> JsonObject:
    workspace = slack.workspace
    return {
        "app_token": slack.app_token,
        "team": workspace.team_id,
        "bot_user": workspace.bot_user,
        "channels": [room for room in workspace.rooms if not workspace.rooms[room].is_im],
        "people": {p.name: p.id for p in workspace.people.values() if not p.is_bot},
    }


def _telegram_facts(telegram: RehearsalTelegram) -> JsonObject:
    town = telegram.town
    return {
        "bot_id": town.bot.id,
        "bot_name": town.bot.username,
        "chats": {chat.title: chat.id for chat in town.chats.values()},
        "people": {u.first_name.lower(): u.id for u in town.users.values() if not u.is_bot},
    }


if __name__ == "__main__":
    asyncio.run(run_stand_in(parse_arguments(sys.argv[1:])))
