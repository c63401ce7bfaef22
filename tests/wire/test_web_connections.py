"""A connection on which nothing whole arrives is ended; one that waits for its answer is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from channels.web.server import PatientProtocol, bind, make_server, run_server

WAIT_S = 8.0
HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


class HastyProtocol(PatientProtocol):
    """One that waits shortly."""

    head_s_max = 0.3


@dataclass
class Place:
    """Where the server listens, and what holds its answers back."""

    port: int
    gate: asyncio.Event


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    gate = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if Request(scope).url.path == "/held":
            await gate.wait()
        await PlainTextResponse("here")(scope, receive, send)

    listening = bind("127.0.0.1", 0)
    server = make_server(app, HastyProtocol)
    task = asyncio.create_task(run_server(server, listening))
    yield Place(listening.getsockname()[1], gate)
    server.should_exit = True
    async with asyncio.timeout(WAIT_S):
        await task


async def connect(place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A bare connection."""
    return await asyncio.open_connection("127.0.0.1", place.port)


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    """One whole answer."""
    async with asyncio.timeout(WAIT_S):
        return await reader.readuntil(b"here")


async def wait_end(reader: asyncio.StreamReader) -> bytes:
    """What still comes until the connection ends."""
    async with asyncio.timeout(WAIT_S):
        return await reader.read()


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n"])
async def test_connection_without_a_whole_request_is_ended(place: Place, begun: bytes) -> None:
    reader, writer = await connect(place)
    writer.write(begun)

    assert await wait_end(reader) == b""
    writer.close()


async def test_second_request_that_stays_unfinished_ends_the_connection(place: Place) -> None:
    reader, writer = await connect(place)
    writer.write(HEAD)
    assert b"200 OK" in await read_answer(reader)
    writer.write(HEAD[:-4])

    assert await wait_end(reader) == b""
    writer.close()


async def test_request_that_waits_for_its_answer_is_waited_with(place: Place) -> None:
    reader, writer = await connect(place)
    writer.write(HEAD.replace(b"/ ", b"/held "))
    idle, idle_writer = await connect(place)
    # The other connection came later and is ended: this one's time has passed as well.
    assert await wait_end(idle) == b""
    place.gate.set()

    assert b"200 OK" in await read_answer(reader)
    writer.close()
    idle_writer.close()
