"""What can come of a Web API call, in the port's words: refused, formatted wrong, wait, unknown."""

# The SDK's answers are dicts without types; they are read through channels.fields.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from channels.fields import text_of, to_object
from geode.errors import (
    ChannelDownError,
    ChannelError,
    FormatRefusedError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnknownError,
)
from geode.messages import JsonObject

SERVER_ERROR = 500
TOO_MANY_REQUESTS = 429
RETRY_AFTER_DEFAULT_S = 30.0

TOKEN_CODES = frozenset(
    {
        "invalid_auth",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "not_authed",
        "not_allowed_token_type",
        "no_permission",
        "missing_scope",
        "org_login_required",
        "ekm_access_denied",
        "two_factor_setup_required",
        "team_access_not_granted",
        "access_denied",
    }
)
FORMAT_CODES = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_blocks_too_long",
        "msg_too_long",
        "block_mismatch",
        "blocks_too_long",
        "invalid_attachments",
        "markdown_text_conflict",
        "no_text",
    }
)
UNKNOWN_CODES = frozenset(
    {
        "internal_error",
        "fatal_error",
        "service_unavailable",
        "request_timeout",
    }
)
WORDS = {
    "channel_not_found": "Slack knows no such channel, or the bot may not see it.",
    "not_in_channel": "The bot is not in this channel; invite it.",
    "is_archived": "The channel is archived.",
    "thread_not_found": "The thread is gone.",
    "message_not_found": "The message is gone.",
    "cant_update_message": "The message is not ours to change.",
    "edit_window_closed": "The workspace no longer lets this message be changed.",
    "restricted_action": "The workspace does not let the bot post here.",
}


class TokenRefusedError(ChannelDownError):
    """Slack refused a token; nothing works until the operator replaces it."""

    def __init__(self, code: str) -> None:
        super().__init__(f"Slack refused the token ({code}).")
        self.code = code


class PlatformRefusedError(SendRefusedError):
    """Slack refused a call for good, with the code it gave."""

    def __init__(self, code: str) -> None:
        super().__init__(WORDS.get(code, f"Slack refused the call ({code})."))
        self.code = code


async def call_slack(
    call: Awaitable[AsyncSlackResponse], *, timeout_s: float, is_write: bool
) -> JsonObject:
    """Await one Web API call and return its answer; every failure leaves as a `ChannelError`.

    A write without an answer is `SendUnknownError`; a read without one is `ChannelDownError`.
    """
    try:
        async with asyncio.timeout(timeout_s):
            response = await call
    except SlackApiError as error:
        raise _failure_of(error, is_write=is_write) from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise ChannelDownError(f"Slack cannot be reached: {error}.") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        reason = f"Slack did not answer ({type(error).__name__})."
        raise (SendUnknownError(reason) if is_write else ChannelDownError(reason)) from error
    return to_object(response.data)


def _failure_of(error: SlackApiError, *, is_write: bool) -> ChannelError:
    status, code, retry_after = _read_refusal(error)
    if status == TOO_MANY_REQUESTS or code in ("ratelimited", "rate_limited"):
        return SendRateLimitedError(retry_after)
    if code in TOKEN_CODES:
        return TokenRefusedError(code)
    if code in FORMAT_CODES:
        return FormatRefusedError(f"Slack refused the formatting ({code}).")
    if not code or code in UNKNOWN_CODES or status >= SERVER_ERROR:
        # Slack says of these that part of the work may have been done.
        reason = f"Slack failed to answer ({code or f'HTTP {status}'})."
        return SendUnknownError(reason) if is_write else ChannelDownError(reason)
    return PlatformRefusedError(code)


def _read_refusal(error: SlackApiError) -> tuple[int, str, float]:
    response: object = error.response
    if not isinstance(response, AsyncSlackResponse):
        return 0, "", RETRY_AFTER_DEFAULT_S
    answer = to_object(response.data)
    return int(response.status_code), text_of(answer, "error"), _retry_after(response)


def _retry_after(response: AsyncSlackResponse) -> float:
    written = str(response.headers.get("Retry-After", ""))
    return float(written) if written.isdecimal() else RETRY_AFTER_DEFAULT_S
