"""What an admitted event came to, and who is to hear of it after the commit."""

from __future__ import annotations

from dataclasses import dataclass

from geode.messages import SessionId, TurnId
from geode.ports import Accepted


@dataclass(frozen=True, slots=True)
class Stored:
    """The outcome of one intake transaction."""

    accepted: Accepted
    session_id: SessionId | None = None
    wakes_session: bool = False
    wakes_delivery: bool = False
    also_tells: SessionId | None = None
    """Another session in which something waits to be delivered."""
    stopped_turn: TurnId | None = None
    """Whoever runs this turn is to end it."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Id and `reply_to` of messages that are not answered any more."""
