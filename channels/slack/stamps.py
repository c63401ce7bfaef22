"""Slack's time stamps, which are also its message ids: compared and converted without a float."""

from __future__ import annotations


def is_ts(text: str) -> bool:
    """Whether a text is a Slack time stamp."""
    seconds, dot, micros = text.partition(".")
    return bool(dot) and seconds.isdecimal() and micros.isdecimal()


def order_key(ts: str) -> str:
    """A key that sorts as text in the order of time stamps."""
    seconds, _, micros = ts.partition(".")
    return f"{seconds:0>12}.{micros:0<6}"


def ts_to_us(ts: str) -> int:
    """UTC microseconds of a time stamp, without a float on the way."""
    seconds, _, micros = ts.partition(".")
    return int(seconds) * 1_000_000 + int(f"{micros:0<6}"[:6])


def us_to_ts(us: int) -> str:
    """A time stamp for a bound of a search; never earlier than zero."""
    us = max(us, 0)
    return f"{us // 1_000_000}.{us % 1_000_000:06d}"
