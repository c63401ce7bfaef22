"""A strict local Telegram: the Bot API with polling and webhook over one town in memory."""

from __future__ import annotations

from aiohttp import web

from channels.rehearsal.telegram_control import TelegramControl
from channels.rehearsal.telegram_core import TelegramCore
from channels.rehearsal.telegram_webhook import WebhookSender


class RehearsalTelegram(TelegramCore):
    """A Bot API on 127.0.0.1: a context manager for tests, a process of its own for others."""

    def __init__(self, *, port: int = 0) -> None:
        super().__init__(port=port)
        self._sender = WebhookSender(self.queue)

    @property
    def base_url(self) -> str:
        """Where the stand-in listens: what to configure as `api_url`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def control_url(self) -> str:
        """The address of the control interface."""
        return f"{self.base_url}/control"

    async def start(self) -> None:
        """Listen on loopback; a port of 0 takes a free one."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/bot{token}/{method}", self.api.serve)
        app.router.add_get("/file/bot{token}/{path:.*}", self.api.serve_file)
        TelegramControl(self).add_routes(app)
        self._port = await self.listen(app, self._port)
        self._sender.start()

    async def stop(self) -> None:
        """Stop listening."""
        self.queue.end_polls()
        await self._sender.stop()
        await super().stop()
