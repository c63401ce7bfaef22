"""Waits that Telegram asked for, chat by chat: one chat's wait delays no other."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from geode.errors import SendRateLimitedError
from geode.ports import Clock


class ChatPauses:
    """Until when each chat is left alone."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    @contextmanager
    def pacing(self, chat: str) -> Generator[None]:
        """Around one call: raises `SendRateLimitedError` while the chat waits, and learns of it."""
        left = self._until.get(chat, 0.0) - self._clock.monotonic()
        if left > 0:
            raise SendRateLimitedError(left)
        try:
            yield
        except SendRateLimitedError as error:
            self._begin(chat, error.retry_after_s)
            raise

    def _begin(self, chat: str, seconds: float) -> None:
        now = self._clock.monotonic()
        self._until = {name: until for name, until in self._until.items() if until > now}
        self._until[chat] = max(self._until.get(chat, 0.0), now + seconds)
