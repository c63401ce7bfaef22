"""Asks one platform on behalf of `geode setup`, with a channel that is opened and never started."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from geode.errors import ChannelDownError
from geode.guides import FoundPlace, SetupGuide
from geode.messages import OutboundBody, Place, Thread
from geode.ports import Channel, ChannelContext, Finding, NoFailpoints, SystemClock
from geode.reply.redaction import Redactor
from geode.roster import Opening, open_channel

T = TypeVar("T")

ASK_S = 60.0
KEY = "geode-setup"


class Probe:
    """One platform with the secrets that were just answered; each call raises `ChannelError`."""

    def __init__(self, name: str, opening: Opening, redactor: Redactor) -> None:
        self._name = name
        self._opening = opening
        self._redactor = redactor

    def guide(self) -> SetupGuide:
        """What to do on the platform first."""

        async def ask(channel: Channel) -> SetupGuide:
            return channel.guide()

        return self._run(ask, ASK_S)

    def diagnose(self) -> Sequence[Finding]:
        """What works and what is missing."""
        return self._run(lambda channel: channel.diagnose(), ASK_S)

    def discover(self, wait_s: float) -> Sequence[FoundPlace]:
        """The places that could be served."""
        return self._run(lambda channel: channel.discover(wait_s), wait_s + ASK_S)

    def send(self, place: Thread, words: str) -> None:
        """Post one message there."""

        async def post(channel: Channel) -> None:
            for number, part in enumerate(channel.plan(OutboundBody(words))):
                await channel.send(Place(place), part, f"{KEY}-{number}")

        self._run(post, ASK_S)

    def _run(self, use: Callable[[Channel], Awaitable[T]], timeout_s: float) -> T:
        return asyncio.run(self._use(use, timeout_s))

    async def _use(self, use: Callable[[Channel], Awaitable[T]], timeout_s: float) -> T:
        context = ChannelContext(SystemClock(), self._redactor, NoFailpoints())
        channel = open_channel(self._name, self._opening, context, ())
        try:
            async with asyncio.timeout(timeout_s):
                return await use(channel)
        except TimeoutError as error:
            raise ChannelDownError(f"It did not answer within {timeout_s:g} s.") from error
        finally:
            await channel.stop()
