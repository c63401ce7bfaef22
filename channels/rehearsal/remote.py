"""Stand-ins that run as other processes: started, and driven over their control interface."""

from __future__ import annotations

import asyncio
import os
import sys
from types import TracebackType
from typing import Self

import aiohttp
import orjson

from channels.fields import text_of, to_object
from geode.messages import JsonObject, JsonValue

READY_S = 30.0


class RemoteControl:
    """A stand-in's control interface from outside: the same verbs over HTTP."""

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


async def spawn_stand_in(
    platform: str, *arguments: str, python: str = sys.executable
) -> tuple[asyncio.subprocess.Process, JsonObject]:
    """Start a stand-in as a process of its own; returns it with the line it said when ready.

    The stand-in ends when this process closes its standard input or dies.
    """
    process = await asyncio.create_subprocess_exec(
        python,
        "-m",
        "channels.rehearsal",
        platform,
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
