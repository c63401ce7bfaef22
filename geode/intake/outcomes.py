"""What an admitted event came to, and who is to hear of it after the commit."""

from __future__ import annotations

from dataclasses import dataclass

from geode.messages import SessionId
from geode.ports import Accepted


@dataclass(frozen=True, slots=True)
class Stored:
    """The outcome of one intake transaction."""

    accepted: Accepted
    session_id: SessionId | None = None
    wakes_session: bool = False
    wakes_delivery: bool = False
