"""Reads Slack's history: pages, a sent message by its key, the earlier part of a thread."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from channels.fields import object_of, objects_of, text_of
from channels.quotes import EARLIER_MESSAGES_MAX, last_that_fit
from channels.slack.failures import PlatformRefusedError
from channels.slack.origin import BotIdentity
from channels.slack.parse import quote_message
from channels.slack.stamps import us_to_ts
from geode.errors import ChannelDownError
from geode.messages import JsonObject, Place, QuotedMessage, Thread

log = logging.getLogger(__name__)

PAGE_SIZE = 200
PAGES_MAX = 10
CLOCK_SKEW_US = 600_000_000
"""Our clock may differ from Slack's by this much when a message is searched."""
EVENT_TYPE = "geode_part"


class HistoryTooLongError(ChannelDownError):
    """More was said than is read at once; what was read so far is not all."""

    def __init__(self) -> None:
        super().__init__(f"More than {PAGE_SIZE * PAGES_MAX} messages were said since.")


class Reads(Protocol):
    """Calls methods of the Web API that change nothing."""

    async def read(self, method: str, **fields: str | int | bool) -> JsonObject:
        """The method's answer; raises a `ChannelError` when there is none."""
        ...


class SlackHistory:
    """What was said, as the Web API shows it."""

    def __init__(self, web: Reads) -> None:
        self._web = web

    async def roots(self, channel: str, **bounds: str | bool) -> AsyncIterator[list[JsonObject]]:
        """Pages of a channel's own messages, newest first."""
        fields = {"channel": channel, **bounds}
        async for page in self._pages("conversations.history", "messages", **fields):
            yield page

    async def replies(
        self, channel: str, root_ts: str, **bounds: str | bool
    ) -> AsyncIterator[list[JsonObject]]:
        """Pages of a thread, its root first, oldest first."""
        fields = {"channel": channel, "ts": root_ts, **bounds}
        async for page in self._pages("conversations.replies", "messages", **fields):
            yield page

    async def direct_rooms(self) -> AsyncIterator[list[JsonObject]]:
        """Pages of the direct messages with the bot, each with its person."""
        async for page in self._pages("conversations.list", "channels", types="im"):
            yield page

    async def _pages(
        self, method: str, shown: str, **fields: str | bool
    ) -> AsyncIterator[list[JsonObject]]:
        cursor: dict[str, str] = {}
        for _ in range(PAGES_MAX):
            answer = await self._web.read(method, limit=PAGE_SIZE, **fields, **cursor)
            yield objects_of(answer, shown)
            following = text_of(object_of(answer, "response_metadata"), "next_cursor")
            if not following:
                return
            cursor = {"cursor": following}
        raise HistoryTooLongError

    async def since(self, place: Place, since_us: int) -> AsyncIterator[JsonObject]:
        """Messages of a place since a moment of our clock, metadata included."""
        oldest = us_to_ts(since_us - CLOCK_SKEW_US)
        root, channel = root_of(place), place.thread.channel
        if root:
            pages = self.replies(channel, root, oldest=oldest, include_all_metadata=True)
        else:
            pages = self.roots(channel, oldest=oldest, include_all_metadata=True)
        try:
            async for page in pages:
                for message in page:
                    yield message
        except PlatformRefusedError as error:
            if error.code not in ("thread_not_found", "channel_not_found", "not_in_channel"):
                raise

    async def find_key(self, place: Place, key: str, since_us: int) -> str | None:
        """The time stamp of our message that carries the key, or None when it is not there."""
        async for message in self.since(place, since_us):
            if _key_of(message) == key:
                return text_of(message, "ts")
        return None

    async def read_earlier(
        self, thread: Thread, before: str, bot: BotIdentity
    ) -> Sequence[QuotedMessage]:
        """The last messages people wrote in a thread before that one, oldest first."""
        quotes: list[QuotedMessage] = []
        if thread.thread:
            pages = self.replies(thread.channel, thread.thread, latest=before)
            quotes.extend(_quotes(await collect(pages), bot, before))
        else:
            async for page in self.roots(thread.channel, latest=before):
                quotes.extend(_quotes(page, bot, before))
                if len(quotes) >= EARLIER_MESSAGES_MAX:
                    break
        return last_that_fit(sorted(quotes, key=lambda quote: quote.order_key))


async def collect(pages: AsyncIterator[list[JsonObject]]) -> list[JsonObject]:
    """What all pages hold; of what is too long, as much as is read at once: no proof of an end."""
    found: list[JsonObject] = []
    try:
        async for page in pages:
            found.extend(page)
    except HistoryTooLongError as error:
        log.warning("slack_history_cut reason=%s", error)
    return found


def root_of(place: Place) -> str:
    """The message under which an answer stands; empty for the top of a direct message."""
    return place.thread.thread or place.reply_to


def _key_of(message: JsonObject) -> str:
    metadata = object_of(message, "metadata")
    if text_of(metadata, "event_type") != EVENT_TYPE:
        return ""
    return text_of(object_of(metadata, "event_payload"), "key")


def _quotes(page: list[JsonObject], bot: BotIdentity, before: str) -> list[QuotedMessage]:
    found = [quote_message(message, bot) for message in page]
    return [quote for quote in found if quote is not None and quote.message_id != before]
