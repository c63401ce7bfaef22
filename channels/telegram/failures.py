"""What can come of a Bot API call, in the port's words: refused, formatted wrong, wait, unknown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import httpx
from telegram.error import TelegramError

from geode.errors import (
    ChannelDownError,
    ChannelError,
    FileUnavailableError,
    FormatRefusedError,
    PlaceMovedError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnknownError,
)

Result = TypeVar("Result")

UNAUTHORIZED, NOT_FOUND, CONFLICT = 401, 404, 409
TOO_LARGE, TOO_MANY_REQUESTS, SERVER_ERROR = 413, 429, 500
RETRY_AFTER_DEFAULT_S = 5
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
"""Nothing left this machine."""
FORMAT_WORDS = ("can't parse entities", "entity", "message is too long", "message_too_long")
WORDS = {
    "chat not found": "Telegram knows no such chat, or the bot is not in it.",
    "bot was blocked": "The person has blocked the bot.",
    "bot was kicked": "The bot was removed from the chat; add it again.",
    "bot is not a member": "The bot is not in the chat; add it.",
    "not enough rights": "The bot may not write here; ask an admin of the chat.",
    "message thread not found": "The topic is gone.",
    "topic_closed": "The topic is closed.",
    "topic_deleted": "The topic is gone.",
    "entity too large": "The file is too large for Telegram.",
    "message to edit not found": "The message is gone.",
    "message can't be edited": "The message can no longer be changed.",
}


class RefusedCallError(TelegramError):
    """Telegram answered a call with an error, as it stands in the answer."""

    def __init__(
        self, code: int, description: str, retry_after_s: int = 0, migrated_to: str = ""
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.retry_after_s = retry_after_s
        self.migrated_to = migrated_to


class TokenRefusedError(ChannelDownError):
    """Telegram refused the token; nothing works until the operator replaces it."""


class ConflictError(ChannelDownError):
    """Somebody else receives this bot's updates."""


def too_large(bytes_max: int) -> FileUnavailableError:
    """A file that is larger than may be fetched."""
    return FileUnavailableError(
        f"The file is larger than {bytes_max // 1_000_000} MB; please send a smaller one."
    )


class PlatformRefusedError(SendRefusedError):
    """Telegram refused a call for good."""

    def __init__(self, description: str) -> None:
        lowered = description.lower()
        known = next((said for words, said in WORDS.items() if words in lowered), "")
        super().__init__(known or f"Telegram refused the call ({description}).")
        self.description = description
        self.is_unmodified = "message is not modified" in lowered


async def call_telegram(call: Awaitable[Result], *, timeout_s: float, is_write: bool) -> Result:
    """Await one Bot API call and return its result; every failure leaves as a `ChannelError`.

    A write without an answer is `SendUnknownError`; a read without one is `ChannelDownError`.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await call
    except RefusedCallError as error:
        raise _refusal_of(error, is_write=is_write) from error
    except (TelegramError, TimeoutError) as error:
        if isinstance(error.__cause__, UNSENT):
            reason = f"Telegram cannot be reached ({type(error.__cause__).__name__})."
            raise ChannelDownError(reason) from error
        reason = f"Telegram did not answer ({type(error.__cause__ or error).__name__})."
        raise (SendUnknownError(reason) if is_write else ChannelDownError(reason)) from error


def _refusal_of(error: RefusedCallError, *, is_write: bool) -> ChannelError:
    if error.code == TOO_MANY_REQUESTS:
        return SendRateLimitedError(error.retry_after_s or RETRY_AFTER_DEFAULT_S)
    if error.migrated_to:
        return PlaceMovedError(error.migrated_to)
    if error.code in (UNAUTHORIZED, NOT_FOUND):
        return TokenRefusedError(f"Telegram refused the token ({error.description}).")
    if error.code == CONFLICT:
        return ConflictError(f"Telegram hands the updates to somebody else ({error.description}).")
    if error.code >= SERVER_ERROR:
        reason = f"Telegram failed to answer (HTTP {error.code})."
        return SendUnknownError(reason) if is_write else ChannelDownError(reason)
    return _content_refusal(error)


def _content_refusal(error: RefusedCallError) -> ChannelError:
    lowered = error.description.lower()
    if error.code != TOO_LARGE and any(words in lowered for words in FORMAT_WORDS):
        return FormatRefusedError(f"Telegram refused the formatting ({error.description}).")
    return PlatformRefusedError(error.description)
