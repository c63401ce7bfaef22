"""Receives by webhook: an update is answered 200 once it is stored, and never before.

Telegram hands a chat's updates over one at a time, each after the answer to the one before. An
album's parts are therefore stored as they come; the core lets their turn wait for the rest.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from dataclasses import dataclass
from typing import Final

import orjson
from aiohttp import web

from channels.fields import int_of, text_of, to_object
from channels.telegram.entities import BotIdentity
from channels.telegram.failures import TokenRefusedError
from channels.telegram.health import Report
from channels.telegram.parse import parse_update
from channels.telegram.reception import Reception
from channels.telegram.web import TelegramWeb
from geode.errors import ChannelError, SendRefusedError, StoreError
from geode.messages import JsonObject
from geode.ports import Clock

log = logging.getLogger(__name__)

SECRET_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the header's name
BODY_BYTES_MAX: Final = 1 << 20
READ_S: Final = 10.0
RETRY_AFTER_S: Final = "2"
SECRET: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
BAD_SECRET: Final = "webhook_secret must be 1 to 256 letters, digits, _ and -."  # noqa: S105


@dataclass(frozen=True, slots=True)
class WebhookPlace:
    """Where updates are posted to, where we listen, and what proves that Telegram posts."""

    url: str
    listen: str
    secret: str


@dataclass(frozen=True, slots=True)
class WebhookTimes:
    """How long the webhook waits for what, in seconds."""

    check_s: float = 60.0
    """Between two looks at how Telegram has it registered."""
    retry_s: float = 30.0


class WebhookReceiver:
    """One route on a server of its own; runs until cancelled."""

    def __init__(
        self,
        api: TelegramWeb,
        bot: BotIdentity,
        reception: Reception,
        place: WebhookPlace,
        *,
        clock: Clock,
        times: WebhookTimes,
    ) -> None:
        self._api = api
        self._bot = bot
        self._reception = reception
        self._place = place
        self._clock = clock
        self._times = times
        self._is_registered = False
        """We registered it ourselves, so the secret there is ours."""

    async def run(self, report: Report) -> None:
        """Listen, register, and keep both so."""
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        # A proxy may have rewritten the path; the secret is what proves the sender.
        app.router.add_post("/{path:.*}", self._serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=2.0)
        await runner.setup()
        try:
            await self._listen(runner, report)
            while True:
                await self._clock.sleep(await self._keep(report))
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner, report: Report) -> None:
        host, _, port = self._place.listen.rpartition(":")
        while True:
            try:
                await web.TCPSite(runner, host.strip("[]"), int(port)).start()
            except OSError as error:
                reason = f"Nothing can listen on {self._place.listen} ({error.strerror})."
                report("degraded", reason)
                await self._clock.sleep(self._times.retry_s)
            else:
                return

    async def _keep(self, report: Report) -> float:
        """Register the webhook where it is not; the seconds until the next look."""
        try:
            found = await self._api.read_webhook()
            if not self._is_registered or text_of(found, "url") != self._place.url:
                await self._api.set_webhook(self._place.url, self._place.secret)
                self._is_registered = True
                report("up", "")
            else:
                self._tell(found, report)
        except (TokenRefusedError, SendRefusedError) as error:
            report("degraded", f"The webhook was refused: {error}")
            return self._times.retry_s
        except ChannelError as error:
            report("down", str(error))
            return self._times.retry_s
        return self._times.check_s

    def _tell(self, found: JsonObject, report: Report) -> None:
        """Telegram says when it could not hand updates over."""
        waiting = int_of(found, "pending_update_count")
        failure = text_of(found, "last_error_message")
        if waiting and failure:
            report("degraded", f"Telegram holds {waiting} updates back: {failure}.")
        else:
            report("up", "")

    async def _serve(self, request: web.Request) -> web.Response:
        sent = request.headers.get(SECRET_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(sent, self._place.secret.encode()):
            log.warning("telegram_webhook_refused reason=secret")
            return web.Response(status=403)
        async with asyncio.timeout(READ_S):
            body = await request.read()
        try:
            update = to_object(orjson.loads(body))
        except orjson.JSONDecodeError:
            return web.Response(status=400)
        try:
            await self._reception.take(parse_update(update, self._bot))
        except StoreError as error:
            log.warning("telegram_update_not_stored reason=%s", error)
            return web.Response(status=503, headers={"Retry-After": RETRY_AFTER_S})
        return web.Response(status=200)
