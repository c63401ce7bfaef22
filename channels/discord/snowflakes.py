"""Discord's ids as text: their order, their moment, and the id of a moment; pure."""

from __future__ import annotations

EPOCH_MS = 1_420_070_400_000
DIGITS_MAX = 20


def is_snowflake(text: str) -> bool:
    """Whether a text is an id of Discord."""
    return text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX


def order_key(snowflake: str) -> str:
    """A key that sorts as text in the order of ids."""
    return snowflake.zfill(DIGITS_MAX)


def snowflake_to_us(snowflake: str) -> int:
    """UTC microseconds of the moment in which the id was made."""
    return ((int(snowflake) >> 22) + EPOCH_MS) * 1_000


def us_to_snowflake(us: int) -> str:
    """The smallest id of that moment, as a bound of a search; never below zero."""
    return str(max((us // 1_000 - EPOCH_MS) << 22, 0))
