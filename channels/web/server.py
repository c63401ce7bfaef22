"""The web server in our own loop, on a socket that is bound before anything is told."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator

import uvicorn
from starlette.types import ASGIApp

CONNECTIONS_MAX = 512
KEEP_ALIVE_S = 30
GRACE_S = 2
BACKLOG = 256


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
    except BaseException:
        made.close()
        raise
    return made


def make_server(app: ASGIApp) -> Server:
    """A server for one run."""
    return Server(
        uvicorn.Config(
            app,
            loop="none",
            http="h11",
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
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S + 1):
                await server.shutdown(sockets=[listening])
        raise
    finally:
        listening.close()
