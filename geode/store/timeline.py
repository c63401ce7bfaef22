"""Timeline rows: append-only and hash-chained per session, from the first row on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson
from sqlalchemy import Connection, bindparam, insert, select, update

from geode.messages import JsonObject, SessionId
from geode.store.statements import Statement
from geode.store.tables import sessions, timeline


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing that happened; it makes and unmakes no state."""

    kind: str
    body: JsonObject
    turn_id: str = ""


@dataclass(frozen=True, slots=True)
class AppendedEntry:
    """An entry and the session whose row it is now."""

    session_id: SessionId
    entry: TimelineEntry
    seq: int = field(default=0, compare=False)
    """The row's number in its session, and its hash: they find it."""
    hash: str = field(default="", compare=False)
    at_us: int = field(default=0, compare=False)


_APPENDED = "geode.appended"

_HEAD = Statement(
    select(sessions.c.timeline_seq, sessions.c.timeline_hash).where(
        sessions.c.id == bindparam("session")
    )
)
_APPEND = Statement(
    insert(timeline),
    ("session_id", "seq", "turn_id", "kind", "body", "at_us", "prev_hash", "hash"),
)
_MOVE_HEAD = Statement(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(timeline_seq=bindparam("seq"), timeline_hash=bindparam("digest"))
)


def chain_hash(prev_hash: str, seq: int, kind: str, turn_id: str, body: str, at_us: int) -> str:
    """SHA-256 over a row and the hash before it."""
    row = "\0".join((prev_hash, str(seq), kind, turn_id, body, str(at_us)))
    # Bytes that are no text any more are hashed as they stand.
    return hashlib.sha256(row.encode("utf-8", "surrogateescape")).hexdigest()


LOOK_BACK_ROWS_MAX = 5_000
"""So far back rows of one kind are looked for."""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A row of a session's timeline."""

    seq: int
    body: JsonObject
    at_us: int


def read_last(tx: Connection, session_id: SessionId, kind: str, limit: int) -> list[StoredEntry]:
    """The newest rows of a kind, newest first."""
    since = _HEAD.first(tx, {"session": session_id}).timeline_seq - LOOK_BACK_ROWS_MAX
    rows = tx.execute(
        select(timeline.c.seq, timeline.c.body, timeline.c.at_us)
        .where(
            timeline.c.session_id == session_id,
            timeline.c.seq > since,
            timeline.c.kind == kind,
        )
        .order_by(timeline.c.seq.desc())
        .limit(limit)
    )
    return [StoredEntry(row.seq, orjson.loads(row.body), row.at_us) for row in rows]


def append_entries(
    tx: Connection, session_id: SessionId, entries: Sequence[TimelineEntry], at_us: int
) -> None:
    """Append entries in order behind the session's last row, in the caller's transaction."""
    if not entries:
        return
    head = _HEAD.first(tx, {"session": session_id})
    seq, last = head.timeline_seq, head.timeline_hash
    rows: list[dict[str, object]] = []
    appended: list[AppendedEntry] = []
    for entry in entries:
        seq += 1
        body = orjson.dumps(entry.body).decode()
        digest = chain_hash(last, seq, entry.kind, entry.turn_id, body, at_us)
        rows.append(
            {
                "session_id": session_id,
                "seq": seq,
                "turn_id": entry.turn_id,
                "kind": entry.kind,
                "body": body,
                "at_us": at_us,
                "prev_hash": last,
                "hash": digest,
            }
        )
        last = digest
        appended.append(AppendedEntry(session_id, entry, seq, digest, at_us))
    _APPEND.run_many(tx, rows)
    _MOVE_HEAD.run(tx, {"session": session_id, "seq": seq, "digest": last})
    tx.info.setdefault(_APPENDED, []).extend(appended)


def take_appended(tx: Connection) -> list[AppendedEntry]:
    """What was appended on this connection since this was last asked."""
    return tx.info.pop(_APPENDED, [])
