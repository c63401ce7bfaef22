"""The real Discord channel, with its real client, against the strict local Discord."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from fakes.discord_intake import DiscordIntake
from fakes.slack_world import NoRedactor

from channels.discord.adapter import DiscordChannel, DiscordTimes, open_channel
from channels.discord.connection import ConnectionTimes
from channels.discord.settings import DiscordSettings
from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import BOT, GENERAL, GUILD
from geode.messages import JsonObject, OutboundBody, Part, Place, Thread
from geode.ports import ChannelContext, Clock, NoFailpoints, SystemClock

QUICK = ConnectionTimes(
    login_s=5.0, down_s=20.0, check_s=0.05, backoff_s_min=0.05, backoff_s_max=0.3, close_s=1.0
)
HELLO = f"<@{BOT}> hello"


@dataclass
class DiscordWorld:
    """A Discord, a channel connected to it, and what the channel handed in."""

    discord: RehearsalDiscord
    channel: DiscordChannel
    intake: DiscordIntake = field(default_factory=DiscordIntake)

    async def wait_for(self, is_so: Callable[[], object], timeout_s: float = 8.0) -> None:
        """Wait until something is observable."""
        await self.discord.wait_for(is_so, timeout_s)

    async def wait_state(self, state: str, timeout_s: float = 8.0) -> None:
        """Wait until the channel says it stands so."""
        await self.wait_for(lambda: self.channel.status().state == state, timeout_s)

    async def ask(self, text: str = HELLO, channel: str = GENERAL) -> Place:
        """A person writes; the place in which an answer belongs."""
        post = await self.discord.say(text, channel=channel)
        await self.wait_for(lambda: any(m.message_id == post.id for m in self.intake.stored))
        (message,) = [m for m in self.intake.stored if m.message_id == post.id]
        return Place(message.thread, message.reply_to)

    def part(self, markdown: str) -> Part:
        """The one part of a short answer."""
        (part,) = self.channel.plan(OutboundBody(markdown))
        return part


def place(thread: str, channel: str = GENERAL) -> Place:
    """A place in the stand-in's server."""
    return Place(Thread("discord", GUILD, channel, thread))


def trusting(discord: RehearsalDiscord) -> AbstractContextManager[None]:
    """Let what connects meanwhile trust the stand-in's authority, as an operator would."""
    return trusting_file(str(discord.ca_path))


async def until(is_so: Callable[[], object], timeout_s: float = 10.0) -> None:
    """Wait until something is observable; raises `TimeoutError`."""
    async with asyncio.timeout(timeout_s):
        while not is_so():  # noqa: ASYNC110 - any observable state, not one event
            await asyncio.sleep(0.01)


@contextmanager
def trusting_file(ca: str) -> Iterator[None]:
    """Let what connects meanwhile trust the authority of a file."""
    before = os.environ.get("SSL_CERT_FILE")
    os.environ["SSL_CERT_FILE"] = ca
    try:
        yield
    finally:
        os.environ.pop("SSL_CERT_FILE")
        if before is not None:
            os.environ["SSL_CERT_FILE"] = before


def make_channel(
    discord: RehearsalDiscord,
    *,
    token: str = "",
    call_s: float = 3.0,
    nonce_s: float = 120.0,
    connection: ConnectionTimes = QUICK,
    clock: Clock | None = None,
) -> DiscordChannel:
    """A channel configured for that Discord and not connected yet."""
    settings = DiscordSettings(proxy=discord.proxy_url)
    context = _context(token or discord.bot_token, clock or SystemClock())
    return open_channel(settings, context, DiscordTimes(call_s, nonce_s, connection))


def make_remote_channel(facts: JsonObject) -> DiscordChannel:
    """A channel configured by what a stand-in in another process said when it was ready."""
    settings = DiscordSettings(proxy=str(facts["proxy"]))
    return open_channel(settings, _context(str(facts["token"]), SystemClock()))


def _context(token: str, clock: Clock) -> ChannelContext:
    return ChannelContext(
        clock=clock,
        redactor=NoRedactor(),
        failpoints=NoFailpoints(),
        secrets={"token": token},
    )


@asynccontextmanager
async def running(channel: DiscordChannel, intake: DiscordIntake) -> AsyncIterator[None]:
    """Run a channel for the length of the block and stop it properly."""
    task = asyncio.create_task(channel.start(intake))
    try:
        yield
    finally:
        await channel.stop()
        async with asyncio.timeout(5):
            await task


@asynccontextmanager
async def discord_world(
    *, call_s: float = 3.0, nonce_s: float = 120.0, clock: Clock | None = None
) -> AsyncIterator[DiscordWorld]:
    """A connected channel."""
    async with RehearsalDiscord() as discord:
        with trusting(discord):
            channel = make_channel(discord, call_s=call_s, nonce_s=nonce_s, clock=clock)
            world = DiscordWorld(discord, channel)
            async with running(world.channel, world.intake):
                await world.wait_state("up")
                yield world
