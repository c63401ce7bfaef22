"""What commands may tell of a session and its place: sums and counts; reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from geode.messages import SessionId
from geode.store.tables import cards, sessions, turns


@dataclass(frozen=True, slots=True)
class Spent:
    """What ended turns used."""

    turns: int
    input_tokens: int
    """Cached ones included."""
    output_tokens: int
    cost_micro_usd: int

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens


def sum_session(tx: Connection, session_id: SessionId) -> Spent:
    """What the session's ended turns used, in every chapter."""
    return _sum(tx, turns.c.session_id == session_id)


def sum_bindings(tx: Connection, bindings: Sequence[str], since_us: int) -> Spent:
    """What turns under these bindings used that began since then."""
    # What a child used stands in its parent's turn.
    is_counted = (sessions.c.binding.in_(bindings), sessions.c.parent == "")
    of_bindings = select(sessions.c.id).where(*is_counted)
    return _sum(tx, turns.c.session_id.in_(of_bindings), turns.c.started_at_us >= since_us)


def count_cards(tx: Connection, session_id: SessionId) -> int:
    """Cards of the session that nobody has decided."""
    found = tx.execute(
        select(func.count()).where(cards.c.session_id == session_id, cards.c.state == "open")
    )
    return found.scalar_one()


def _sum(tx: Connection, *conditions: Any) -> Spent:
    row = tx.execute(
        select(
            func.count(),
            func.sum(turns.c.input_tokens + turns.c.cache_read_tokens + turns.c.cache_write_tokens),
            func.sum(turns.c.output_tokens),
            func.sum(turns.c.cost_micro_usd),
        ).where(turns.c.state == "done", *conditions)
    ).one()
    return Spent(*(int(value or 0) for value in row))
