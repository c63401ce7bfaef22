"""A session's timeline as it is kept: its head, its anchor, its rows in pages, and its pruning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    LargeBinary,
    and_,
    cast,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import SessionId
from geode.store.review_tables import timeline_anchors
from geode.store.tables import receipts, sessions, timeline, turns


@dataclass(frozen=True, slots=True)
class ChainEnds:
    """Where a session's chain must begin and end."""

    session_id: SessionId
    seq: int
    """Of the last row."""
    hash: str
    anchor_seq: int = 0
    """Of the last row that was pruned; 0: none was."""
    anchor_hash: str = ""
    anchor_rows: int = 0
    """How many rows were pruned; they are those up to `anchor_seq`."""


@dataclass(frozen=True, slots=True)
class ChainRow:
    """A stored row with everything that its hash covers."""

    seq: int
    turn_id: str
    kind: str
    body: str
    at_us: int
    prev_hash: str
    hash: str


def list_ends(tx: Connection, after: str, limit: int) -> list[ChainEnds]:
    """The ends of sessions' chains, in the order of their ids behind `after`."""
    anchors = timeline_anchors
    rows = tx.execute(
        select(
            sessions.c.id,
            sessions.c.timeline_seq,
            _raw(sessions.c.timeline_hash),
            func.coalesce(anchors.c.seq, 0).label("anchor_seq"),
            _raw(anchors.c.hash).label("anchor_hash"),
            func.coalesce(anchors.c.rows_pruned, 0).label("anchor_rows"),
        )
        .join(anchors, anchors.c.session_id == sessions.c.id, isouter=True)
        .where(sessions.c.id > after)
        .order_by(sessions.c.id)
        .limit(limit)
    )
    return [
        ChainEnds(
            session_id=SessionId(r.id),
            seq=r.timeline_seq,
            hash=_text(r.timeline_hash),
            anchor_seq=r.anchor_seq,
            anchor_hash=_text(r.anchor_hash),
            anchor_rows=r.anchor_rows,
        )
        for r in rows
    ]


def read_ends(tx: Connection, session_id: str) -> ChainEnds | None:
    """The ends of one session's chain; None: there is no such session."""
    found = tx.execute(select(sessions.c.id).where(sessions.c.id == session_id)).first()
    if found is None:
        return None
    before = tx.execute(select(func.max(sessions.c.id)).where(sessions.c.id < session_id))
    return list_ends(tx, before.scalar() or "", 1)[0]


def read_rows(tx: Connection, session_id: str, after: int, limit: int) -> list[ChainRow]:
    """The session's rows behind that one, in order."""
    texts = [_raw(timeline.c[name]) for name in _TEXTS]
    rows = tx.execute(
        select(timeline.c.seq, timeline.c.at_us, *texts)
        .where(timeline.c.session_id == session_id, timeline.c.seq > after)
        .order_by(timeline.c.seq)
        .limit(limit)
    )
    return [
        ChainRow(seq=r.seq, at_us=r.at_us, **{n: _text(getattr(r, n)) for n in _TEXTS})
        for r in rows
    ]


_TEXTS = ("turn_id", "kind", "body", "prev_hash", "hash")


def _raw(column: Column[str]) -> Any:
    """The column's bytes: what is no text any more is to be told, not to stop whoever looks."""
    return cast(column, LargeBinary).label(column.name)


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "surrogateescape")


def find_before(tx: Connection, session_id: str, anchor_seq: int) -> int | None:
    """The first row up to the anchor, where nothing is any more; None: there is none."""
    return tx.execute(
        select(func.min(timeline.c.seq)).where(
            timeline.c.session_id == session_id, timeline.c.seq <= anchor_seq
        )
    ).scalar()


def find_stray(tx: Connection) -> str | None:
    """A session that rows are kept of and that does not exist; None: there is none."""
    is_known = exists().where(sessions.c.id == timeline.c.session_id)
    return tx.execute(select(timeline.c.session_id).where(~is_known).limit(1)).scalar()


def count_pruned(tx: Connection) -> int:
    """Rows that were pruned of all sessions so far."""
    return int(tx.execute(select(func.sum(timeline_anchors.c.rows_pruned))).scalar() or 0)


def sum_bytes(tx: Connection) -> int:
    """Bytes of the bodies of all rows."""
    return int(
        tx.execute(select(func.sum(func.length(cast(timeline.c.body, LargeBinary))))).scalar() or 0
    )


def list_oldest(tx: Connection, before_us: int, limit: int) -> list[SessionId]:
    """Sessions whose first row is older than that, the oldest first."""
    first = func.min(timeline.c.at_us)
    rows = tx.execute(
        select(timeline.c.session_id)
        .group_by(timeline.c.session_id)
        .having(first < before_us)
        .order_by(first)
        .limit(limit)
    )
    return [SessionId(row.session_id) for row in rows]


def prune_rows(
    tx: Connection, session_id: SessionId, before_us: int, limit: int, now_us: int
) -> int:
    """Drop up to so many of the session's first rows that are older than that; how many went.

    Nothing goes of a turn that is not over or has an unsettled effect, nor behind such a row: what
    stays is one chain, which the anchor of the last row that went holds on to.
    """
    keeps = _find_kept(tx, session_id, before_us)
    rows: Sequence[ChainRow] = read_rows(tx, session_id, 0, limit)
    gone = [row for row in rows if keeps is None or row.seq < keeps]
    if not gone:
        return 0
    last = gone[-1]
    tx.execute(
        delete(timeline).where(timeline.c.session_id == session_id, timeline.c.seq <= last.seq)
    )
    values = {"seq": last.seq, "hash": last.hash, "pruned_at_us": now_us}
    insert = upsert(timeline_anchors)
    counted = timeline_anchors.c.rows_pruned + len(gone)
    statement = insert.on_conflict_do_update(
        index_elements=["session_id"], set_={**values, "rows_pruned": counted}
    )
    tx.execute(statement, {"session_id": session_id, "rows_pruned": len(gone), **values})
    return len(gone)


def _find_kept(tx: Connection, session_id: SessionId, before_us: int) -> int | None:
    """The first row that must stay; None: all may go."""
    is_running = exists().where(turns.c.id == timeline.c.turn_id, turns.c.state != "done")
    is_unsettled = exists().where(
        receipts.c.session_id == timeline.c.session_id,
        receipts.c.turn_id == timeline.c.turn_id,
        receipts.c.state.in_(("prepared", "uncertain")),
    )
    stays = or_(timeline.c.at_us >= literal(before_us), is_running, is_unsettled)
    return tx.execute(
        select(func.min(timeline.c.seq)).where(and_(timeline.c.session_id == session_id, stays))
    ).scalar()
