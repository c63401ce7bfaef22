"""The protocol over a child's pipes, as streams that the SDK reads and writes: bounded lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from geode.log import get_logger
from geode.mcp.child import MESSAGE_BYTES_MAX, Child, Launch

log = get_logger(__name__)

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def _open(launch: Launch, on_lost: Callable[[], None]) -> AsyncGenerator[object]:
    child = await Child.start(launch)
    to_us, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    pumps = [
        asyncio.create_task(_read(child, to_us, on_lost), name=f"stdout of {launch.server}"),
        asyncio.create_task(_write(child, from_us), name=f"stdin of {launch.server}"),
    ]
    try:
        yield from_server, to_server
    finally:
        for pump in pumps:
            pump.cancel()
        try:
            await child.end()
        finally:
            for stream in (to_us, from_server, to_server, from_us):
                stream.close()


def open_stdio(launch: Launch, on_lost: Callable[[], None]) -> Transport:
    """Start a server and speak with it; `on_lost` is called when it says no more.

    Entered and left in one task. Entering raises `McpServerError`.
    """
    return _open(launch, on_lost)  # pyright: ignore[reportReturnType] - streams by their shape


async def _read(child: Child, to_us: Incoming, on_lost: Callable[[], None]) -> None:
    server = child.launch.server
    has_complained = False
    try:
        async with to_us:
            while line := await child.output.readuntil(b"\n"):
                message = _parse(line)
                if message is not None:
                    await to_us.send(message)
                elif line.strip() and not has_complained:
                    has_complained = True
                    log.warning("mcp_server_not_protocol", server=server, bytes=len(line))
    except asyncio.LimitOverrunError:
        log.warning("mcp_server_message_too_long", server=server, bytes_max=MESSAGE_BYTES_MAX)
    except (asyncio.IncompleteReadError, OSError, anyio.BrokenResourceError):
        log.info("mcp_server_ended", server=server)
    finally:
        on_lost()


async def _write(child: Child, from_us: Outgoing) -> None:
    try:
        async with from_us:
            async for each in from_us:
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                child.input.write(line.encode() + b"\n")
                await child.input.drain()
    except OSError:
        # Reading ends as well, and tells.
        log.info("mcp_server_takes_no_more", server=child.launch.server)


def _parse(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None
