"""No line on the control socket and no answer to one ends the daemon that serves it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from geode.messages import JsonObject, JsonValue
from geode.reply.redaction import Redactor
from geode.serve.endpoint import LINE_BYTES_MAX
from geode.serve.ipc import CLIPoller, IpcLimits, Verb


async def _echo(arguments: JsonObject) -> JsonValue:
    return arguments


async def _cancel(arguments: JsonObject) -> JsonValue:
    raise asyncio.CancelledError


async def _deep(arguments: JsonObject) -> JsonValue:
    answer: JsonValue = []
    for _ in range(5_000):
        answer = [answer]
    return answer


def _answering(value: object) -> Verb:
    async def verb(arguments: JsonObject) -> JsonValue:
        return cast("JsonValue", value)

    return verb


VERBS: Mapping[str, Verb] = {
    "echo": _echo,
    "cancel": _cancel,
    "deep": _deep,
    "surrogate": _answering("\ud800"),
    "integer": _answering(2**70),
    "key": _answering({1: 2}),
    "bytes": _answering(b"x"),
    "large": _answering(["x" * 1_000_000] * 17),
}


@asynccontextmanager
async def serving(folder: Path, limits: IpcLimits | None = None) -> AsyncGenerator[Path]:
    ready = asyncio.Event()
    poller = CLIPoller(folder, VERBS, redactor=Redactor(), limits=limits)
    task = asyncio.create_task(poller.run(ready.set))
    try:
        async with asyncio.timeout(5):
            await ready.wait()
        yield poller.path
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait({task})


async def exchange(path: Path, line: bytes) -> dict[str, Any] | None:
    """The answer to one raw line; None when the connection was closed without one."""
    reader, writer = await asyncio.open_unix_connection(path, limit=1 << 25)
    try:
        writer.write(line)
        async with asyncio.timeout(10):
            try:
                await writer.drain()
                answer = await reader.readline()
            except ConnectionError:
                return None
        return cast("dict[str, Any]", json.loads(answer)) if answer else None
    finally:
        writer.close()


def request(verb: object = "echo", **fields: object) -> bytes:
    return json.dumps({"v": 1, "id": 1, "verb": verb} | fields).encode() + b"\n"


LINES = {
    "nested too deep": b"[" * 100_000 + b"\n",
    "nested arguments": request()[:-2] + b',"args":{"a":' + b"[" * 990 + b"]" * 990 + b"}}\n",
    "no text": b"\xff\xfe\x00\n",
    "half a character": b'{"v":1,"id":"\\ud800","verb":"echo"}\n',
    "too long": b"x" * (LINE_BYTES_MAX * 2) + b"\n",
    "no end": b'{"v":1',
    "huge id": request(id=2**70),
    "id is a list": request(id=[1]),
    "huge number": b'{"v":1,"id":1,"verb":"echo","args":{"n":1e999}}\n',
    "method of the object": request("__class__"),
    "verb is a list": request(["echo"]),
    "two verbs": b'{"v":1,"id":1,"verb":"status","verb":"echo"}\n',
    "arguments are a list": request(args=[]),
    "cancelled inside": request("cancel"),
    "answer too deep": request("deep"),
    "answer with half a character": request("surrogate"),
    "answer with a huge integer": request("integer"),
    "answer with odd keys": request("key"),
    "answer of bytes": request("bytes"),
    "answer too large": request("large"),
}


@pytest.mark.parametrize("name", LINES)
async def test_hostile_line_ends_nothing_but_itself(tmp_path: Path, name: str) -> None:
    line = LINES[name] if LINES[name].endswith(b"\n") else LINES[name] + b"\n"
    async with serving(tmp_path) as path:
        answer = await exchange(path, line)
        after = await exchange(path, request(args={"still": "here"}))

    assert answer is None or answer["v"] == 1
    assert after == {"v": 1, "id": 1, "ok": {"still": "here"}}


@pytest.mark.parametrize("verb", ["deep", "surrogate", "integer", "key", "bytes", "large"])
async def test_answer_that_cannot_be_written_is_a_sentence(tmp_path: Path, verb: str) -> None:
    async with serving(tmp_path) as path:
        answer = await exchange(path, request(verb))

    assert answer is not None
    assert answer["error"].endswith("ask for less.")


async def test_slow_callers_are_let_go_and_others_served(tmp_path: Path) -> None:
    limits = IpcLimits(connections_max=4, idle_s=0.3)
    async with serving(tmp_path, limits) as path:
        slow = [await asyncio.open_unix_connection(path) for _ in range(4)]
        for _, writer in slow:
            writer.write(b'{"v":1,')
        turned_away = await exchange(path, request())
        async with asyncio.timeout(5):
            for reader, _ in slow:
                assert await reader.read() == b""
        served = await exchange(path, request(args={}))
        for _, writer in slow:
            writer.close()

    assert turned_away is None or "Too many connections" in turned_away["error"]
    assert served == {"v": 1, "id": 1, "ok": {}}
