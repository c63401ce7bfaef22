"""What commands may tell of a session and its place: sums and counts; reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from geode.messages import SessionId
from geode.store.spent import Part, Spent
from geode.store.tables import cards, sessions, turns


def sum_session(tx: Connection, session_id: SessionId) -> Spent:
    """What the session's ended turns used, in every chapter."""
    return _sum(tx, turns.c.session_id == session_id)


def sum_sessions(tx: Connection, session_ids: Sequence[str]) -> dict[str, Spent]:
    """The same for several; a session without an ended turn is not there."""
    rows = tx.execute(
        select(turns.c.session_id, *_FIGURES)
        .where(turns.c.state == "done", turns.c.session_id.in_(session_ids))
        .group_by(turns.c.session_id)
    )
    return {row[0]: _spent(row[1:]) for row in rows}


def sum_bindings(tx: Connection, bindings: Sequence[str], since_us: int) -> Spent:
    """What turns under these bindings used that began since then."""
    # What a child used stands in its parent's turn.
    is_counted = (sessions.c.binding.in_(bindings), sessions.c.parent == "")
    of_bindings = select(sessions.c.id).where(*is_counted)
    return _sum(tx, turns.c.session_id.in_(of_bindings), turns.c.started_at_us >= since_us)


def sum_all(tx: Connection, since_us: int) -> Spent:
    """What every turn used that began since then."""
    of_parents = select(sessions.c.id).where(sessions.c.parent == "")
    return _sum(tx, turns.c.session_id.in_(of_parents), turns.c.started_at_us >= since_us)


def count_cards(tx: Connection, session_id: SessionId) -> int:
    """Cards of the session that nobody has decided."""
    found = tx.execute(
        select(func.count()).where(cards.c.session_id == session_id, cards.c.state == "open")
    )
    return found.scalar_one()


_READ = turns.c.input_tokens + turns.c.cache_read_tokens + turns.c.cache_write_tokens
_FIGURES = (
    func.count(),
    # The turn's own figures hold those of its repairs.
    func.sum(_READ - turns.c.repair_input_tokens),
    func.sum(turns.c.output_tokens - turns.c.repair_output_tokens),
    func.sum(turns.c.cost_micro_usd - turns.c.repair_cost_micro_usd),
    func.count().filter(turns.c.unpriced > 0),
    func.sum(turns.c.repairs),
    func.sum(turns.c.repair_input_tokens),
    func.sum(turns.c.repair_output_tokens),
    func.sum(turns.c.repair_cost_micro_usd),
    func.count().filter(turns.c.unpriced > 0, turns.c.repairs > 0),
    func.sum(turns.c.judge_calls),
    func.sum(turns.c.judge_input_tokens),
    func.sum(turns.c.judge_output_tokens),
    func.sum(turns.c.judge_cost_micro_usd),
    func.count().filter(turns.c.judge_unpriced > 0),
)


def _sum(tx: Connection, *conditions: Any) -> Spent:
    row = tx.execute(select(*_FIGURES).where(turns.c.state == "done", *conditions)).one()
    return _spent(row)


def _spent(row: Sequence[Any]) -> Spent:
    count, *figures = (int(value or 0) for value in row)
    return Spent(count, Part(0, *figures[:4]), Part(*figures[4:9]), Part(*figures[9:14]))
