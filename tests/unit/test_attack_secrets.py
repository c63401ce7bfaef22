"""A registered secret is found in the encodings that libraries and models put it in."""

from __future__ import annotations

import base64
import io
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from geode.log import configure_logging
from geode.reply.redaction import ENCODED_BYTES_MIN, REDACTED, Redactor

SECRET = "xq-918273/CANARY+k\u00f6nig=="
ENCODERS: dict[str, Callable[[bytes], str]] = {
    "base64": lambda raw: base64.b64encode(raw).decode(),
    "base64 for URLs": lambda raw: base64.urlsafe_b64encode(raw).decode(),
    "hex": bytes.hex,
    "HEX": lambda raw: raw.hex().upper(),
}


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("before", ["", "u", "us", "user:", "Basic \u2603"])
@pytest.mark.parametrize("after", ["", ":", "\n", "tail\u00e4"])
def test_encoded_secret_is_replaced(encoding: str, before: str, after: str) -> None:
    whole = ENCODERS[encoding](f"{before}{SECRET}{after}".encode())

    shown = Redactor([SECRET]).redact(f"Authorization: {whole}.")

    assert REDACTED in shown
    assert len(shown) < len(whole) // 2 + 40
    assert Redactor().redact(whole) == whole


@given(
    st.text(min_size=ENCODED_BYTES_MIN, max_size=40), st.binary(max_size=4), st.binary(max_size=4)
)
def test_encoded_secret_is_replaced_at_every_place(
    secret: str, before: bytes, after: bytes
) -> None:
    for encode in ENCODERS.values():
        assert REDACTED in Redactor([secret]).redact(encode(before + secret.encode() + after))


@pytest.mark.parametrize("word", ["token", "changeme", "0123456789a"])
def test_short_value_takes_no_ordinary_text_with_it(word: str) -> None:
    for encode in ENCODERS.values():
        text = encode(word.encode())
        assert Redactor([word]).redact(text) == text


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """Leave the process's logging as it was."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, sys.excepthook, threading.excepthook)
    yield
    root.handlers[:], sys.excepthook, threading.excepthook = before[0], before[2], before[3]
    root.setLevel(before[1])
    structlog.reset_defaults()


@pytest.mark.usefixtures("restored_logging")
def test_secret_is_in_no_line_of_a_failure() -> None:
    stream = io.StringIO()
    configure_logging(Redactor([SECRET]), stream=stream, level="DEBUG")
    basic = base64.b64encode(f"bot:{SECRET}".encode()).decode()
    try:
        try:
            raise ValueError({SECRET: [basic]})
        except ValueError as error:
            raise RuntimeError(json.dumps({"url": f"https://x/{SECRET}", "h": basic})) from error
    except RuntimeError:
        logging.getLogger("any").exception("failed with %r", (SECRET, basic.encode()))

    written = stream.getvalue()
    assert "RuntimeError" in written
    assert "CANARY" not in written
    assert basic[8:24] not in written


def test_take_out_keeps_encoded_secrets_from_the_model() -> None:
    encoded = base64.b64encode(SECRET.encode()).decode()

    assert Redactor([SECRET]).take_out(f"x {encoded} y").startswith(f"x {REDACTED}")
