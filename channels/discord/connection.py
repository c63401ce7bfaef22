"""Keeps one login to Discord: begun again after outages, ended by what only a person can mend."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import aiohttp
import discord

from channels.discord.gateway import GatewayClient
from geode.errors import ChannelDownError, ChannelError
from geode.ports import Clock

log = logging.getLogger(__name__)

Health = Literal["up", "down", "degraded"]
INTENT_OFF = (
    "The message content intent is switched off for this application: people's messages arrive "
    "without text. Switch it on under Bot, Privileged Gateway Intents, in Discord's developer "
    "portal, and reload."
)
FATAL_CLOSES = {
    4004: "Discord refused the token (4004)",
    4010: "Discord refused the shard (4010)",
    4011: "Discord wants this bot to be sharded, which is not built (4011)",
    4012: "Discord no longer speaks this version of its gateway (4012)",
    4013: "Discord knows an intent no more (4013)",
}
OUTAGES = (
    discord.HTTPException,
    discord.GatewayNotFound,
    discord.ConnectionClosed,
    aiohttp.ClientError,
    TimeoutError,
    OSError,
)


class NeedsOperatorError(ChannelError):
    """Nothing works until a person changes something; trying again would only be refused again."""


@dataclass(frozen=True, slots=True)
class ConnectionTimes:
    """How long a login is given for what, in seconds."""

    login_s: float = 30.0
    down_s: float = 60.0
    """A socket that the library could not replace for so long is given up with its login."""
    resumes_max: int = 3
    """So many sockets lost in a row, none of which stood, give up the login too."""
    check_s: float = 1.0
    backoff_s_min: float = 1.0
    backoff_s_max: float = 30.0
    close_s: float = 5.0


class Connection:
    """Runs until cancelled; one client after the other, each with a login of its own."""

    def __init__(
        self,
        open_client: Callable[[], GatewayClient],
        *,
        clock: Clock,
        times: ConnectionTimes,
        report: Callable[[Health, str], None],
        use: Callable[[GatewayClient | None], None],
    ) -> None:
        self._open_client = open_client
        self._clock = clock
        self._times = times
        self._report = report
        self._use = use
        self._failures = 0
        self._lost_at: float | None = None
        self._losses = 0

    async def run(self, token: str) -> None:
        """Log in and receive for ever; raises `NeedsOperatorError` and leaves nothing open."""
        while True:
            client = self._open_client()
            try:
                await self._live(client, token)
            except (*OUTAGES, ChannelDownError) as error:
                self._tell_outage(error)
            finally:
                self._use(None)
                await self._close(client)
            await self._clock.sleep(self._next_backoff())

    def note_lost(self) -> None:
        """The socket is gone; the library has begun to replace it."""
        if self._lost_at is None:
            self._lost_at = self._clock.monotonic()
        self._losses += 1
        self._report("down", "The connection to Discord was lost; it is being restored.")

    def note_standing(self) -> None:
        """A session stands, new or resumed."""
        self._lost_at = None
        self._losses = self._failures = 0

    async def _live(self, client: GatewayClient, token: str) -> None:
        try:
            async with asyncio.timeout(self._times.login_s):
                await client.login(token)
        except discord.LoginFailure as error:
            raise NeedsOperatorError("Discord refused the token (401)") from error
        self._use(client)
        self._lost_at = self._clock.monotonic()
        self._losses = 0
        if not client.has_content_intent():
            self._report("degraded", INTENT_OFF)
        try:
            await self._receive(client)
        except discord.PrivilegedIntentsRequired as error:
            raise NeedsOperatorError(INTENT_OFF) from error
        except discord.ConnectionClosed as error:
            if reason := FATAL_CLOSES.get(error.code):
                raise NeedsOperatorError(reason) from error
            raise

    async def _receive(self, client: GatewayClient) -> None:
        """Let the library receive; return when it could not replace its socket for too long."""
        receiving = asyncio.create_task(client.connect(reconnect=True))
        try:
            while not receiving.done():
                await asyncio.wait({receiving}, timeout=self._times.check_s)
                if self._is_hopeless():
                    log.warning("discord_login_given_up losses=%d", self._losses)
                    break
            if receiving.done():
                await receiving
        except AttributeError as error:
            if client.has_socket():
                raise
            # The library stumbles over its own missing socket when the first one is refused.
            raise ChannelDownError("The gateway refused the connection") from error
        finally:
            receiving.cancel()
            await asyncio.wait({receiving})

    def _is_hopeless(self) -> bool:
        """The library resumes for ever, at once and without a pause when a socket opens."""
        if self._lost_at is None:
            return False
        is_long = self._clock.monotonic() - self._lost_at > self._times.down_s
        return is_long or self._losses > self._times.resumes_max

    def _tell_outage(self, error: BaseException) -> None:
        log.warning("discord_connect_failed reason=%s", error)
        said = str(error) or type(error).__name__
        self._report("down", f"Discord cannot be reached: {said}.")

    def _next_backoff(self) -> float:
        """Seconds to wait, doubled with every failure in a row, up to the maximum."""
        doublings = min(self._failures, 16)
        self._failures += 1
        return min(self._times.backoff_s_min * 2**doublings, self._times.backoff_s_max)

    async def _close(self, client: GatewayClient) -> None:
        with suppress(*OUTAGES):
            async with asyncio.timeout(self._times.close_s):
                await client.shut()
