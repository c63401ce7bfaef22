"""The way in: a test CA made at start, and a CONNECT proxy that knows Discord's hosts."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

HOSTS = (
    *("discord.com", "gateway.discord.gg", "resume.discord.gg"),
    *("cdn.discordapp.com", "media.discordapp.net"),
)
CHUNK_BYTES = 65_536
HEAD_S = 10.0


class TestAuthority:
    """A certificate authority that lives as long as the stand-in; its certificate is a file."""

    __test__ = False

    def __init__(self) -> None:
        # Imported here: only this stand-in needs it, and only when it is started.
        import trustme  # noqa: PLC0415

        self._folder = Path(tempfile.mkdtemp(prefix="geode-rehearsal-ca-"))
        self.ca_path = self._folder / "ca.pem"
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.ca_path))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        chain = self._folder / "chain.pem"
        issued = authority.issue_cert(*HOSTS)
        issued.private_key_and_cert_chain_pem.write_to_path(str(chain))
        self.context.load_cert_chain(chain)

    def forget(self) -> None:
        """Remove the certificate's file; safe to call twice."""
        shutil.rmtree(self._folder, ignore_errors=True)


class ConnectProxy:
    """Sends every host of Discord to one local port and refuses every other."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.counters: Counter[str] = Counter()
        """Connections by the host that was asked for."""

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening and cut what is open."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, OSError, TimeoutError, asyncio.IncompleteReadError):
            self.counters["broken"] += 1
        except asyncio.CancelledError:
            # Only `stop` cancels; the stream's own callback would report it as an error.
            self.counters["cut"] += 1
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
        verb, _, rest = head.decode("latin-1").partition(" ")
        host = rest.partition(" ")[0].rpartition(":")[0]
        if verb != "CONNECT" or host not in HOSTS:
            self.counters["refused"] += 1
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        self.counters[host] += 1
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(ConnectionError, OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                writer.write(chunk)
                await writer.drain()
    finally:
        writer.close()
