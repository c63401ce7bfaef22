"""The slash commands of the application: registered when they changed, and only then."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from channels.discord.rest import DiscordRest
from channels.fields import list_of, objects_of, text_of, to_object
from geode.errors import ChannelError
from geode.messages import COMMANDS, JsonObject, JsonValue
from geode.ports import Clock

log = logging.getLogger(__name__)

SUMMARIES = {
    "new": "Begin a new conversation in this thread",
    "stop": "Stop what is being done",
    "status": "Show what is being done",
    "usage": "Show what this conversation has used",
    "help": "Show what can be said here",
    "whoami": "Show who you are to the agent, and what you may do",
    "why": "Tell which tool calls were refused last, and by which rule",
    "jobs": "List the scheduled jobs of this place",
    "model": "Show which model answers (operators)",
    "review": "List or decide the answers that wait for a review (operators)",
    "effects": "List or settle effects of unknown outcome (operators)",
    "computer": "Allow or end computer use (operators)",
    "compact": "Shorten the history of this conversation (operators)",
    "forget": "Forget what is remembered (operators)",
}
CHAT_INPUT, STRING = 1, 3
SERVER, DIRECT = 0, 1
ARGUMENT_CHARS_MAX = 1_000
TRIES_MAX = 5
RETRY_S = 30.0


def define_commands() -> list[JsonValue]:
    """Every verb as a command of its own, in servers and direct messages."""
    return [_define(verb) for verb in COMMANDS]


def _define(verb: str) -> JsonObject:
    argument: JsonObject = {
        "type": STRING,
        "name": "argument",
        "description": "What the command is about, where it takes anything",
        "required": False,
        "max_length": ARGUMENT_CHARS_MAX,
    }
    return {
        "type": CHAT_INPUT,
        "name": verb,
        "description": SUMMARIES[verb],
        "options": [argument],
        "dm_permission": True,
        "contexts": [SERVER, DIRECT],
        "integration_types": [0],
    }


def is_same(registered: list[JsonObject], wanted: list[JsonValue]) -> bool:
    """Whether Discord already knows exactly these commands, whatever it adds to them."""
    known = {text_of(command, "name"): command for command in registered}
    names = [text_of(to_object(command), "name") for command in wanted]
    if len(registered) != len(names) or known.keys() != set(names):
        return False
    return all(_is_told(known[text_of(to_object(one), "name")], to_object(one)) for one in wanted)


def _is_told(known: JsonObject, wanted: JsonObject) -> bool:
    if any(known.get(name) != wanted[name] for name in ("type", "description", "contexts")):
        return False
    mine, theirs = objects_of(wanted, "options"), objects_of(known, "options")
    fields = ("type", "name", "description", "max_length")
    return len(list_of(known, "options")) == len(mine) and all(
        their.get(name) == my[name]
        for my, their in zip(mine, theirs, strict=True)
        for name in fields
    )


class CommandBook:
    """Registers once a session stands; trying again later harms nobody."""

    def __init__(self, rest: DiscordRest, clock: Clock) -> None:
        self._rest = rest
        self._clock = clock
        self._due = asyncio.Event()
        self._application = ""

    def ask(self, application: str) -> None:
        """A session stands for that application; never waits."""
        self._application = application
        self._due.set()

    async def run(self) -> None:
        """Register whenever it is due, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._try_to_register()

    async def _try_to_register(self) -> None:
        for _ in range(TRIES_MAX):
            try:
                return await self.register(self._application)
            except ChannelError as error:
                log.warning("discord_commands_not_registered reason=%s", error)
                await self._clock.sleep(RETRY_S)
        return None

    async def register(self, application: str) -> None:
        """Tell Discord the commands unless it knows them."""
        path = "/applications/{application_id}/commands"
        answer: object = await self._rest.call(f"GET {path}", application_id=application)
        found = cast("list[object]", answer) if isinstance(answer, list) else []
        wanted = define_commands()
        if is_same([to_object(command) for command in found], wanted):
            return
        await self._rest.call(f"PUT {path}", wanted, application_id=application)
        log.info("discord_commands_registered count=%d", len(wanted))
