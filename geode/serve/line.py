"""A line to the daemon that stays open: one request at a time, on the loop of its client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from geode.errors import ControlError, DaemonAbsentError, LineLostError
from geode.messages import JsonObject, JsonValue
from geode.serve.client import ANSWER_S, CONNECT_S, read_answer
from geode.serve.endpoint import ANSWER_BYTES_MAX, LINE_BYTES_MAX, PROTOCOL, reach_socket


class Line(Protocol):
    """Answers the chat's verbs."""

    async def ask(self, verb: str, **arguments: JsonValue) -> Any:
        """The answer; raises `ControlError` with the reason, `LineLostError` when none came."""
        ...

    async def close(self) -> None:
        """Hang up; safe to call twice."""
        ...


class SocketLine:
    """A connection to the control socket, made at the first request and after each loss."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._asking = asyncio.Lock()
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, verb: str, **arguments: JsonValue) -> Any:
        """The daemon's answer.

        Raises `DaemonAbsentError` when none is running, `LineLostError` when it went away before it
        answered, and `ControlError` with its own sentence.
        """
        request = {"v": PROTOCOL, "id": 1, "verb": verb, "args": arguments}
        line = json.dumps(request).encode() + b"\n"
        if len(line) > LINE_BYTES_MAX:
            raise ControlError("The request is too long for the daemon.")
        async with self._asking:
            answer = await self._exchange(line)
        return read_answer(answer)

    async def _exchange(self, line: bytes) -> bytes:
        try:
            reader, writer = self._open or await self._connect()
        except (OSError, TimeoutError) as error:
            raise LineLostError(str(error) or "it did not answer") from error
        self._open = None  # a request that is cut short leaves an answer nobody may read
        try:
            async with asyncio.timeout(ANSWER_S):
                writer.write(line)
                await writer.drain()
                answer = await reader.readline()
            if answer.endswith(b"\n"):
                self._open = (reader, writer)
                return answer
        except (OSError, ValueError, TimeoutError) as error:
            raise LineLostError(str(error) or "it did not answer") from error
        finally:
            if self._open is None:
                writer.close()
        raise LineLostError("it went away before it answered")

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            with reach_socket(self._folder) as path:
                async with asyncio.timeout(CONNECT_S):
                    return await asyncio.open_unix_connection(path, limit=ANSWER_BYTES_MAX + 1024)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            raise DaemonAbsentError(str(self._folder)) from None

    async def close(self) -> None:
        """Hang up."""
        opened, self._open = self._open, None
        if opened is not None:
            opened[1].close()


class LocalLine:
    """The same verbs of a daemon in this process."""

    def __init__(self, verbs: Mapping[str, Callable[[JsonObject], Awaitable[JsonValue]]]) -> None:
        self._verbs = verbs

    async def ask(self, verb: str, **arguments: JsonValue) -> Any:
        """The verb's own answer."""
        return await self._verbs[verb](arguments)

    async def close(self) -> None:
        """Nothing is open."""
