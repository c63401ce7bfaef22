"""The real Telegram channel, with its real client, against the strict local Telegram."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fakes.slack_world import NoRedactor

from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import BOT_ID, CLUB, FORUM, TOPIC_WORK
from channels.telegram.adapter import TelegramChannel, TelegramTimes, open_channel
from channels.telegram.polling import PollingTimes
from channels.telegram.settings import TelegramSettings
from channels.telegram.webhook import WebhookTimes
from geode.errors import StorageFullError
from geode.messages import (
    ButtonPress,
    ChatCommand,
    Inbound,
    InboundMessage,
    OutboundBody,
    Part,
    Place,
    Thread,
)
from geode.ports import Accepted, ChannelContext, Clock, NoFailpoints, SystemClock

QUICK = PollingTimes(
    poll_s=1,
    album_quiet_s=0.6,
    album_held_s_max=3.0,
    album_check_s=0.05,
    backoff_s_min=0.05,
    backoff_s_max=0.3,
    conflict_tries=2,
    conflict_pause_s=0.05,
    conflict_retry_s=0.2,
    token_retry_s=0.2,
)


QUICK_WEBHOOK = WebhookTimes(check_s=0.2, retry_s=0.2)
SECRET = "a-secret-that-telegram-repeats"


class TelegramIntake:
    """Keeps what was accepted, by dedupe key; `refusals` is how many it refuses to store first."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.commands: list[ChatCommand] = []
        self.presses: list[ButtonPress] = []
        self.answer = Accepted("stored")
        """What every new event comes to."""
        self.strangers: set[str] = set()
        self.asked: list[Inbound] = []
        self.moves: list[tuple[Thread, Thread]] = []
        self.refusals = 0
        self.open = asyncio.Event()
        self.open.set()
        self._seen: set[str] = set()

    async def accept(self, event: Inbound) -> Accepted:
        """Store an event once; raises `StorageFullError` while refusals are left."""
        self.asked.append(event)
        await self.open.wait()
        if self.refusals:
            self.refusals -= 1
            raise StorageFullError("the disk is full")
        if not self.admits(event):
            return Accepted("ignored", "access.stranger")
        if event.dedupe_key in self._seen:
            return Accepted("duplicate")
        self._seen.add(event.dedupe_key)
        if isinstance(event, InboundMessage):
            self.messages.append(event)
        elif isinstance(event, ChatCommand):
            self.commands.append(event)
        else:
            self.presses.append(event)
        return self.answer

    def admits(self, event: Inbound) -> bool:
        """Whether the sender is no stranger."""
        sender = event.presser if isinstance(event, ButtonPress) else event.sender
        return sender.id not in self.strangers

    async def move_place(self, old: Thread, new: Thread) -> None:
        """Note a move; raises `StorageFullError` while refusals are left."""
        if self.refusals:
            self.refusals -= 1
            raise StorageFullError("the disk is full")
        self.moves.append((old, new))

    def mark_catch_up_due(self, channel: str) -> None:
        """Polling is the catch-up."""

    @property
    def texts(self) -> list[str]:
        """The words of what was stored, in order of arrival."""
        return [message.text for message in self.messages]


@dataclass
class TelegramWorld:
    """A Telegram, a channel connected to it, and what the channel handed in."""

    telegram: RehearsalTelegram
    channel: TelegramChannel
    intake: TelegramIntake = field(default_factory=TelegramIntake)

    async def wait_for(self, is_so: Callable[[], object], timeout_s: float = 8.0) -> None:
        """Wait until something is observable."""
        await self.telegram.wait_for(is_so, timeout_s)

    async def wait_state(self, state: str, timeout_s: float = 8.0) -> None:
        """Wait until the channel says it stands so."""
        await self.wait_for(lambda: self.channel.status().state == state, timeout_s)

    async def wait_confirmed(self, timeout_s: float = 8.0) -> None:
        """Wait until Telegram has nothing left to hand over."""
        await self.wait_for(lambda: not self.telegram.queue.waiting, timeout_s)

    def part(self, markdown: str) -> Part:
        """The one part of a short answer."""
        (part,) = self.channel.plan(OutboundBody(markdown))
        return part


def place(topic: int | str = TOPIC_WORK, chat: int = FORUM, reply_to: int = 0) -> Place:
    """A place in the stand-in's town."""
    thread = Thread("telegram", str(BOT_ID), str(chat), str(topic))
    return Place(thread, str(reply_to) if reply_to else "")


def make_channel(
    telegram: RehearsalTelegram,
    times: PollingTimes = QUICK,
    *,
    api_url: str = "",
    call_s: float = 3.0,
    token: str = "",
    clock: Clock | None = None,
    **settings: object,
) -> TelegramChannel:
    """A channel configured for that Telegram and not connected yet."""
    context = ChannelContext(
        clock=clock or SystemClock(),
        redactor=NoRedactor(),
        failpoints=NoFailpoints(),
        secrets={"token": token or telegram.bot_token, "webhook_secret": SECRET},
        places=(place("", CLUB).thread, Thread("telegram", str(BOT_ID), "dm", "")),
    )
    values = {"api_url": api_url or telegram.base_url, **settings}
    made = TelegramSettings.model_validate(values)
    return open_channel(made, context, TelegramTimes(call_s, times, QUICK_WEBHOOK))


@asynccontextmanager
async def running(channel: TelegramChannel, intake: TelegramIntake) -> AsyncIterator[None]:
    """Run a channel for the length of the block and stop it properly."""
    task = asyncio.create_task(channel.start(intake))
    try:
        yield
    finally:
        await channel.stop()
        async with asyncio.timeout(5):
            await task


@asynccontextmanager
async def telegram_world(
    times: PollingTimes = QUICK, *, call_s: float = 3.0, clock: Clock | None = None
) -> AsyncIterator[TelegramWorld]:
    """A connected channel."""
    async with RehearsalTelegram() as telegram:
        world = TelegramWorld(telegram, make_channel(telegram, times, call_s=call_s, clock=clock))
        async with running(world.channel, world.intake):
            await world.wait_state("up")
            yield world
