"""What can come of a REST call, in the port's words: refused, formatted wrong, wait, unknown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import aiohttp
import discord

from geode.errors import (
    ChannelDownError,
    ChannelError,
    FormatRefusedError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnknownError,
)

UNAUTHORIZED, TOO_MANY_REQUESTS, SERVER_ERROR = 401, 429, 500
FIREWALL_WAIT_S = 60.0

UNKNOWN_CHANNEL, UNKNOWN_MESSAGE = 10003, 10008
MISSING_ACCESS, MISSING_PERMISSIONS = 50001, 50013
WRONG_KIND, NO_TEXT_CHANNEL = 50024, 50008
THREAD_EXISTS, ARCHIVED, LOCKED = 160004, 50083, 160005
UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, TOKEN_INVALID = 10015, 10062, 50027
ALREADY_ANSWERED = 40060
EXPIRED_CODES = frozenset({UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, TOKEN_INVALID})
"""An interaction that can no longer be answered."""
TOO_LARGE = 40005
PAYLOAD_TOO_LARGE = 413
GONE_CODES = frozenset({UNKNOWN_CHANNEL, UNKNOWN_MESSAGE})
FORMAT_CODES = frozenset({50006, 50035})
WORDS = {
    UNKNOWN_CHANNEL: "The channel or thread is gone, or the bot may not see it.",
    UNKNOWN_MESSAGE: "The message is gone.",
    50005: "The message is not ours to change.",
    50007: "This person takes no direct messages from the bot.",
    30013: "Discord lets nobody open more direct messages for now.",
    30033: "The thread holds as many people as Discord allows.",
    30046: "The message was edited too often; Discord lets nobody edit it for an hour.",
    TOO_LARGE: "The file is larger than Discord takes; send a smaller one.",
    40333: "The request never reached Discord; the proxy or the network refused it.",
    ARCHIVED: "The thread is archived (50083); somebody who may manage threads must open it again.",
    LOCKED: (
        "The thread is locked (160005); unlock it, or give the bot's role Manage Threads there."
    ),
    UNKNOWN_INTERACTION: "The interaction is over.",
    160006: "The server has as many active threads as Discord allows; archive some.",
    200000: "The server's automatic moderation blocked the message.",
    MISSING_ACCESS: (
        "The bot may not see this channel (50001); give its role View Channel "
        "and Read Message History there."
    ),
}
PERMISSIONS = "Send Messages, Create Public Threads, Send Messages in Threads and Add Reactions"


class TokenRefusedError(ChannelDownError):
    """Discord refused the token; nothing works until the operator replaces it."""


class PlatformRefusedError(SendRefusedError):
    """Discord refused a call for good, with the code it gave."""

    def __init__(self, code: int, said: str = "", needs: str = "") -> None:
        words = WORDS.get(code, f"Discord refused the call ({code} {said}).")
        if code == MISSING_PERMISSIONS:
            words = (
                "The bot lacks a permission here (50013); "
                f"give its role {needs or PERMISSIONS} in this channel."
            )
        super().__init__(words)
        self.code = code


async def call_discord(
    call: Awaitable[Any], *, timeout_s: float, is_write: bool, needs: str = ""
) -> Any:
    """Await one REST call and return its JSON; every failure leaves as a `ChannelError`.

    `needs` is the permission that the call takes, for whoever must give it. A write without an
    answer is `SendUnknownError`; a read without one is `ChannelDownError`.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await call
    except discord.RateLimited as error:
        raise SendRateLimitedError(error.retry_after) from error
    except discord.HTTPException as error:
        raise _failure_of(error, needs, is_write=is_write) from error
    except (
        aiohttp.ClientConnectorError,
        aiohttp.ClientHttpProxyError,
        aiohttp.ConnectionTimeoutError,
    ) as error:
        raise ChannelDownError(f"Discord cannot be reached: {error}.") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        reason = f"Discord did not answer ({type(error).__name__})."
        raise (SendUnknownError(reason) if is_write else ChannelDownError(reason)) from error


def _failure_of(error: discord.HTTPException, needs: str, *, is_write: bool) -> ChannelError:
    if error.status == UNAUTHORIZED and error.code != TOKEN_INVALID:
        return TokenRefusedError("Discord refused the token.")
    if error.status == TOO_MANY_REQUESTS:
        # The library waits out an ordinary one: this is the firewall before Discord.
        return SendRateLimitedError(FIREWALL_WAIT_S)
    if error.status >= SERVER_ERROR:
        reason = f"Discord failed to answer (HTTP {error.status})."
        return SendUnknownError(reason) if is_write else ChannelDownError(reason)
    if error.code in FORMAT_CODES:
        return FormatRefusedError(f"Discord refused the formatting ({error.code}).")
    if error.status == PAYLOAD_TOO_LARGE:
        return PlatformRefusedError(TOO_LARGE)
    return PlatformRefusedError(error.code, error.text, needs)
