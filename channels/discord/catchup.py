"""Reads back what was missed: watched places since their cursors, and the threads below them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from channels.discord.directs import Directs
from channels.discord.door import FrontDoor
from channels.discord.failures import PlatformRefusedError
from channels.discord.history import DiscordHistory
from channels.discord.parse import BotIdentity, Dropped, Said, parse_said
from channels.discord.places import DIRECT_WORKSPACE, Spot, channel_of
from channels.discord.rest import DiscordRest
from channels.discord.snowflakes import order_key, us_to_snowflake
from channels.discord.spots import Spots, read_spot
from channels.fields import objects_of, text_of
from geode.errors import SendRateLimitedError
from geode.messages import JsonObject
from geode.ports import CatchUpPlan, CatchUpRoot, CatchUpThread, Clock

log = logging.getLogger(__name__)

WAIT_S_MAX = 60.0
"""A longer wait for the rate limit ends the catch-up; it is run again later."""
WAITS_MAX = 5
CATEGORY_KIND = 4
CATEGORY_AGE_US_MAX = 7 * 86_400_000_000
"""A category has no cursor of its own: its channels are read back no further than this."""


class CatchUp:
    """One run over a plan; every message goes through the front door like a live one."""

    def __init__(
        self,
        rest: DiscordRest,
        spots: Spots,
        door: FrontDoor,
        directs: Directs,
        *,
        identify: Callable[[str], BotIdentity],
        clock: Clock,
    ) -> None:
        self._rest = rest
        self._history = DiscordHistory(rest)
        self._spots = spots
        self._door = door
        self._directs = directs
        self._identify = identify
        self._clock = clock
        self._waits = 0
        self._active: dict[str, list[JsonObject]] = {}
        self._read: set[str] = set()

    async def run(self, plan: CatchUpPlan) -> None:
        """Read every place of the plan; a place that Discord refuses is left out, and logged."""
        named = {root.channel for root in plan.roots}
        after_of = {channel_of(thread.thread): thread.after for thread in plan.threads}
        for root in sorted(plan.roots, key=_begin_of, reverse=True):
            if root.after or root.since_us:
                await self._guard(root.channel, lambda r=root: self._root(r, named, after_of))
        for directs in plan.directs:
            for person in directs.people:
                await self._guard(
                    person, lambda p=person, d=directs: self._direct(p, d.since_us, named)
                )
        for thread in sorted(plan.threads, key=lambda t: order_key(t.after), reverse=True):
            if thread.after:
                channel = channel_of(thread.thread)
                await self._guard(channel, lambda t=thread: self._thread(t))

    async def _guard(self, channel: str, read: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await read()
            except PlatformRefusedError as error:
                log.warning("discord_catch_up_skipped channel=%s reason=%s", channel, error)
                return None
            except SendRateLimitedError as error:
                self._waits += 1
                if self._waits > WAITS_MAX or error.retry_after_s > WAIT_S_MAX:
                    raise
                await self._clock.sleep(error.retry_after_s)

    async def _direct(self, person: str, since_us: int, named: set[str]) -> None:
        """A direct message of which nothing is stored yet: it may have begun while we were away."""
        channel = await self._directs.find(person)
        if channel and channel not in named:
            spot = Spot(channel, "", "direct")
            await self._place(spot, us_to_snowflake(since_us), is_whole=True)

    async def _root(self, root: CatchUpRoot, named: set[str], after_of: dict[str, str]) -> None:
        after = _begin_of_root(root)
        if root.workspace == DIRECT_WORKSPACE:
            await self._place(Spot(root.channel, "", "direct"), after, is_whole=True)
            return
        found = await self._rest.read_channel(root.channel)
        if found.get("type") == CATEGORY_KIND:
            for channel in await self._rest.list_channels(root.workspace):
                spot = read_spot(channel, root.workspace)
                if spot.category == root.channel and spot.id not in named:
                    oldest = us_to_snowflake(self._clock.now_us() - CATEGORY_AGE_US_MAX)
                    begin = max(after, oldest, key=order_key)
                    await self._guard(
                        spot.id, lambda s=spot, b=begin: self._channel(s, b, after_of)
                    )
        else:
            spot = read_spot(found, root.workspace)
            await self._channel(spot, after, after_of, is_whole=True)

    async def _channel(
        self, spot: Spot, after: str, after_of: dict[str, str], *, is_whole: bool = False
    ) -> None:
        """A channel's threads that were written in since, then its own messages.

        In this order: once the channel is confirmed, nobody looks for those threads again.
        """
        for thread in await self._threads_below(spot):
            thread_id = text_of(thread, "id")
            last = text_of(thread, "last_message_id") or thread_id
            if thread_id not in after_of and order_key(last) > order_key(after):
                below = Spot(thread_id, spot.guild, "thread", spot.id, spot.category)
                await self._place(below, after)
        if spot.kind == "channel":
            await self._place(spot, after, is_whole=is_whole)

    async def _threads_below(self, spot: Spot) -> Iterable[JsonObject]:
        if spot.guild not in self._active:
            answer = await self._rest.list_active_threads(spot.guild)
            self._active[spot.guild] = objects_of(answer, "threads")
        below = [t for t in self._active[spot.guild] if text_of(t, "parent_id") == spot.id]
        return sorted(below, key=lambda t: order_key(text_of(t, "id")), reverse=True)

    async def _thread(self, wanted: CatchUpThread) -> None:
        thread = wanted.thread
        guild = "" if thread.workspace == DIRECT_WORKSPACE else thread.workspace
        spot = await self._spots.find(channel_of(thread), guild)
        if spot.kind in ("thread", "direct"):
            await self._place(spot, wanted.after, is_whole=True)

    async def _place(self, spot: Spot, after: str, *, is_whole: bool = False) -> None:
        """Hand a place over, oldest first; `is_whole`: nothing before it is missing."""
        if spot.id in self._read:
            return
        bot = self._identify(spot.guild)
        async for page in self._history.after(spot.id, after):
            for message in page:
                await self._hand_in(parse_said(message, spot, bot), spot)
            if is_whole:
                last = text_of(page[-1], "id")
                await self._door.intake.confirm_read(spot.thread_of(""), order_key(last), last)
        self._read.add(spot.id)

    async def _hand_in(self, said: Said, spot: Spot) -> None:
        if not isinstance(said, Dropped):
            await self._door.take(replace(said, is_catch_up=True), spot)


def _begin_of_root(root: CatchUpRoot) -> str:
    return root.after or us_to_snowflake(root.since_us)


def _begin_of(root: CatchUpRoot) -> str:
    return order_key(_begin_of_root(root))
