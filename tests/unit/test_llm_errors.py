"""Every provider failure is one of eight kinds with a sentence to act on."""

from __future__ import annotations

import pytest

from geode.errors import ModelError
from geode.llm.adapters.anthropic_errors import classify_failure, parse_retry_after
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

TABLE: list[tuple[int, str, str, type[ProviderError], bool]] = [
    (400, "invalid_request_error", "messages.1: wrong", BadRequest, False),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens", ContextOverflow, False),
    (400, "invalid_request_error", "input length exceeds context limit", ContextOverflow, False),
    (400, "invalid_request_error", "Your credit balance is too low", Billing, False),
    (400, "invalid_request_error", "Output blocked by content filtering policy", Refused, False),
    (401, "authentication_error", "invalid x-api-key", Unauthorised, False),
    (402, "billing_error", "", Billing, False),
    (403, "permission_error", "no access", Unauthorised, False),
    (404, "not_found_error", "model: claude-x", BadRequest, False),
    (408, "", "", Unavailable, True),
    (413, "request_too_large", "", ContextOverflow, False),
    (413, "", "<html>too large</html>", ContextOverflow, False),
    (418, "", "", BadRequest, False),
    (429, "rate_limit_error", "slow down", RateLimited, True),
    (429, "rate_limit_error", "monthly spend limit reached", Billing, False),
    (500, "api_error", "", Overloaded, True),
    (502, "", "<html>bad gateway</html>", Overloaded, True),
    (529, "overloaded_error", "Overloaded", Overloaded, True),
    (200, "overloaded_error", "Overloaded", Overloaded, True),
    (200, "rate_limit_error", "slow down", RateLimited, True),
    (200, "invalid_request_error", "bad", BadRequest, False),
    (200, "brand_new_error", "?", Overloaded, True),
    (302, "", "", BadRequest, False),
]


@pytest.mark.parametrize(("status", "kind", "message", "expected", "is_retryable"), TABLE)
def test_failure_is_classified_by_type_then_words_then_status(
    status: int, kind: str, message: str, expected: type[ProviderError], is_retryable: bool
) -> None:
    error = classify_failure(status, kind, message)

    assert type(error) is expected
    assert isinstance(error, ModelError)
    assert error.retryable is is_retryable


def test_message_is_one_sentence_that_names_provider_and_way_out() -> None:
    for status, kind, message, _, _ in TABLE:
        told = str(classify_failure(status, kind, message + "\nsecond line" + "x" * 5_000))

        assert "Anthropic" in told
        assert told.endswith(".")
        assert "\n" not in told
        assert len(told) < 500


def test_retry_after_is_carried_by_those_who_may_ask_to_wait() -> None:
    assert classify_failure(429, "rate_limit_error", "", 2.5).retry_after == 2.5
    assert classify_failure(529, "overloaded_error", "", 1.0).retry_after == 1.0
    assert classify_failure(401, "authentication_error", "", 1.0).retry_after is None
    assert RateLimited(3.0).retry_after == 3.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("240", 240.0),
        ("0.75", 0.75),
        ("-3", 0.0),
        ("1e99", 86_400.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("nan", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_reads_seconds_fractions_and_dates(
    header: str | None, seconds: float | None
) -> None:
    assert parse_retry_after(header, now_us=60_000_000) == seconds
