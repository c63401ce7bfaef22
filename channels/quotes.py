"""What people said before the agent was called: as much of it as is quoted; pure."""

from __future__ import annotations

from collections.abc import Sequence

from geode.messages import QuotedMessage

EARLIER_MESSAGES_MAX = 50
EARLIER_BYTES_MAX = 20_000


def last_that_fit(quotes: Sequence[QuotedMessage]) -> Sequence[QuotedMessage]:
    """The latest of the messages, which come oldest first, that are within the limits."""
    kept: list[QuotedMessage] = []
    used = 0
    for quote in reversed(quotes[-EARLIER_MESSAGES_MAX:]):
        used += len(quote.text.encode())
        if used > EARLIER_BYTES_MAX:
            break
        kept.append(quote)
    return tuple(reversed(kept))
