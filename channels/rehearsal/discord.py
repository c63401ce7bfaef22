"""A strict local Discord: REST v10 and the gateway over TLS, reached through a CONNECT proxy."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from channels.rehearsal.discord_control import DiscordControl
from channels.rehearsal.discord_core import DiscordCore
from channels.rehearsal.discord_proxy import ConnectProxy, TestAuthority


class RehearsalDiscord(DiscordCore):
    """A Discord on 127.0.0.1; the program under test is told a proxy and a CA, nothing else."""

    def __init__(self, *, proxy_port: int = 0) -> None:
        super().__init__()
        self._authority = TestAuthority()
        self._proxy = ConnectProxy(0)
        self._proxy_port = proxy_port
        self._control_port = 0

    @property
    def proxy_url(self) -> str:
        """The address to configure as `proxy`."""
        return f"http://127.0.0.1:{self._proxy.port}"

    @property
    def ca_path(self) -> Path:
        """The certificate to name in SSL_CERT_FILE."""
        return self._authority.ca_path

    @property
    def control_url(self) -> str:
        """The address of the control interface."""
        return f"http://127.0.0.1:{self._control_port}/control"

    @property
    def proxy(self) -> ConnectProxy:
        """The proxy, with its counters."""
        return self._proxy

    async def start(self) -> None:
        """Listen on loopback: TLS, control and proxy, each on a port of its own."""
        discord = web.Application(client_max_size=16 << 20)
        discord.router.add_get("/", self.gateway.serve)
        discord.router.add_get("/attachments/{room}/{file}/{name}", self.serve_file)
        discord.router.add_route("*", "/api/v10/{path:.*}", self.api.serve)
        tls_port = await self.listen(discord, context=self._authority.context)
        control = web.Application(client_max_size=8 << 20)
        DiscordControl(self).add_routes(control)
        self._control_port = await self.listen(control)
        self._proxy = ConnectProxy(tls_port)
        await self._proxy.start(self._proxy_port)

    async def stop(self) -> None:
        """Close every socket, stop listening, forget the CA."""
        self.gateway.kill_all()
        await self._proxy.stop()
        await super().stop()
        self._authority.forget()
