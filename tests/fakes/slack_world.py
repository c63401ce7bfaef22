"""The real Slack channel, with its real client, against the strict local Slack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fakes.slack_intake import MemoryIntake

from channels.rehearsal.slack import RehearsalSlack
from channels.slack.adapter import SlackChannel, SlackTimes, open_channel
from channels.slack.settings import SlackSettings
from channels.slack.socket import SocketTimes
from geode.messages import OutboundBody, Part, Place, Thread
from geode.ports import ChannelContext, NoFailpoints, SystemClock

QUICK = SocketTimes(
    connect_s=2.0,
    hello_s=0.5,
    ping_s=3.0,
    quiet_s=60.0,
    check_s=0.02,
    backoff_s_min=0.05,
    backoff_s_max=0.4,
    stable_s=30.0,
    token_retry_s=0.3,
    drain_s=1.0,
    close_s=0.3,
)
TEAM = "T0REHEARSAL"


class NoRedactor:
    """Leaves every text as it is."""

    def redact(self, text: str) -> str:
        """The text."""
        return text

    def take_out(self, text: str) -> str:
        """The text."""
        return text


@dataclass
class SlackWorld:
    """A Slack, a channel connected to it, and what the channel handed in."""

    slack: RehearsalSlack
    channel: SlackChannel
    intake: MemoryIntake = field(default_factory=MemoryIntake)

    async def wait_for(self, is_so: Callable[[], object], timeout_s: float = 8.0) -> None:
        """Wait until something is observable."""
        await self.slack.wait_for(is_so, timeout_s)

    async def wait_state(self, state: str, timeout_s: float = 8.0) -> None:
        """Wait until the channel says it stands so."""
        await self.wait_for(lambda: self.channel.status().state == state, timeout_s)

    async def ask(self, text: str = "<@UBOT> hello", thread_ts: str = "") -> Place:
        """A person writes; the place in which an answer belongs."""
        post = await self.slack.say(text, thread_ts=thread_ts)
        await self.wait_for(lambda: any(m.message_id == post.ts for m in self.intake.stored))
        return place(post.thread_ts or post.ts)

    def part(self, markdown: str) -> Part:
        """The one part of a short answer."""
        (part,) = self.channel.plan(OutboundBody(markdown))
        return part

    def socket(self, name: str) -> int:
        """One of the stand-in's socket counters."""
        return self.slack.hub.counters[name]


def place(root_ts: str, channel: str = "C0GENERAL", reply_to: str = "") -> Place:
    """A place in the stand-in's team."""
    return Place(Thread("slack", TEAM, channel, root_ts), reply_to)


def make_channel(
    slack: RehearsalSlack, times: SocketTimes = QUICK, *, api_url: str = "", call_s: float = 3.0
) -> SlackChannel:
    """A channel configured for that Slack and not connected yet."""
    context = ChannelContext(
        clock=SystemClock(),
        redactor=NoRedactor(),
        failpoints=NoFailpoints(),
        secrets={"bot_token": slack.bot_token, "app_token": slack.app_token},
    )
    settings = SlackSettings(api_url=api_url or slack.base_url)
    return open_channel(settings, context, SlackTimes(call_s=call_s, socket=times))


@asynccontextmanager
async def running(channel: SlackChannel, intake: MemoryIntake) -> AsyncIterator[None]:
    """Run a channel for the length of the block and stop it properly."""
    task = asyncio.create_task(channel.start(intake))
    try:
        yield
    finally:
        await channel.stop()
        async with asyncio.timeout(5):
            await task


@asynccontextmanager
async def slack_world(
    times: SocketTimes = QUICK, *, ack_deadline_s: float = 0.5, call_s: float = 3.0
) -> AsyncIterator[SlackWorld]:
    """A connected channel."""
    async with RehearsalSlack(ack_deadline_s=ack_deadline_s) as slack:
        world = SlackWorld(slack, make_channel(slack, times, call_s=call_s))
        async with running(world.channel, world.intake):
            await world.wait_state("up")
            yield world
