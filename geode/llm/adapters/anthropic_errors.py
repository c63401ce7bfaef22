"""Which of our eight kinds an Anthropic failure is: one pure table over type, status and words."""

from __future__ import annotations

import math
from email.utils import parsedate_to_datetime

from geode.llm.errors import (
    BadRequest,
    Billing,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
    Refused,
    Unauthorised,
    Unavailable,
)

PROVIDER = "Anthropic"
RETRY_AFTER_S_MAX = 86_400.0

_CONTEXT_WORDS = (
    "prompt is too long",
    "context window",
    "context limit",
    "context length",
    "too many total text bytes",
    "input is too long",
)
_BILLING_WORDS = ("credit balance", "billing", "spend limit", "purchase credits", "payment")
_POLICY_WORDS = ("content filtering policy", "usage policy", "usage policies")

_KINDS: dict[str, type[ProviderError]] = {
    "overloaded_error": Overloaded,
    "api_error": Overloaded,
    "timeout_error": Overloaded,
    "rate_limit_error": RateLimited,
    "authentication_error": Unauthorised,
    "permission_error": Unauthorised,
    "billing_error": Billing,
    "request_too_large": ContextOverflow,
    "not_found_error": BadRequest,
    "invalid_request_error": BadRequest,
}
_STATUSES: dict[int, type[ProviderError]] = {
    400: BadRequest,
    401: Unauthorised,
    402: Billing,
    403: Unauthorised,
    404: BadRequest,
    408: Unavailable,
    409: Unavailable,
    413: ContextOverflow,
    425: Unavailable,
    429: RateLimited,
}


def classify_failure(
    status: int, kind: str, message: str, retry_after_s: float | None = None
) -> ProviderError:
    """The classified error; `status` is 200 for an error event inside an open stream.

    The type inside the body says more than the status, and a few words say more than both: an
    exhausted credit or a too long prompt arrives as an ordinary invalid request.
    """
    found = _KINDS.get(kind) or _by_status(status)
    if found in {BadRequest, RateLimited, Unauthorised}:
        found = _by_words(message.lower(), found)
    detail = message or kind or f"status {status}"
    if found is RateLimited or found is Overloaded:
        return found(retry_after_s, provider=PROVIDER, detail=detail)
    return found(provider=PROVIDER, detail=detail)


def _by_status(status: int) -> type[ProviderError]:
    if status in _STATUSES:
        return _STATUSES[status]
    # In an open stream (200) an unknown type is the provider's fault: the same call may pass.
    return Overloaded if status < 300 or status >= 500 else BadRequest


def _by_words(words: str, found: type[ProviderError]) -> type[ProviderError]:
    if any(word in words for word in _BILLING_WORDS):
        return Billing
    if found is not BadRequest:
        return found
    if any(word in words for word in _CONTEXT_WORDS):
        return ContextOverflow
    return Refused if any(word in words for word in _POLICY_WORDS) else found


def parse_retry_after(text: str | None, now_us: int) -> float | None:
    """Seconds to wait from a `retry-after` header: a number, fractions too, or a date."""
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now_us / 1_000_000
        except ValueError:
            return None
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), RETRY_AFTER_S_MAX)
