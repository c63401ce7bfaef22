"""Reads back what was missed: roots since the cursor, then active threads, newest first."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from channels.fields import text_of
from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.history import SlackHistory, collect
from channels.slack.parse import (
    BotIdentity,
    Dropped,
    Origin,
    is_direct_channel,
    order_key,
    parse_message,
    us_to_ts,
)
from geode.errors import SendRateLimitedError
from geode.messages import JsonObject
from geode.ports import CatchUpPlan, CatchUpRoot, CatchUpThread, Clock, Intake

log = logging.getLogger(__name__)

WAIT_S_MAX = 60.0
"""A longer wait for the rate limit ends the catch-up; it is run again later."""
WAITS_MAX = 5
MISSING_SCOPE = "missing_scope"
"""The token is good, but not for this kind of place."""


class CatchUp:
    """One run over a plan; every message goes through the front door like a live one."""

    def __init__(
        self, history: SlackHistory, bot: BotIdentity, intake: Intake, clock: Clock
    ) -> None:
        self._history = history
        self._bot = bot
        self._intake = intake
        self._clock = clock
        self._waits = 0
        self._threads_read: set[tuple[str, str]] = set()

    async def run(self, plan: CatchUpPlan) -> None:
        """Read every place of the plan; a place that Slack refuses is left out, and logged."""
        for root in sorted(plan.roots, key=_begin_of, reverse=True):
            if root.after or root.since_us:
                await self._read_place(root.channel, lambda root=root: self._read_roots(root))
        for thread in sorted(plan.threads, key=lambda t: order_key(t.after), reverse=True):
            if thread.after:
                await self._read_place(
                    thread.thread.channel, lambda thread=thread: self._read_thread(thread)
                )

    async def _read_place(self, channel: str, read: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await read()
            except (PlatformRefusedError, TokenRefusedError) as error:
                if isinstance(error, TokenRefusedError) and error.code != MISSING_SCOPE:
                    raise
                log.warning("slack_catch_up_skipped channel=%s reason=%s", channel, error)
                return None
            except SendRateLimitedError as error:
                self._waits += 1
                if self._waits > WAITS_MAX or error.retry_after_s > WAIT_S_MAX:
                    raise
                await self._clock.sleep(error.retry_after_s)

    async def _read_roots(self, root: CatchUpRoot) -> None:
        after = root.after or us_to_ts(root.since_us)
        messages = await collect(self._history.roots(root.channel, oldest=after))
        for message in list(messages):
            if order_key(text_of(message, "latest_reply") or "0") > order_key(after):
                messages.extend(await self._replies(root.channel, text_of(message, "ts"), after))
        await self._accept_all(messages, root.workspace, root.channel)

    async def _read_thread(self, wanted: CatchUpThread) -> None:
        thread = wanted.thread
        if not thread.thread:
            # A direct message is one thread, kept where a channel keeps its roots.
            return await self._read_roots(
                CatchUpRoot(thread.workspace, thread.channel, wanted.after)
            )
        if (thread.channel, thread.thread) in self._threads_read:
            return None
        messages = await self._replies(thread.channel, thread.thread, wanted.after)
        return await self._accept_all(messages, thread.workspace, thread.channel)

    async def _replies(self, channel: str, root_ts: str, after: str) -> list[JsonObject]:
        found = await collect(self._history.replies(channel, root_ts, oldest=after))
        self._threads_read.add((channel, root_ts))
        return [m for m in found if order_key(text_of(m, "ts") or "0") > order_key(after)]

    async def _accept_all(self, messages: list[JsonObject], team: str, channel: str) -> None:
        origin = Origin(team, channel, is_direct=is_direct_channel(channel))
        unique = {text_of(message, "ts"): message for message in messages}
        for ts in sorted(unique, key=order_key):
            parsed = parse_message(unique[ts], origin, self._bot)
            if not isinstance(parsed, Dropped):
                await self._intake.accept(replace(parsed, is_catch_up=True))


def _begin_of(root: CatchUpRoot) -> str:
    return order_key(root.after or us_to_ts(root.since_us))
