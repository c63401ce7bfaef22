"""No secret leaves in any spelling, and ordinary text leaves as it came (AG-07)."""

from __future__ import annotations

import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from geode.reply.redaction import REDACTED, Redactor

BOT_TOKEN = "123456:TESTTOKENabcdefghijklmnopqrstuvwxyz12"

LOOKS_LIKE_A_SECRET = {
    "slack-bot": "xoxb-1234567890-abcdefgh",
    "slack-user": "xoxp-1234567890-abcdefgh",
    "slack-rotating": "xoxe.xoxp-1-abcdefghijk",
    "slack-app": "xapp-1-A0123-4567-abcdef",
    "anthropic": "sk-ant-api03-abcDEF_ghi-jkl",
    "openai": "sk-proj-abcdefghijkl0123456789",
    "github": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github-fine": "github_pat_11ABCDEFG0abcdefghijkl_mnop",
    "aws-id": "AKIAIOSFODNN7EXAMPLE",
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
    "private-key-cut": "-----BEGIN PRIVATE KEY-----\nMIIEabc",
}


@pytest.mark.parametrize("secret", LOOKS_LIKE_A_SECRET.values(), ids=LOOKS_LIKE_A_SECRET.keys())
@pytest.mark.parametrize("around", ["{}", "key={}", '{{"k": "{}"}}', "({})", "said: {}"])
def test_what_looks_like_a_secret_is_replaced(secret: str, around: str) -> None:
    redacted = Redactor().redact(around.format(secret))

    assert secret not in redacted
    assert REDACTED in redacted


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted]"),
        ("bearer%20abc123def456", "bearer%20[redacted]"),
        (
            'aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfi"',
            'aws_secret_access_key = "[redacted]"',
        ),
        (f"https://api.telegram.org/bot{BOT_TOKEN}/getMe", None),
        (f"at /bot{BOT_TOKEN.replace(':', '%3A')}/getMe", "at /bot123456%3A[redacted]/getMe"),
    ],
)
def test_what_names_the_secret_stays(text: str, redacted: str | None) -> None:
    expected = redacted or "https://api.telegram.org/bot123456:[redacted]/getMe"

    assert Redactor().redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a risk-management-and-more plan for the task-force-of-2026",
        "the bearer of good news; Bearer Authentication is a scheme",
        "at 10:30:00 on 2026-01-01, ratio 1:2",
        "asks for sk- and xox and AKIA alone",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "https://example.org/a:b?c=%3Ad",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor([BOT_TOKEN]).redact(text) == text


def test_registered_secret_is_replaced_in_every_spelling() -> None:
    secret = 'p&ss "wörd"/:+\\x'
    redactor = Redactor([secret])
    spellings = [
        secret,
        quote(secret),
        quote(secret, safe=""),
        quote(secret, safe="").lower(),
        quote_plus(secret),
        json.dumps(secret),
        json.dumps({"k": secret}, ensure_ascii=False),
        html.escape(secret),
        repr(secret),
        repr([secret]),
        f"ValueError({secret!r})",
    ]

    left = [text for text in spellings if "ss" in redactor.redact(f"<{text}>")]

    assert left == []


@pytest.mark.parametrize(
    "spelled", [BOT_TOKEN, quote(BOT_TOKEN, safe=""), BOT_TOKEN.replace(":", "%3a")]
)
def test_registered_bot_token_is_gone_from_urls(spelled: str) -> None:
    redacted = Redactor([BOT_TOKEN]).redact(f"GET https://api.telegram.org/bot{spelled}/getUpdates")

    assert "TESTTOKEN" not in redacted
    assert redacted.endswith("/getUpdates")


def test_secret_registered_later_is_replaced_from_then_on() -> None:
    redactor = Redactor()
    before = redactor.redact("plain-canary")

    redactor.register("plain-canary")

    assert before == "plain-canary"
    assert redactor.redact("plain-canary") == REDACTED


def test_longer_secret_goes_before_the_one_inside_it() -> None:
    assert Redactor(["canary", "canary-and-rest"]).redact("canary-and-rest") == REDACTED


def test_value_too_short_to_be_a_secret_is_left_alone() -> None:
    assert Redactor(["abc", ""]).redact("abc") == "abc"


def test_bytes_are_redacted_around_what_is_not_text() -> None:
    content = b"\xff " + "wörd-canary".encode() + b" \xfe"

    redacted = Redactor(["wörd-canary"]).redact_bytes(content)

    assert redacted == b"\xff [redacted] \xfe"


_PIECES = st.sampled_from([*LOOKS_LIKE_A_SECRET.values(), BOT_TOKEN, "Bearer ", REDACTED, "canary"])


@given(st.lists(st.one_of(_PIECES, st.text(max_size=12)), max_size=8))
@example(["redacted", "[", "canary", "]"])
def test_redacting_twice_is_redacting_once(pieces: list[str]) -> None:
    redactor = Redactor(["canary", "redacted", BOT_TOKEN])

    once = redactor.redact(" ".join(pieces))

    assert redactor.redact(once) == once
    assert BOT_TOKEN not in once
    assert "canary" not in once


@given(st.text(min_size=4, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_registered_value_never_survives(secret: str, before: str, after: str) -> None:
    redacted = Redactor([secret]).redact(f"{before}{secret}{after}")

    assert secret not in redacted.replace(REDACTED, "\0")
