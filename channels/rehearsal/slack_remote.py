"""A client for a Slack stand-in that runs as another process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from channels.fields import objects_of, text_of
from channels.rehearsal.remote import RemoteControl, spawn_stand_in
from geode.messages import JsonObject, JsonValue

POLL_S = 0.05


class RemoteSlack(RemoteControl):
    """The stand-in's control interface from outside: the same verbs over HTTP."""

    async def say(self, text: str, **fields: JsonValue) -> str:
        """A person writes; returns the message's time stamp."""
        return text_of(await self.call("say", text=text, **fields), "ts")

    async def transcript(self, channel: str = "", thread_ts: str = "") -> list[JsonObject]:
        """Every message of a channel or thread, oldest first."""
        answer = await self.call("transcript", channel=channel, thread_ts=thread_ts)
        return objects_of(answer, "messages")

    async def wait_for(
        self,
        is_so: Callable[[list[JsonObject]], object],
        *,
        channel: str = "",
        thread_ts: str = "",
        timeout_s: float = 20.0,
    ) -> list[JsonObject]:
        """Wait until a transcript satisfies a condition and return it."""
        async with asyncio.timeout(timeout_s):
            while True:
                messages = await self.transcript(channel, thread_ts)
                if is_so(messages):
                    return messages
                await asyncio.sleep(POLL_S)


async def spawn_slack(
    *arguments: str, python: str = sys.executable
) -> tuple[asyncio.subprocess.Process, JsonObject]:
    """Start a stand-in as a process of its own; returns it with the line it said when ready.

    The stand-in ends when this process closes its standard input or dies.
    """
    return await spawn_stand_in("slack", *arguments, python=python)
