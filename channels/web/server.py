"""The web server in our own loop, on a socket that is bound before anything is told."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Generator
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

CONNECTIONS_MAX = 512
KEEP_ALIVE_S = 30
GRACE_S = 2
BACKLOG = 256
HEAD_S_MAX = 15.0
"""From the first moment of a connection, or of a further request on it, to its whole head."""


class PatientProtocol(H11Protocol):
    """A connection on which no request arrives in time is ended, so that none is held for nothing.

    The library bounds only the silence between two requests.
    """

    head_s_max = HEAD_S_MAX
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Wait for the first request from now on."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on; a part of a head is waited for no longer than one that has not begun."""
        super().data_received(data)
        if self._is_asked():
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_asked(self) -> bool:
        """Whether a request is being answered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.head_s_max, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self._is_asked():
            self.transport.close()


class Server(uvicorn.Server):
    """The library's server without signal handlers: those are the daemon's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave every signal where it is."""
        yield


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; raises `OSError` when the place is taken or not ours to have."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
        made.setblocking(False)
    except UnicodeError as error:
        made.close()
        raise OSError(errno.EADDRNOTAVAIL, "this is no name of a machine") from error
    except BaseException:
        made.close()
        raise
    return made


def make_server(app: ASGIApp, protocol: type[PatientProtocol] = PatientProtocol) -> Server:
    """A server for one run."""
    return Server(
        uvicorn.Config(
            app,
            loop="none",
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS_MAX,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
        )
    )


async def run_server(server: Server, listening: socket.socket) -> None:
    """Serve until told to exit; a cancelled server ends its connections before it goes."""
    try:
        await server.serve(sockets=[listening])
    except asyncio.CancelledError:
        if server.started:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S + 1):
                    await server.shutdown(sockets=[listening])
        raise
    finally:
        listening.close()
