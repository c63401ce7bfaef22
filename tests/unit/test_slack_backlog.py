"""A long history is read oldest first and whole, in whatever order its pages come."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fakes.spine_room import RoomClock
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.slack.backlog import (
    CALLS_MAX,
    WAITS_MAX,
    OutOfCallsError,
    PatientReads,
    read_stretches,
)
from channels.slack.history import PAGE_SIZE, PAGES_MAX, HistoryTooLongError
from channels.slack.stamps import ts_to_us, us_to_ts
from geode.errors import SendRateLimitedError
from geode.messages import JsonObject

AFTER = us_to_ts(1_000_000_000)
HOUR_US = 3_600_000_000


class Said:
    """A history at these microseconds after `AFTER`, given in pages like Slack's."""

    def __init__(self, offsets: list[int], *, is_newest_first: bool = True) -> None:
        self.stamps = sorted({us_to_ts(1_000_000_000 + each) for each in offsets}, key=ts_to_us)
        self._is_newest_first = is_newest_first
        self.calls = 0

    async def pages(self, **bounds: str | bool) -> AsyncIterator[list[JsonObject]]:
        oldest, latest = str(bounds["oldest"]), str(bounds.get("latest", "9999999999.000000"))
        found = [ts for ts in self.stamps if ts_to_us(oldest) <= ts_to_us(ts) <= ts_to_us(latest)]
        if self._is_newest_first:
            found.reverse()
        for number in range(PAGES_MAX):
            self.calls += 1
            page = found[number * PAGE_SIZE : (number + 1) * PAGE_SIZE]
            yield [{"ts": ts} for ts in page]
            if (number + 1) * PAGE_SIZE >= len(found):
                return
        raise HistoryTooLongError

    async def read_all(self) -> list[list[str]]:
        return [
            [str(m["ts"]) for m in stretch] async for stretch in read_stretches(self.pages, AFTER)
        ]


@pytest.mark.parametrize("is_newest_first", [True, False])
@pytest.mark.parametrize(
    "offsets",
    [
        [],
        [1],
        list(range(1, 2001)),
        [each * 60_000_000 for each in range(1, 7000)],
        [*range(500 * HOUR_US, 500 * HOUR_US + 6000)],
        [*range(1, 6001), *(HOUR_US * each for each in range(1, 2500))],
        [
            *(HOUR_US * each for each in range(1, 2500)),
            *range(9000 * HOUR_US, 9000 * HOUR_US + 4000),
        ],
    ],
    ids=["none", "one", "one-run", "even", "late-burst", "early-burst", "quiet-then-burst"],
)
async def test_long_history_is_read_whole_and_oldest_first(
    offsets: list[int], *, is_newest_first: bool
) -> None:
    said = Said(offsets, is_newest_first=is_newest_first)

    stretches = await said.read_all()

    assert [ts for stretch in stretches for ts in stretch] == said.stamps
    assert max(map(len, stretches), default=0) <= PAGE_SIZE * PAGES_MAX


async def test_history_that_fits_costs_one_look() -> None:
    said = Said(list(range(1, 451)))

    await said.read_all()

    assert said.calls == 3


@pytest.mark.parametrize("is_newest_first", [True, False])
async def test_first_stretch_of_any_history_fits_into_one_run(*, is_newest_first: bool) -> None:
    offsets = [*range(1, 30_001), *(HOUR_US * each for each in range(1, 5000))]
    said = Said(offsets, is_newest_first=is_newest_first)

    async for _ in read_stretches(said.pages, AFTER):
        break

    assert said.calls < CALLS_MAX / 2


@given(
    bursts=st.lists(
        st.tuples(st.integers(1, 700 * HOUR_US), st.integers(1, 1500), st.integers(1, 10**8)),
        max_size=6,
    ),
    is_newest_first=st.booleans(),
)
@settings(max_examples=25, deadline=None)
async def test_no_message_is_missed_however_they_are_spread(
    bursts: list[tuple[int, int, int]], *, is_newest_first: bool
) -> None:
    offsets = [begin + gap * n for begin, count, gap in bursts for n in range(count)]
    said = Said(offsets, is_newest_first=is_newest_first)

    stretches = await said.read_all()

    assert [ts for stretch in stretches for ts in stretch] == said.stamps


class Limited:
    """A Web API that answers only after so many rate limits."""

    def __init__(self, limits: int, retry_after_s: float = 30.0) -> None:
        self.limits, self.retry_after_s, self.answered = limits, retry_after_s, 0
        self._left = limits

    async def read(self, method: str, **fields: str | int | bool) -> JsonObject:
        if self._left:
            self._left -= 1
            raise SendRateLimitedError(self.retry_after_s)
        self._left = self.limits
        self.answered += 1
        return {"ok": True}


async def test_rate_limits_are_waited_out_call_by_call() -> None:
    web, clock = Limited(WAITS_MAX), RoomClock()
    began = clock.monotonic()
    reads = PatientReads(web, clock)

    for _ in range(20):
        await reads.read("conversations.history")

    assert web.answered == 20
    assert clock.monotonic() - began == 20 * WAITS_MAX * 30


@pytest.mark.parametrize("web", [Limited(WAITS_MAX + 1), Limited(1, 61.0)])
async def test_rate_limit_that_does_not_end_ends_the_run(web: Limited) -> None:
    with pytest.raises(SendRateLimitedError):
        await PatientReads(web, RoomClock()).read("conversations.history")


async def test_each_place_has_its_own_share_of_calls() -> None:
    web = Limited(0)
    reads = PatientReads(web, RoomClock())
    for _ in range(CALLS_MAX):
        await reads.read("conversations.history")

    with pytest.raises(OutOfCallsError):
        await reads.read("conversations.history")
    reads.begin_place()
    await reads.read("conversations.history")

    assert web.answered == CALLS_MAX + 1
