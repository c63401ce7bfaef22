"""Reads back what was missed: roots since the cursor, then active threads, newest place first.

A place is confirmed as far as it was handed over, oldest message first, so a run that is cut short
is gone on with where it stopped.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from channels.fields import text_of
from channels.slack.backlog import OutOfCallsError, PatientReads, read_stretches
from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.history import Reads, SlackHistory, collect
from channels.slack.origin import (
    PLATFORM,
    BotIdentity,
    Dropped,
    Origin,
    is_direct_channel,
    read_ours,
)
from channels.slack.parse import parse_said
from channels.slack.stamps import order_key, ts_to_us, us_to_ts
from geode.messages import JsonObject, Thread
from geode.ports import CatchUpDirects, CatchUpPlan, CatchUpRoot, CatchUpThread, Clock, Intake

log = logging.getLogger(__name__)

MISSING_SCOPE = "missing_scope"
"""The token is good, but not for this kind of place."""
LOOK_BACK_US = 7 * 86_400_000_000
LOOK_BACK_PAGES = 3
LOOK_BACK_THREADS = 50
"""Threads under roots that were confirmed before are looked at within these bounds."""


class CatchUp:
    """One run over a plan; every message goes through the front door like a live one."""

    def __init__(self, web: Reads, bot: BotIdentity, intake: Intake, clock: Clock) -> None:
        self._reads = PatientReads(web, clock)
        self._history = SlackHistory(self._reads)
        self._bot = bot
        self._intake = intake
        self._begins: dict[Thread, str] = {}
        self._threads_read: set[Thread] = set()
        self._unfinished: list[str] = []

    async def run(self, plan: CatchUpPlan) -> None:
        """Read every place of the plan; a place that Slack refuses is left out, and logged.

        Raises `OutOfCallsError` at the end when a place has more to read.
        """
        self._begins = {thread.thread: thread.after for thread in plan.threads}
        roots = list(plan.roots)
        for directs in plan.directs:
            await self._read_place("dm", partial(self._find_directs, directs, roots))
        for root in sorted(roots, key=_begin_of, reverse=True):
            if root.after or root.since_us:
                await self._read_place(root.channel, partial(self._read_root, root))
        for thread in sorted(plan.threads, key=lambda t: order_key(t.after), reverse=True):
            if thread.after:
                await self._read_place(thread.thread.channel, partial(self._read_thread, thread))
        if self._unfinished:
            log.info("slack_catch_up_unfinished channels=%s", sorted(set(self._unfinished)))
            raise OutOfCallsError

    async def _read_place(self, channel: str, read: Callable[[], Awaitable[None]]) -> None:
        self._reads.begin_place()
        try:
            await read()
        except OutOfCallsError:
            self._unfinished.append(channel)
        except (PlatformRefusedError, TokenRefusedError) as error:
            if isinstance(error, TokenRefusedError) and error.code != MISSING_SCOPE:
                raise
            log.warning("slack_catch_up_skipped channel=%s reason=%s", channel, error)

    async def _find_directs(self, directs: CatchUpDirects, roots: list[CatchUpRoot]) -> None:
        """Add the direct messages of these people in which nothing was stored yet."""
        known = {root.channel for root in roots}
        for room in await collect(self._history.direct_rooms()):
            channel = text_of(room, "id")
            if text_of(room, "user") in directs.people and channel not in known:
                roots.append(CatchUpRoot(directs.workspace, channel, "", directs.since_us))

    async def _read_root(self, root: CatchUpRoot) -> None:
        place = Thread(PLATFORM, root.workspace, root.channel, "")
        after = root.after or us_to_ts(root.since_us)
        try:
            await self._look_back(place, after)
        except OutOfCallsError:
            log.warning("slack_look_back_cut channel=%s", root.channel)
        self._reads.begin_place()
        pages = partial(self._history.roots, root.channel)
        async for stretch in read_stretches(pages, after):
            await self._take_roots(place, stretch)

    async def _take_roots(self, place: Thread, stretch: Sequence[JsonObject]) -> None:
        """Hand roots over, each followed by its replies; what was handed over is confirmed."""
        waiting: list[JsonObject] = []
        for root in stretch:
            waiting.append(root)
            if text_of(root, "latest_reply"):
                await self._accept_all(place, waiting)
                waiting.clear()
                ts = text_of(root, "ts")
                await self._read_replies(replace(place, thread=ts), ts)
                await self._confirm(place, root)
        await self._accept_all(place, waiting)
        if waiting:
            await self._confirm(place, waiting[-1])

    async def _look_back(self, place: Thread, after: str) -> None:
        """Read what was said since then below older roots, where the agent may be new.

        Within bounds, the latest first: a thread that the agent follows has a floor of its own.
        """
        found = await self._list_used(place, after)
        if len(found) > LOOK_BACK_THREADS:
            log.warning("slack_look_back_cut channel=%s threads=%s", place.channel, len(found))
        for ts in found[:LOOK_BACK_THREADS]:
            thread = replace(place, thread=ts)
            begin = self._begins.get(thread)
            if begin is None:
                await self._read_replies(thread, after, is_whole=False)
            else:
                await self._read_replies(thread, min(begin, after, key=order_key))

    async def _list_used(self, place: Thread, after: str) -> list[str]:
        """Roots up to that moment with replies behind it, the latest used first."""
        begin_us, pages_read = ts_to_us(after) - LOOK_BACK_US, 0
        used: list[tuple[str, str]] = []
        async for page in self._history.roots(place.channel, latest=after, inclusive=True):
            pages_read += 1
            for root in page:
                latest = order_key(text_of(root, "latest_reply") or "0")
                if latest > order_key(after):
                    used.append((latest, text_of(root, "ts")))
            is_done = not page or ts_to_us(text_of(page[-1], "ts")) < begin_us
            if is_done or pages_read == LOOK_BACK_PAGES:
                break
        return [ts for _, ts in sorted(used, reverse=True)]

    async def _read_thread(self, wanted: CatchUpThread) -> None:
        if wanted.thread not in self._threads_read:
            await self._read_replies(wanted.thread, wanted.after)

    async def _read_replies(self, thread: Thread, after: str, *, is_whole: bool = True) -> None:
        """Hand over a thread from there on; `is_whole`: nothing before it is missing."""
        pages = partial(self._history.replies, thread.channel, thread.thread)
        try:
            async for stretch in read_stretches(pages, after):
                await self._accept_all(thread, stretch)
                if is_whole:
                    await self._confirm(thread, stretch[-1])
        except PlatformRefusedError as error:
            if error.code != "thread_not_found":
                raise
        self._threads_read.add(thread)

    async def _confirm(self, place: Thread, last: JsonObject) -> None:
        ts = text_of(last, "ts")
        await self._intake.confirm_read(place, order_key(ts), ts)

    async def _accept_all(self, place: Thread, messages: Sequence[JsonObject]) -> None:
        direct = is_direct_channel(place.channel)
        ours = read_ours({}, self._bot)
        origin = Origin(place.workspace, place.channel, is_direct=direct, ours=ours)
        for message in messages:
            parsed = parse_said(message, origin, self._bot)
            if not isinstance(parsed, Dropped):
                # Nobody waits for a command's answer any more; what it changes still counts.
                await self._intake.accept(replace(parsed, is_catch_up=True))


def _begin_of(root: CatchUpRoot) -> str:
    return order_key(root.after or us_to_ts(root.since_us))
