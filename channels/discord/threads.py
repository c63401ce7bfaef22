"""Opens the thread of a message before something is said in it; repeating it is harmless."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeVar

from channels.discord.failures import ARCHIVED, THREAD_EXISTS, PlatformRefusedError
from channels.discord.recent import RecentMessages
from channels.discord.rest import DiscordRest
from channels.discord.spots import Spots
from geode.errors import ChannelDownError, ChannelError, FormatRefusedError, SendUnknownError
from geode.messages import Thread
from geode.ports import Redactor

KNOWN_MAX = 5_000
T = TypeVar("T")


class Threads:
    """Which threads are known to stand; a thread's id is known before the thread is."""

    def __init__(
        self, rest: DiscordRest, spots: Spots, recent: RecentMessages, redactor: Redactor
    ) -> None:
        self._rest = rest
        self._spots = spots
        self._recent = recent
        self._redactor = redactor
        self._known: OrderedDict[str, None] = OrderedDict()

    def is_known(self, thread: Thread) -> bool:
        """Whether the place certainly stood a moment ago."""
        here = thread.thread
        return not here or here in self._known or self._spots.is_cached(here)

    async def ensure(self, thread: Thread) -> ChannelError | None:
        """Open the thread unless it stands; the refusal, when it could not be opened.

        A thread that people opened has no message to open it from: Discord then refuses, and what
        is said in it arrives all the same. Raises `ChannelDownError` when nothing is known.
        """
        if self.is_known(thread):
            return None
        name = self._redactor.redact(self._recent.title_of(thread.thread))
        try:
            await self._rest.open_thread(thread.channel, thread.thread, name)
        except SendUnknownError as error:
            # Nothing of the message was sent, and opening is repeated without harm.
            raise ChannelDownError(str(error)) from error
        except (PlatformRefusedError, FormatRefusedError) as error:
            if not isinstance(error, PlatformRefusedError) or error.code != THREAD_EXISTS:
                return error
        self._note(thread.thread)
        return None

    async def speak(self, thread: Thread, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call in the thread; one that is archived is opened again first."""
        try:
            return await call()
        except PlatformRefusedError as error:
            if error.code != ARCHIVED or not thread.thread:
                raise
        await self._rest.reopen_thread(thread.thread)
        return await call()

    def note_spoken(self, thread: Thread) -> None:
        """Something was said there, so it stands."""
        if thread.thread:
            self._note(thread.thread)

    def _note(self, thread: str) -> None:
        self._known[thread] = None
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
