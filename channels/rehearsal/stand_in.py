"""What every stand-in is: something that counts, goes wrong on request, and can be waited for."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from ssl import SSLContext
from types import TracebackType
from typing import Self

from aiohttp import web

from channels.rehearsal.faults import Faults, fault_from_json
from geode.messages import JsonObject, JsonValue

POLL_S = 0.01


class StandIn(ABC):
    """A platform on loopback: a context manager for tests, a process of its own for others."""

    def __init__(self) -> None:
        self.faults = Faults()
        self._runners: list[web.AppRunner] = []

    @abstractmethod
    def counters(self) -> JsonObject:
        """Everything counted."""

    def fault(self, kind: str, **fields: JsonValue) -> None:
        """Put a fault in force; the fields are those of `Fault`."""
        self.faults.set(fault_from_json({"kind": kind, **fields}))

    async def wait_for(self, is_so: Callable[[], object], timeout_s: float = 10.0) -> None:
        """Wait until something is observable; raises `TimeoutError` with the counters."""
        try:
            async with asyncio.timeout(timeout_s):
                while not is_so():  # noqa: ASYNC110 - any observable state, not one event
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            seen = f"not within {timeout_s:g} s; counters: {self.counters()}"
            raise TimeoutError(seen) from error

    @abstractmethod
    async def start(self) -> None:
        """Listen; a port of 0 takes a free one."""

    async def stop(self) -> None:
        """Stop listening; safe to call twice."""
        while self._runners:
            await self._runners.pop().cleanup()

    async def listen(
        self, app: web.Application, port: int = 0, context: SSLContext | None = None
    ) -> int:
        """Serve an application, in the clear unless a context is given; the port it got."""
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        self._runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        return int(runner.addresses[0][1])

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()


def cut_connection(request: web.Request) -> None:
    """Drop the connection of a call, so that nobody is told what became of it."""
    if isinstance(request.transport, asyncio.Transport):
        request.transport.abort()
