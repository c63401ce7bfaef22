"""The control socket: one JSON object a line in, one out, for this machine's user only."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import struct
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

import orjson

from geode.errors import ControlError, GeodeError, StateLockedError, StoreError
from geode.log import get_logger
from geode.messages import JsonObject, JsonValue
from geode.ports import Redactor
from geode.serve.endpoint import (
    ANSWER_BYTES_MAX,
    LINE_BYTES_MAX,
    PROTOCOL,
    SOCKET_NAME,
    reach_socket,
)

log = get_logger(__name__)
Verb: TypeAlias = Callable[[JsonObject], Awaitable[JsonValue]]
"""Answers one request; a `GeodeError` becomes the caller's error sentence."""


@dataclass(frozen=True, slots=True)
class IpcLimits:
    """Hard bounds of the socket."""

    connections_max: int = 64
    """A client that chats has two."""
    request_s: float = 30.0
    """For a verb to answer, and for the caller to take the answer."""
    idle_s: float = 300.0
    """Between two requests of one connection."""


class CLIPoller:
    """Serves the verbs on `<folder>/cli.sock` until cancelled."""

    def __init__(
        self,
        folder: Path,
        verbs: Mapping[str, Verb],
        *,
        redactor: Redactor,
        limits: IpcLimits | None = None,
        users: frozenset[int] | None = None,
    ) -> None:
        self._folder = folder
        self._redactor = redactor
        self._verbs = verbs
        self._limits = limits or IpcLimits()
        self._users = users if users is not None else frozenset({os.geteuid(), 0})
        self._open = 0
        self.path = folder / SOCKET_NAME

    async def run(self, on_ready: Callable[[], None] | None = None) -> None:
        """Bind, serve until cancelled, and take the socket file away again.

        The caller holds the state lock, so a socket file that is there is a dead daemon's.
        Raises `StoreError` when the socket cannot be made.
        """
        listener = self._bind()
        try:
            if on_ready is not None:
                on_ready()
            async with asyncio.TaskGroup() as tasks:
                while True:
                    connection = await self._accept(listener)
                    if self._open >= self._limits.connections_max:
                        _turn_away(connection, "Too many connections; try again.")
                    elif _peer_user(connection) not in self._users:
                        _turn_away(connection, "The control socket serves its owner only.")
                    else:
                        self._open += 1
                        tasks.create_task(self._serve(connection))
        finally:
            self._unbind(listener)

    def _bind(self) -> socket.socket:
        self._clear_stale()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        before = os.umask(0o177)
        try:
            with reach_socket(self._folder) as path:
                listener.bind(path)
            listener.listen(self._limits.connections_max)
        except OSError as error:
            listener.close()
            raise StoreError(
                f"The control socket {self.path} cannot be made ({error.strerror}); "
                f"make the state folder writable, or set GEODE_HOME to another folder."
            ) from error
        finally:
            os.umask(before)
        return listener

    def _clear_stale(self) -> None:
        try:
            mode = self.path.lstat().st_mode
        except OSError:
            return
        if not stat.S_ISSOCK(mode):
            raise StoreError(f"{self.path} is in the way and not a socket; move it away.")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
            with reach_socket(self._folder) as path:
                probe.connect(path)
            raise StateLockedError(str(self._folder), "a daemon that answers on its socket")
        self.path.unlink(missing_ok=True)

    def _unbind(self, listener: socket.socket) -> None:
        listener.close()
        self.path.unlink(missing_ok=True)

    async def _accept(self, listener: socket.socket) -> socket.socket:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:
                log.warning("control_accept_failed", reason=str(error))
                await asyncio.sleep(1.0)
            else:
                return connection

    async def _serve(self, connection: socket.socket) -> None:
        try:
            reader, writer = await asyncio.open_unix_connection(
                sock=connection, limit=LINE_BYTES_MAX
            )
            with closing(writer):
                while await self._serve_line(reader, writer):
                    pass
        except (OSError, TimeoutError):
            pass  # the caller went away or stopped reading; nobody is left to tell
        finally:
            self._open -= 1
            connection.close()

    async def _serve_line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one line; False when the connection is to be closed."""
        try:
            async with asyncio.timeout(self._limits.idle_s):
                line = await reader.readline()
        except ValueError:
            sentence = f"A request may have {LINE_BYTES_MAX} bytes; this one is longer."
            await self._send(writer, {"v": PROTOCOL, "id": None, "error": sentence})
            return False
        if not line.endswith(b"\n"):
            return False
        await self._send(writer, await self._answer(line))
        return True

    async def _send(self, writer: asyncio.StreamWriter, answer: JsonObject) -> None:
        error = ""
        try:
            data = orjson.dumps(redact_value(answer, self._redactor))
        except (TypeError, RecursionError) as broken:
            log.warning("control_answer_not_json", error=type(broken).__name__)
            data, error = b"", "The answer cannot be written as JSON; ask for less."
        if len(data) > ANSWER_BYTES_MAX:
            error = "The answer is too large; ask for less."
        if error:
            data = orjson.dumps({"v": PROTOCOL, "id": answer["id"], "error": error})
        async with asyncio.timeout(self._limits.request_s):
            writer.write(data + b"\n")
            await writer.drain()

    async def _answer(self, line: bytes) -> JsonObject:
        answer: JsonObject = {"v": PROTOCOL, "id": None}
        try:
            request = _parse(line)
            answer["id"] = _identify(request)
            answer["ok"] = await self._perform(request)
        except GeodeError as error:
            answer["error"] = str(error)
        return answer

    async def _perform(self, request: JsonObject) -> JsonValue:
        version = request.get("v")
        if version != PROTOCOL or isinstance(version, bool):
            raise ControlError(
                f"This daemon speaks protocol {PROTOCOL}, the request says {version!r}; "
                f"use the geode command of the same version."
            )
        name, arguments = request.get("verb"), request.get("args", {})
        verb = self._verbs.get(name) if isinstance(name, str) else None
        if verb is None:
            known = ", ".join(sorted(self._verbs))
            raise ControlError(f"There is no verb {name!r}; this daemon knows: {known}.")
        if not isinstance(arguments, dict):
            raise ControlError("A request's args are a JSON object.")
        return await self._finish(str(name), verb(arguments))

    async def _finish(self, name: str, work: Awaitable[JsonValue]) -> JsonValue:
        """The verb's answer in time; a verb that breaks takes nothing else along."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=self._limits.request_s)
        finally:
            is_late = task.cancel()
        if is_late:
            raise ControlError(
                f"{name} did not answer within {self._limits.request_s:g} s; "
                f"look again, it may still have happened."
            )
        error = task.exception()
        if error is None or isinstance(error, GeodeError):
            return task.result()
        log.error("control_verb_failed", verb=name, exc_info=error)
        raise ControlError(f"{name} failed inside the daemon; its log says why.") from error


def redact_value(value: JsonValue, redactor: Redactor) -> JsonValue:
    """The value with every text in it redacted."""
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, list):
        return [redact_value(item, redactor) for item in value]
    if isinstance(value, dict):
        return {key: redact_value(item, redactor) for key, item in value.items()}
    return value


def _parse(line: bytes) -> JsonObject:
    try:
        request = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ControlError(f"A request is one line of JSON ({error}).") from error
    if not isinstance(request, dict):
        raise ControlError("A request is a JSON object with v, id, verb and args.")
    return cast("JsonObject", request)


def _identify(request: JsonObject) -> str | int:
    found = request.get("id")
    if isinstance(found, str | int) and not isinstance(found, bool):
        return found
    raise ControlError("A request names its id, a string or a whole number.")


def _peer_user(connection: socket.socket) -> int:
    shape = "3i"
    size = struct.calcsize(shape)
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return int(struct.unpack(shape, found)[1])


def _turn_away(connection: socket.socket, sentence: str) -> None:
    with connection, suppress(OSError):
        connection.setblocking(False)
        connection.send(orjson.dumps({"v": PROTOCOL, "id": None, "error": sentence}) + b"\n")
