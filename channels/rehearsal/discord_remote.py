"""A client for a Discord stand-in that runs as another process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from channels.fields import object_of, objects_of, text_of
from channels.rehearsal.remote import RemoteControl, spawn_stand_in
from geode.messages import JsonObject, JsonValue

POLL_S = 0.05


class RemoteDiscord(RemoteControl):
    """The stand-in's control interface from outside: the same verbs over HTTP."""

    async def say(self, text: str, **fields: JsonValue) -> str:
        """A person writes; returns the message's id."""
        return text_of(await self.call("say", text=text, **fields), "id")

    async def press(self, channel: str, message: str, label: str, **fields: JsonValue) -> str:
        """A person presses the button with that label; returns the interaction's token."""
        asked = await self.call("press", channel=channel, id=message, label=label, **fields)
        return text_of(asked, "token")

    async def submit(self, token: str, text: str) -> str:
        """The person sends the form that an interaction opened; returns the next token."""
        return text_of(await self.call("submit", token=token, text=text), "token")

    async def command(self, name: str, argument: str = "", **fields: JsonValue) -> str:
        """A person uses a slash command; returns the interaction's token."""
        asked = await self.call("command", name=name, argument=argument, **fields)
        return text_of(asked, "token")

    async def whispers(self, token: str = "", user: str = "") -> list[JsonObject]:
        """What came of one interaction, of a person's, or of all."""
        return objects_of(await self.call("whispers", token=token, user=user), "interactions")

    async def transcript(self, channel: str = "") -> list[JsonObject]:
        """Every message of a place, or of all, oldest first."""
        return objects_of(await self.call("transcript", channel=channel), "messages")

    async def wait_for(
        self,
        is_so: Callable[[list[JsonObject]], object],
        *,
        channel: str = "",
        timeout_s: float = 20.0,
    ) -> list[JsonObject]:
        """Wait until a transcript satisfies a condition and return it."""
        async with asyncio.timeout(timeout_s):
            while True:
                messages = await self.transcript(channel)
                if is_so(messages):
                    return messages
                await asyncio.sleep(POLL_S)

    async def wait_for_whisper(self, token: str, timeout_s: float = 20.0) -> JsonObject:
        """Wait until the person was told something, or shown a form, and return it."""
        async with asyncio.timeout(timeout_s):
            while True:
                for found in await self.whispers(token):
                    if found["texts"] or object_of(found, "form"):
                        return found
                await asyncio.sleep(POLL_S)


async def spawn_discord(
    *arguments: str, python: str = sys.executable
) -> tuple[asyncio.subprocess.Process, JsonObject]:
    """Start a stand-in as a process of its own; returns it with the line it said when ready.

    The stand-in ends when this process closes its standard input or dies.
    """
    return await spawn_stand_in("discord", *arguments, python=python)
