"""The chapters of sessions that had a turn lately: their next turn reads nothing of them again.

A memory of what is stored, never the only place of it: an entry counts only while the session's
chapter and last position are those it was kept under, so another worker's messages make it void.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from geode.messages import Message, SessionId, Text, ToolCall, ToolResult
from geode.ports import Clock

SESSIONS_MAX = 64
CHARS_MAX = 16_000_000
KEPT_S = 120.0
"""An idle session takes no memory after this."""


@dataclass(frozen=True, slots=True)
class Place:
    """How far a session's conversation goes."""

    session_id: SessionId
    chapter: int
    position: int
    """Messages of the session in all."""


@dataclass(frozen=True, slots=True)
class _Kept:
    place: Place
    messages: tuple[Message, ...]
    chars: int
    until: float


class Histories:
    """Keeps the newest few; reading is safe from the writer's thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[SessionId, _Kept] = OrderedDict()
        self._chars = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, place: Place) -> tuple[Message, ...] | None:
        """The chapter's messages, if exactly these are kept."""
        kept = self._kept.get(place.session_id)
        return kept.messages if kept is not None and kept.place == place else None

    def keep(self, place: Place, messages: tuple[Message, ...]) -> None:
        """Keep a chapter for the session's next turn, instead of what was kept of it."""
        known = self._drop(place.session_id)
        old = (
            len(known.messages) if known is not None and known.place.chapter == place.chapter else 0
        )
        chars = (known.chars if known is not None and old else 0) + _weigh(messages[old:])
        self._kept[place.session_id] = _Kept(
            place, messages, chars, self._clock.monotonic() + KEPT_S
        )
        self._chars += chars
        self.trim()

    def trim(self) -> None:
        """Let go of what is old and of what is too much, the oldest first."""
        now = self._clock.monotonic()
        while self._kept:
            oldest = next(iter(self._kept.values()))
            is_full = len(self._kept) > SESSIONS_MAX or self._chars > CHARS_MAX
            if oldest.until > now and not is_full:
                return
            self._drop(oldest.place.session_id)

    async def run(self) -> None:
        """Let go of what is old, until cancelled."""
        while True:
            await self._clock.sleep(KEPT_S / 4)
            self.trim()

    def _drop(self, session_id: SessionId) -> _Kept | None:
        kept = self._kept.pop(session_id, None)
        if kept is not None:
            self._chars -= kept.chars
        return kept


def _weigh(messages: Sequence[Message]) -> int:
    chars = 0
    for message in messages:
        chars += 100 + len(message.opaque)
        for block in message.blocks:
            if isinstance(block, Text | ToolResult):
                chars += len(block.text)
            elif isinstance(block, ToolCall):
                chars += len(block.raw)
    return chars
