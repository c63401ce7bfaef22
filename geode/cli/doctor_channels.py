"""What `geode doctor` hears from each platform: its tokens, its rights, the bound places."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from geode.errors import ChannelError
from geode.ports import Channel, ChannelContext, Finding, NoFailpoints, SystemClock
from geode.reply.redaction import Redactor
from geode.roster import Opening, open_channel
from geode.settings import Settings

ASK_S = 60.0


def open_channels(
    openings: Mapping[str, Opening], settings: Settings, redactor: Redactor
) -> dict[str, Channel]:
    """Build them all before any is asked: their libraries take a while to load."""
    context = ChannelContext(SystemClock(), redactor, NoFailpoints())
    return {
        name: open_channel(name, opening, context, settings.bindings)
        for name, opening in openings.items()
    }


async def ask_channel(channel: Channel) -> Sequence[Finding]:
    """Everything one platform says; what cannot be asked is a finding of its own."""
    try:
        async with asyncio.timeout(ASK_S):
            return await channel.diagnose()
    except ChannelError as error:
        return (Finding("fault", "network", str(error)),)
    except TimeoutError:
        return (Finding("fault", "network", f"It did not answer within {ASK_S:g} s."),)
