"""Keeps one live socket to Slack: watches it, replaces it, and says how it stands."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal

from channels.slack.failures import TokenRefusedError
from channels.slack.socket import SingleUseSocket, SlackSocketHandler, SocketTimes
from geode.errors import ChannelDownError, ChannelError, SendRateLimitedError
from geode.ports import Clock

log = logging.getLogger(__name__)

Health = Literal["up", "down", "degraded"]
OpenHandler = Callable[[], SlackSocketHandler]
Report = Callable[[Health, str], None]

GAPLESS = frozenset({"warning", "refresh_requested"})
"""Farewells after which the old connection still works until the new one stands."""


class SocketSupervisor:
    """Runs until cancelled; every attempt is a new client with an address of its own."""

    def __init__(
        self,
        open_handler: OpenHandler,
        *,
        clock: Clock,
        times: SocketTimes,
        report: Report,
        on_gap: Callable[[], None],
    ) -> None:
        self._open_handler = open_handler
        self._clock = clock
        self._times = times
        self._report = report
        self._on_gap = on_gap
        self._live: SingleUseSocket | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._has_gap = True
        """Events may have been missed since the last connection worked."""

    async def run(self) -> None:
        """Connect, watch and replace; leaves no connection behind when cancelled."""
        try:
            while True:
                await self._run_once()
        finally:
            await self._close_all()

    async def _run_once(self) -> None:
        old = self._live
        try:
            self._live = await self._connect()
        except ChannelError as error:
            self._tell_failure(error, is_connected=old is not None and old.is_open)
            await self._clock.sleep(self._pause_after(error))
            if old is not None and not old.is_open:
                await self._drop(old)
            return
        self._report("up", "")
        if old is not None:
            # Nobody listened since it died, however soon its successor stands.
            self._has_gap |= not old.is_open
            self._retire(old)
        if self._has_gap:
            self._has_gap = False
            self._on_gap()
        await self._watch(self._live)

    async def _connect(self) -> SingleUseSocket:
        """One attempt; raises a `ChannelError` and leaves nothing open when it fails."""
        handler = self._open_handler()
        link = handler.client
        assert isinstance(link, SingleUseSocket)
        try:
            async with asyncio.timeout(self._times.connect_s):
                await handler.connect_async()
            async with asyncio.timeout(self._times.hello_s):
                await link.greeted.wait()
        except TimeoutError as error:
            said = "opened but never said hello" if link.is_open else "did not open in time"
            await link.close()
            raise ChannelDownError(f"The socket {said}.") from error
        except BaseException:
            await link.close()
            raise
        return link

    async def _watch(self, link: SingleUseSocket) -> None:
        """Return when the connection must be replaced; a broken one is closed already."""
        while True:
            link.changed.clear()
            if not link.is_open:
                return await self._give_up(link, "The socket was cut.")
            if link.farewell:
                return await self._take_farewell(link)
            if self._clock.monotonic() - link.heard_at > self._times.quiet_s:
                log.warning("slack_socket_quiet seconds=%s", self._times.quiet_s)
                self._has_gap = True
                return None
            await self._wait_change(link)

    async def _wait_change(self, link: SingleUseSocket) -> None:
        try:
            async with asyncio.timeout(self._times.check_s):
                await link.changed.wait()
        except TimeoutError:
            return

    async def _take_farewell(self, link: SingleUseSocket) -> None:
        if link.farewell in GAPLESS:
            if not self._was_stable(link):
                await self._clock.sleep(self._next_backoff())
            return
        reason = f"Slack ended the connection ({link.farewell})."
        if link.farewell == "link_disabled":
            reason = "Socket Mode is switched off for this app; switch it on in its settings."
        await self._give_up(link, reason)

    async def _give_up(self, link: SingleUseSocket, reason: str) -> None:
        self._report("down", reason)
        log.warning("slack_socket_down reason=%s", reason)
        await self._drop(link)
        if not self._was_stable(link):
            await self._clock.sleep(self._next_backoff())

    async def _drop(self, link: SingleUseSocket) -> None:
        self._live, self._has_gap = None, True
        await link.close()

    def _was_stable(self, link: SingleUseSocket) -> bool:
        if self._clock.monotonic() - link.opened_at < self._times.stable_s:
            return False
        self._failures = 0
        return True

    def _next_backoff(self) -> float:
        """Seconds to wait, doubled with every failure in a row, up to the maximum."""
        doublings = min(self._failures, 16)
        self._failures += 1
        return min(self._times.backoff_s_min * 2**doublings, self._times.backoff_s_max)

    def _pause_after(self, error: ChannelError) -> float:
        if isinstance(error, TokenRefusedError):
            return self._times.token_retry_s
        if isinstance(error, SendRateLimitedError):
            return max(error.retry_after_s, self._next_backoff())
        return self._next_backoff()

    def _tell_failure(self, error: ChannelError, *, is_connected: bool) -> None:
        log.warning("slack_connect_failed reason=%s", error)
        if isinstance(error, TokenRefusedError):
            self._report("degraded", str(error))
        elif not is_connected:
            self._report("down", str(error))

    def _retire(self, old: SingleUseSocket) -> None:
        task = asyncio.create_task(self._close_drained(old))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _close_drained(self, old: SingleUseSocket) -> None:
        """Close a replaced connection once what it delivered is acknowledged, or time is up."""
        ends_at = self._clock.monotonic() + self._times.drain_s
        try:
            while old.in_flight and old.is_open and self._clock.monotonic() < ends_at:
                await self._clock.sleep(self._times.check_s)
        finally:
            await old.close()

    async def _close_all(self) -> None:
        for task in list(self._retiring):
            task.cancel()
        await asyncio.gather(*self._retiring, return_exceptions=True)
        if self._live is not None:
            await self._drop(self._live)
