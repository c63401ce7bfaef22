"""Retries: bounded, patient as asked, never past the deadline (LM-05)."""

from __future__ import annotations

import asyncio
import math

import pytest

from geode.errors import ModelError
from geode.llm.errors import BadRequest, Overloaded, RateLimited, Unavailable
from geode.llm.retry import RetryBounds, RetryPolicy, call_with_retries


class StepClock:
    """Sleeping moves the clock and is written down; nothing waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def now_us(self) -> int:
        return int(self.now * 1_000_000)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Attempts:
    """Raises its errors in turn, then answers; remembers when it was called."""

    def __init__(self, clock: StepClock, *errors: Exception) -> None:
        self.clock, self.errors, self.at = clock, list(errors), list[float]()

    async def __call__(self) -> str:
        self.at.append(self.clock.now)
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


EVEN = RetryPolicy(attempts_max=4, backoff_s=1.0, backoff_s_max=3.0, jitter=lambda: 0.5)


async def test_retryable_errors_are_repeated_with_growing_waits() -> None:
    clock = StepClock()
    attempts = Attempts(clock, Overloaded(), Unavailable(), Overloaded())

    answer = await call_with_retries(attempts, EVEN, RetryBounds("P", clock, math.inf))

    assert answer == "answer"
    assert clock.slept == [1.0, 2.0, 3.0]


async def test_attempts_are_bounded_and_the_last_error_is_raised() -> None:
    clock = StepClock()
    attempts = Attempts(clock, *(Overloaded(detail=str(n)) for n in range(9)))

    with pytest.raises(Overloaded) as caught:
        await call_with_retries(attempts, EVEN, RetryBounds("P", clock, math.inf))

    assert caught.value.detail == "3"
    assert len(attempts.at) == 4


async def test_final_error_is_not_repeated() -> None:
    clock = StepClock()
    attempts = Attempts(clock, BadRequest())

    with pytest.raises(BadRequest):
        await call_with_retries(attempts, EVEN, RetryBounds("P", clock, math.inf))

    assert (len(attempts.at), clock.slept) == (1, [])


async def test_next_call_is_not_before_what_the_provider_asked_and_is_told_once() -> None:
    clock, notices = StepClock(), list[tuple[float, ModelError]]()
    attempts = Attempts(clock, RateLimited(240.0))

    await call_with_retries(
        attempts,
        EVEN,
        RetryBounds("P", clock, clock.now + 300),
        lambda wait_s, error: notices.append((wait_s, error)),
    )

    assert attempts.at[1] - attempts.at[0] >= 240.0
    assert [wait_s for wait_s, _ in notices] == [240.0]


async def test_wait_that_would_pass_the_deadline_is_not_begun() -> None:
    clock, notices = StepClock(), list[float]()
    attempts = Attempts(clock, RateLimited(240.0))

    with pytest.raises(RateLimited) as caught:
        await call_with_retries(
            attempts,
            EVEN,
            RetryBounds("P", clock, clock.now + 180),
            lambda wait_s, _: notices.append(wait_s),
        )

    assert caught.value.retry_after == 240.0
    assert (clock.slept, notices) == ([], [])


async def test_call_is_cut_at_the_deadline() -> None:
    clock = StepClock()

    async def hang() -> str:
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(Unavailable, match="within the time that was left"):
        await call_with_retries(hang, EVEN, RetryBounds("P", clock, clock.now + 0.02))


async def test_no_call_is_made_after_the_deadline() -> None:
    clock = StepClock()
    attempts = Attempts(clock)

    with pytest.raises(Unavailable, match="no time was left"):
        await call_with_retries(attempts, EVEN, RetryBounds("P", clock, clock.now))

    assert attempts.at == []


async def test_time_out_inside_the_call_is_not_taken_for_the_deadline() -> None:
    clock = StepClock()
    attempts = Attempts(clock, TimeoutError("the callee's own"))

    with pytest.raises(TimeoutError, match="the callee's own"):
        await call_with_retries(attempts, EVEN, RetryBounds("P", clock, clock.now + 60))


@pytest.mark.parametrize("draw", [0.0, 0.999])
def test_jitter_never_shortens_what_was_asked(draw: float) -> None:
    policy = RetryPolicy(backoff_s=8.0, backoff_s_max=8.0, jitter=lambda: draw)

    assert policy.wait_s(1, RateLimited(7.0)) >= 7.0
    assert 6.0 <= policy.wait_s(5, Overloaded()) <= 10.0
