"""Receives by long polling: an update is confirmed once it is stored, and never before."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from channels.fields import int_of
from channels.telegram.albums import Albums
from channels.telegram.entities import BotIdentity
from channels.telegram.failures import ConflictError, TokenRefusedError
from channels.telegram.health import Report
from channels.telegram.parse import AlbumPart, Parsed, parse_update
from channels.telegram.reception import Reception
from channels.telegram.web import TelegramWeb
from geode.errors import ChannelError, SendRateLimitedError, StoreError
from geode.messages import ChatCommand, InboundMessage, JsonObject
from geode.ports import Clock

log = logging.getLogger(__name__)

SILENCE_S_MAX = 6 * 86_400
"""After a week without updates Telegram goes on from an id of its choice."""


@dataclass(frozen=True, slots=True)
class PollingTimes:
    """How long polling waits for what, in seconds."""

    poll_s: int = 25
    album_quiet_s: float = 0.8
    """An album is complete when nothing was added to it for this long."""
    album_held_s_max: float = 4.0
    album_check_s: float = 0.2
    backoff_s_min: float = 0.5
    backoff_s_max: float = 30.0
    conflict_tries: int = 3
    """So many conflicts in a row may be the end of an earlier process of ours."""
    conflict_pause_s: float = 3.0
    conflict_retry_s: float = 30.0
    token_retry_s: float = 300.0


class UpdatePoller:
    """Runs until cancelled, with one request at a time; keeps nothing that a restart would miss."""

    def __init__(
        self,
        web: TelegramWeb,
        bot: BotIdentity,
        reception: Reception,
        *,
        clock: Clock,
        times: PollingTimes,
    ) -> None:
        self._web = web
        self._bot = bot
        self._reception = reception
        self._clock = clock
        self._times = times
        self._albums = Albums(quiet_s=times.album_quiet_s, held_s_max=times.album_held_s_max)
        self._offset = 0
        self._settled: set[int] = set()
        """Stored or dropped, but not confirmable while an earlier update is held."""
        self._heard_at = clock.monotonic()
        self._failures = 0
        self._conflicts = 0
        self._is_connected = False
        """The last poll was answered."""

    async def run(self, report: Report) -> None:
        """Poll, store, confirm."""
        while True:
            try:
                updates = await self._web.read_updates(self._next_offset(), self._wait_s())
            except ChannelError as error:
                self._is_connected = False
                await self._clock.sleep(self._tell_failure(error, report))
                continue
            self._failures = self._conflicts = 0
            self._is_connected = True
            report("up", "")
            try:
                await self._take(updates)
            except StoreError as error:
                log.warning("telegram_update_not_stored reason=%s", error)
                await self._clock.sleep(self._next_backoff())
            else:
                report("up", "")
                if self._albums:
                    await self._clock.sleep(self._times.album_check_s)

    def _next_offset(self) -> int:
        if not self._albums and self._clock.monotonic() - self._heard_at > SILENCE_S_MAX:
            self._offset = 0
        return self._offset

    def _wait_s(self) -> int:
        # What is held is handed out again at once; and the first poll says whether polling works.
        return self._times.poll_s if self._is_connected and not self._albums else 0

    def _tell_failure(self, error: ChannelError, report: Report) -> float:
        """Say how the channel stands and return the seconds to wait."""
        log.warning("telegram_poll_failed reason=%s", error)
        if isinstance(error, ConflictError):
            self._conflicts += 1
            if self._conflicts <= self._times.conflict_tries:
                return self._times.conflict_pause_s
            report("conflict", f"{str(error)[:-1]}: stop the other receiver of this token.")
            return self._times.conflict_retry_s
        if isinstance(error, TokenRefusedError):
            report("degraded", f"{error} The token must be replaced.")
            return self._times.token_retry_s
        report("down", str(error))
        if isinstance(error, SendRateLimitedError):
            return max(error.retry_after_s, self._next_backoff())
        return self._next_backoff()

    def _next_backoff(self) -> float:
        doublings = min(self._failures, 16)
        self._failures += 1
        return min(self._times.backoff_s_min * 2**doublings, self._times.backoff_s_max)

    async def _take(self, updates: list[JsonObject]) -> None:
        """Store what came, in order; raises `StoreError` and confirms only what was stored."""
        by_id = {int_of(update, "update_id"): update for update in updates}
        if by_id:
            self._heard_at = self._clock.monotonic()
        try:
            for update_id in sorted(by_id):
                if update_id not in self._settled:
                    await self._take_one(update_id, parse_update(by_id[update_id], self._bot))
            for name in self._albums.due(self._clock.monotonic()):
                await self._close_album(name)
        finally:
            self._advance(by_id)

    async def _take_one(self, update_id: int, parsed: Parsed) -> None:
        if isinstance(parsed, AlbumPart):
            self._albums.add(update_id, parsed, self._clock.monotonic())
            return
        if isinstance(parsed, (InboundMessage, ChatCommand)):
            for name in self._albums.of_sender(parsed.thread, parsed.sender):
                await self._close_album(name)
        await self._reception.take(parsed)
        self._settled.add(update_id)

    async def _close_album(self, name: str) -> None:
        album = self._albums.peek(name)
        await self._reception.take(album.message)
        self._settled |= album.parts.keys()
        self._albums.release(name)

    def _advance(self, seen: dict[int, JsonObject]) -> None:
        """Move the offset over everything in front that is settled, and not beyond it."""
        for update_id in sorted(seen.keys() | self._settled):
            if update_id < self._offset:
                continue
            if update_id not in self._settled:
                break
            self._offset = update_id + 1
        self._settled = {update_id for update_id in self._settled if update_id >= self._offset}
