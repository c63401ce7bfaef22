"""Reads what was said in a place: pages, a message of ours by its words, the earlier part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from channels.discord.failures import GONE_CODES, PlatformRefusedError
from channels.discord.files import is_shown
from channels.discord.parse import BotIdentity, quote_message
from channels.discord.places import channel_of
from channels.discord.render import content_of
from channels.discord.rest import DiscordRest
from channels.discord.snowflakes import order_key, us_to_snowflake
from channels.fields import object_of, text_of
from channels.quotes import EARLIER_MESSAGES_MAX, last_that_fit
from geode.messages import JsonObject, Part, Place, QuotedMessage, Thread

PAGE_SIZE = 100
PAGES_MAX = 200
EARLIER_PAGES_MAX = 3
CLOCK_SKEW_US = 60_000_000
"""Our clock may differ from Discord's by this much when a message is searched."""


class DiscordHistory:
    """What was said, as the REST API shows it."""

    def __init__(self, rest: DiscordRest) -> None:
        self._rest = rest

    async def after(self, channel: str, message: str) -> AsyncIterator[list[JsonObject]]:
        """Pages of what was said after that message, oldest first."""
        last = message
        for _ in range(PAGES_MAX):
            page = await self._rest.list_messages(channel, after=last, limit=PAGE_SIZE)
            page.sort(key=lambda found: order_key(text_of(found, "id")))
            if page:
                yield page
                last = text_of(page[-1], "id")
            if len(page) < PAGE_SIZE:
                return

    async def find_same(
        self, place: Place, nonce: str, part: Part | None, since_us: int, *, author: str
    ) -> str | None:
        """The latest message of ours with the nonce or the words of the part, or None."""
        found: str | None = None
        begin = us_to_snowflake(since_us - CLOCK_SKEW_US)
        try:
            async for page in self.after(channel_of(place.thread), begin):
                for message in page:
                    if text_of(object_of(message, "author"), "id") != author:
                        continue
                    if text_of(message, "nonce") == nonce or _says(message, part):
                        found = text_of(message, "id")
        except PlatformRefusedError as error:
            if error.code not in GONE_CODES:
                raise
        return found

    async def read_earlier(
        self, thread: Thread, before: str, bot: BotIdentity
    ) -> Sequence[QuotedMessage]:
        """What people said in the thread before that message, oldest first, within the limits."""
        quotes: list[QuotedMessage] = []
        last = before
        for _ in range(EARLIER_PAGES_MAX):
            page = await self._rest.list_messages(channel_of(thread), before=last, limit=PAGE_SIZE)
            found = [quote_message(message, bot) for message in page]
            quotes += [quote for quote in found if quote is not None]
            if len(page) < PAGE_SIZE or len(quotes) >= EARLIER_MESSAGES_MAX:
                break
            last = min((text_of(message, "id") for message in page), key=order_key)
        return last_that_fit(sorted(quotes, key=lambda quote: quote.order_key))


def _says(message: JsonObject, part: Part | None) -> bool:
    """Whether the message says what the part says, and shows its file if it has one."""
    if part is None:
        return False
    texts = {content_of(part), content_of(replace(part, payload={}))}
    is_same = text_of(message, "content") in texts
    return is_same and (part.file is None or is_shown(message, part.file))
