"""When a failed model call is made again: bounded in number, never past the turn's deadline."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from geode.errors import ModelError
from geode.llm.errors import Overloaded, RateLimited, Unavailable
from geode.ports import Clock

Answer = TypeVar("Answer")
WaitNotice = Callable[[float, ModelError], None]
"""Told once before each wait: the seconds, and the error that asked for them."""


def draw_jitter() -> float:
    """A fraction in [0, 1) that keeps many sessions from calling again at the same instant."""
    return random.random()  # noqa: S311 - spreads load, protects nothing


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently; shared by all adapters."""

    attempts_max: int = 4
    """Calls in all, the first one included."""
    backoff_s: float = 1.0
    """Before the second call; doubled before each further one."""
    backoff_s_max: float = 20.0
    jitter: Callable[[], float] = draw_jitter

    def wait_s(self, attempts: int, error: ModelError) -> float:
        """Seconds before the next call; what the provider asked for is never shortened."""
        backoff = min(self.backoff_s * 2 ** (attempts - 1), self.backoff_s_max)
        spread = backoff * (0.75 + 0.5 * self.jitter())
        asked = error.retry_after if isinstance(error, (RateLimited, Overloaded)) else None
        return max(spread, asked or 0.0)


@dataclass(frozen=True, slots=True)
class RetryBounds:
    """What one call may use: the provider's name for messages, the clock and the deadline."""

    provider: str
    clock: Clock
    deadline: float
    """Monotonic seconds of `clock`."""

    @property
    def remaining_s(self) -> float:
        """Seconds left; infinite without a deadline."""
        return self.deadline - self.clock.monotonic()


async def call_with_retries(
    attempt: Callable[[], Awaitable[Answer]],
    policy: RetryPolicy,
    bounds: RetryBounds,
    notice: WaitNotice | None = None,
) -> Answer:
    """Return the first whole answer; raise the last classified error.

    A wait that would reach the deadline is not begun: its error is raised at once.
    """
    attempts = 1
    while True:
        try:
            return await _attempt_in_time(attempt, bounds)
        except ModelError as error:
            wait_s = policy.wait_s(attempts, error)
            is_last = not error.retryable or attempts >= policy.attempts_max
            if is_last or wait_s >= bounds.remaining_s:
                raise
            if notice is not None:
                notice(wait_s, error)
        await bounds.clock.sleep(wait_s)
        attempts += 1


async def _attempt_in_time(attempt: Callable[[], Awaitable[Answer]], bounds: RetryBounds) -> Answer:
    remaining_s = bounds.remaining_s
    if remaining_s <= 0:
        raise Unavailable(provider=bounds.provider, detail="no time was left for the call")
    limit = asyncio.timeout(None if math.isinf(remaining_s) else remaining_s)
    try:
        async with limit:
            return await attempt()
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise Unavailable(
            provider=bounds.provider, detail="no whole answer within the time that was left"
        ) from error
