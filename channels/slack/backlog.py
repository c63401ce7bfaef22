"""Reads a history of any length oldest first, in stretches between which nothing is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from channels.fields import text_of
from channels.slack.history import HistoryTooLongError, Reads
from channels.slack.stamps import is_ts, ts_to_us, us_to_ts
from geode.errors import ChannelDownError, SendRateLimitedError
from geode.messages import JsonObject
from geode.ports import Clock

WAIT_S_MAX = 60.0
"""A longer wait for the rate limit ends the catch-up; it is run again later."""
WAITS_MAX = 5
"""Waits in a row for one and the same call."""
CALLS_MAX = 300
"""Calls for one place in one run; what is left is read by the next one."""
WALK_MAX = 5
"""Stretches walked back one by one before time is halved: each must be read twice."""


class OutOfCallsError(ChannelDownError):
    """The place has more to read than one run may read of it."""

    def __init__(self) -> None:
        super().__init__("More was said than is read in one run.")


class PatientReads:
    """Reading calls of one catch-up: short rate limits are waited out, calls are counted."""

    def __init__(self, web: Reads, clock: Clock) -> None:
        self._web = web
        self._clock = clock
        self._left = CALLS_MAX

    def begin_place(self) -> None:
        """Another place is read from now on, with calls of its own."""
        self._left = CALLS_MAX

    async def read(self, method: str, **fields: str | int | bool) -> JsonObject:
        """The method's answer; raises `OutOfCallsError` when the place has had its share."""
        if self._left == 0:
            raise OutOfCallsError
        self._left -= 1
        waits = 0
        while True:
            try:
                return await self._web.read(method, **fields)
            except SendRateLimitedError as error:
                waits += 1
                if waits > WAITS_MAX or error.retry_after_s > WAIT_S_MAX:
                    raise
                await self._clock.sleep(error.retry_after_s)


class Pages(Protocol):
    """Some pages of what was said within bounds, in whatever order."""

    def __call__(self, **bounds: str | bool) -> AsyncIterator[list[JsonObject]]:
        """The pages; the iteration ends with `HistoryTooLongError` when there are more."""
        ...


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look at a stretch of time showed, oldest first."""

    found: list[JsonObject]
    is_whole: bool
    is_oldest_first: bool
    """The pages began at the old end, so what is missing is newer than all that was found."""


async def read_stretches(pages: Pages, after: str) -> AsyncIterator[list[JsonObject]]:
    """What was said after that message, oldest first; nothing is missing between two stretches.

    What is too long for one look is walked back to where the rest fits. Only the ends of stretches
    are kept meanwhile, so that memory holds one stretch however long the history is.
    """
    low, ends = ts_to_us(after), [0]
    while ends:
        look = await _look_at(pages, low, ends[-1])
        rest = _us_of(look.found[0]) - 1 if look.found else low
        is_whole = look.is_whole or (rest <= low and not look.is_oldest_first)
        if not is_whole and not look.is_oldest_first:
            ends.append(rest if len(ends) <= WALK_MAX else low + (rest - low) // 2)
            continue
        if look.found:
            yield look.found
        low = ends.pop() if is_whole else _us_of(look.found[-1])


async def _look_at(pages: Pages, low: int, high: int) -> _Look:
    """Messages behind `low` up to `high`; 0: no end."""
    bounds: dict[str, str | bool] = {"oldest": us_to_ts(low + 1), "inclusive": True}
    if high:
        bounds["latest"] = us_to_ts(high)
    seen: list[dict[int, JsonObject]] = []
    is_whole = True
    try:
        async for page in pages(**bounds):
            found = {_us_of(message): message for message in page}
            seen.append({us: m for us, m in found.items() if us > low and not 0 < high < us})
    except HistoryTooLongError:
        is_whole = False
    filled = [page for page in seen if page]
    merged = {us: message for page in filled for us, message in page.items()}
    is_oldest_first = len(filled) > 1 and max(filled[0]) < max(filled[-1])
    return _Look([merged[us] for us in sorted(merged)], is_whole, is_oldest_first)


def _us_of(message: JsonObject) -> int:
    """When a message was said; before everything when it does not say."""
    ts = text_of(message, "ts")
    return ts_to_us(ts) if is_ts(ts) else 0
