"""A client for a stand-in that runs as another process."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self

import aiohttp
import orjson

from channels.fields import objects_of, text_of, to_object
from geode.messages import JsonObject, JsonValue

POLL_S = 0.05
READY_S = 30.0


class RemoteSlack:
    """The stand-in's control interface from outside: the same verbs over HTTP."""

    def __init__(self, control_url: str) -> None:
        self._url = control_url.rstrip("/")
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def call(self, verb: str, **fields: JsonValue) -> JsonObject:
        """One control verb; raises `ValueError` with the stand-in's reason when it is refused."""
        async with self._session.post(f"{self._url}/{verb}", json=fields) as response:
            answer = to_object(orjson.loads(await response.read()))
        if response.status != 200:
            raise ValueError(f"{verb}: {text_of(answer, 'error')}")
        return answer

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
    process = await asyncio.create_subprocess_exec(
        python,
        "-m",
        "channels.rehearsal",
        "slack",
        "--until-stdin-closes",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    async with asyncio.timeout(READY_S):
        line = await process.stdout.readline()
    return process, to_object(orjson.loads(line))
