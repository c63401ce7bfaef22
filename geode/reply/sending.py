"""One platform call for one part, with everything that can come of it named."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TypeAlias

from geode.errors import (
    ChannelDownError,
    ChannelError,
    FormatRefusedError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnfindableError,
)
from geode.log import get_logger
from geode.messages import Part, Place
from geode.ports import Channel

log = get_logger(__name__)

SEND_TIMEOUT_S = 30.0
UPLOAD_TIMEOUT_S = 75.0
"""Less than a delivery's lease, which is renewed before and after."""
PLAIN_CHARS_MAX = 1_500
"""Of one part of a text that could not be rendered; within every platform's limit."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The platform has the message under this id."""

    message_id: str
    was_found: bool = False
    """It was not sent now but found there after an unknown outcome."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The platform will never take it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing more can be done now; try again after so many seconds (None: back off)."""

    seconds: float | None
    reason: str
    is_unsent: bool
    """The part is certainly not there, so it may be sent without looking for it first."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may or may not be there."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unfindable:
    """Nobody can ever tell whether it is there."""


@dataclass(frozen=True, slots=True)
class Doubtful:
    """It was sent once more already, and still nobody can tell: it is left as it is."""

    reason: str


Outcome: TypeAlias = Sent | Refused | Wait | Unknown
Settled: TypeAlias = Sent | Refused | Doubtful
"""What ends a part."""


def split_plain(text: str) -> tuple[Part, ...]:
    """The parts of a text that its channel could not render: plain, whole, at least one."""
    starts = range(0, len(text), PLAIN_CHARS_MAX)
    parts = tuple(Part({}, text[start : start + PLAIN_CHARS_MAX]) for start in starts)
    return parts or (Part({}, "(no text)"),)


async def upload_part(
    channel: Channel, place: Place, part: Part, content: bytes, key: str
) -> Outcome:
    """Send a file with its caption once."""
    sending = channel.upload(place, part, content, key)
    outcome = await _try_once(channel, sending, UPLOAD_TIMEOUT_S)
    return outcome or Refused("the platform refused the caption's formatting")


async def send_part(channel: Channel, place: Place, part: Part, *, edits: str, key: str) -> Outcome:
    """Send or edit once; a formatting refusal is tried once more as plain text."""
    for tried in (part, Part(payload={}, plain=part.plain)):
        sending = _edit(channel, place, edits, tried) if edits else channel.send(place, tried, key)
        outcome = await _try_once(channel, sending, SEND_TIMEOUT_S)
        if outcome is not None:
            return outcome
    return Refused("the platform refused the formatting and the plain text")


async def _edit(channel: Channel, place: Place, message_id: str, part: Part) -> str:
    await channel.edit(place, message_id, part)
    return message_id


async def _try_once(
    channel: Channel, sending: Coroutine[object, object, str], timeout_s: float
) -> Outcome | None:
    try:
        async with asyncio.timeout(timeout_s):
            return Sent(await sending)
    except FormatRefusedError:
        return None
    except (ChannelError, TimeoutError) as error:
        return _outcome_of(error)
    except Exception as error:  # boundary: delivery
        log.exception("send_failed", channel=channel.name)
        return Unknown(f"the channel failed ({type(error).__name__})")


def _outcome_of(error: ChannelError | TimeoutError) -> Outcome:
    match error:
        case SendRefusedError():
            return Refused(str(error))
        case SendRateLimitedError():
            return Wait(error.retry_after_s, str(error), is_unsent=True)
        case ChannelDownError():
            return Wait(None, str(error), is_unsent=True)
        case _:
            return Unknown(str(error) or "no answer in time")


async def find_part(
    channel: Channel, place: Place, part: Part, *, key: str, since_us: int
) -> Sent | Wait | Unfindable | None:
    """Look for a part whose outcome is unknown; None when it may be sent without harm."""
    try:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            found = await channel.find_sent(place, key, since_us, part)
    except SendUnfindableError:
        return Unfindable()
    except SendRateLimitedError as error:
        return Wait(error.retry_after_s, str(error), is_unsent=False)
    except (ChannelError, TimeoutError) as error:
        return Wait(None, str(error) or "the platform did not answer", is_unsent=False)
    except Exception as error:  # boundary: delivery
        log.exception("find_failed", channel=channel.name)
        return Wait(None, f"the channel failed ({type(error).__name__})", is_unsent=False)
    return Sent(found, was_found=True) if found else None
