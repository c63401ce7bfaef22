"""What a tool may say stays within its cap, valid and honest about its size (AG-06)."""

from __future__ import annotations

import json
import random

import pytest

from geode.tools.output import OutputWindow, cap_bytes, cap_text, decode_text, escape_controls


def test_decode_text_shows_each_broken_byte_once():
    assert decode_text(b"ok\xff\xfe\xf0!") == "ok\ufffd\ufffd\ufffd!"


def test_cap_text_leaves_a_fitting_text_alone():
    assert cap_text("ä" * 50, 100) == "ä" * 50


def test_cap_text_keeps_head_and_tail_and_names_the_true_size():
    capped = cap_text("start " + "x" * 100_000 + " end", 1_000)

    assert capped.startswith("start ")
    assert capped.endswith(" end")
    assert "100,010 bytes" in capped
    assert len(capped.encode()) <= 1_000


def test_cap_text_cuts_three_byte_characters_between_them():
    capped = cap_text("語" * 50_000, 48_000)

    assert 47_900 <= len(capped.encode()) <= 48_000
    assert "\ufffd" not in capped
    assert "150,000 bytes" in capped


@pytest.mark.parametrize("bytes_max", range(12))
def test_cap_text_stays_valid_when_not_even_the_marker_fits(bytes_max: int):
    capped = cap_text("語" * 100, bytes_max)

    assert len(capped.encode()) <= bytes_max


def test_cap_bytes_of_random_bytes_stays_within_the_cap():
    raw = random.Random(7).randbytes(1_000_000)  # noqa: S311 - the same noise each time

    text = cap_bytes(raw[:48_000], raw[-48_000:], len(raw))

    assert len(text.encode()) <= 48_000
    assert "1,000,000 bytes" in text
    assert json.loads(json.dumps(text)) == text


def test_cap_bytes_does_not_show_the_halves_of_a_cut_character():
    raw = ("語" * 1_000).encode()

    text = cap_bytes(raw[:100], raw[-100:], len(raw), 300)

    assert "\ufffd" not in text


def test_window_of_an_endless_stream_keeps_little_and_counts_all():
    window = OutputWindow(1_000)
    for _ in range(5_000):
        window.add(b"y\n" * 5_000)

    text = window.text()

    assert window.size == 50_000_000
    assert "50,000,000 bytes" in text
    assert len(text.encode()) <= 1_000


def test_window_keeps_an_error_in_the_last_line():
    window = OutputWindow(500)
    window.add(b"noise " * 1_000)
    window.add(b"\nfatal: the last line")

    assert window.text().endswith("fatal: the last line")


def test_window_returns_a_short_stream_unchanged():
    window = OutputWindow(500)
    for byte in "schön".encode():
        window.add(bytes([byte]))

    assert window.text() == "schön"


def test_escape_controls_makes_terminal_codes_visible():
    assert escape_controls("a\x1b[31m\x00\x9b\x7f\tb\r\n") == "a\\x1b[31m\\x00\\x9b\\x7f\tb\r\n"
