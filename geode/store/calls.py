"""Past tool calls as a session's timeline tells them: what was answered, by which rules; reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import orjson
from sqlalchemy import ColumnElement, Connection, Row, or_, select

from geode.messages import JsonObject, SessionId
from geode.store.tables import sessions, timeline

ALLOWED, REFUSED, OUTCOME = "tool_call", "tool_refused", "tool_outcome"
CALL_MARK = "c"
"""Before the number of a call within its session, as in `c12`."""
DIGITS_MAX = 12
WORD_CHARS_MAX = 200
ROWS_LOOKED_AT_MAX = 50
"""Of rows that mention an id; one call has a handful."""
STEPS_SHOWN_MAX = 40


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step of the gate as it was recorded."""

    stage: str
    answer: str
    rule: str
    note: str


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One call of a session or of its children."""

    session_id: SessionId
    seq: int
    at_us: int
    operation: str
    tool: str
    is_refused: bool
    rule: str
    reason: str
    arguments: str
    """For operators only; as much of it as the timeline keeps."""
    trace: tuple[TracedStep, ...]
    """Empty in records of an earlier version."""
    ending: str = ""
    """How it ended, if it began and its end is known."""

    @property
    def name(self) -> str:
        """Its id among the calls of its session."""
        return f"{CALL_MARK}{self.seq}"


def list_calls(
    tx: Connection, session_id: SessionId, kinds: Sequence[str], limit: int
) -> list[StoredCall]:
    """The session's last calls of these kinds, newest first."""
    rows = tx.execute(
        select(timeline)
        .where(timeline.c.session_id == session_id, timeline.c.kind.in_(kinds))
        .order_by(timeline.c.seq.desc())
        .limit(limit)
    )
    return [_call_of(row, orjson.loads(row.body)) for row in rows]


def find_call(tx: Connection, session_id: SessionId, word: str) -> StoredCall | None:
    """The call of that number, or of that operation or call id; None: there is none here.

    An id may be that of a child's call; a number counts within the session itself.
    """
    number = word.lower().removeprefix(CALL_MARK)
    if number.isascii() and number.isdecimal() and len(number) <= DIGITS_MAX:
        found = _find(tx, timeline.c.session_id == session_id, timeline.c.seq == int(number))
        return _complete(tx, found[0]) if found else None
    if not 0 < len(word) <= WORD_CHARS_MAX:
        return None
    written = orjson.dumps(word).decode()
    mentions = timeline.c.body.contains(written, autoescape=True)
    for call in _find(tx, _is_of_family(session_id), mentions, limit=ROWS_LOOKED_AT_MAX, word=word):
        return _complete(tx, call)
    return None


def _is_of_family(session_id: SessionId) -> ColumnElement[bool]:
    of_children = select(sessions.c.id).where(sessions.c.parent == session_id)
    return or_(timeline.c.session_id == session_id, timeline.c.session_id.in_(of_children))


def _find(
    tx: Connection, *conditions: ColumnElement[bool], limit: int = 1, word: str = ""
) -> list[StoredCall]:
    """Calls by their rows, newest first; with a word those alone whose id it is."""
    rows = tx.execute(
        select(timeline)
        .where(timeline.c.kind.in_((ALLOWED, REFUSED)), *conditions)
        .order_by(timeline.c.at_us.desc(), timeline.c.seq.desc())
        .limit(limit)
    )
    bodies = [(row, cast("JsonObject", orjson.loads(row.body))) for row in rows]
    return [
        _call_of(row, body)
        for row, body in bodies
        if not word or word in (body.get("operation"), body.get("call_id"))
    ]


def _complete(tx: Connection, call: StoredCall) -> StoredCall:
    """The call with how it ended, and what hooks said of that."""
    rows = tx.execute(
        select(timeline.c.body)
        .where(
            timeline.c.session_id == call.session_id,
            timeline.c.seq > call.seq,
            timeline.c.kind == OUTCOME,
            timeline.c.body.contains(orjson.dumps(call.operation).decode(), autoescape=True),
        )
        .order_by(timeline.c.seq.desc())
        .limit(ROWS_LOOKED_AT_MAX)
    )
    bodies = [cast("JsonObject", orjson.loads(row.body)) for row in rows]
    ended = next((body for body in bodies if body.get("operation") == call.operation), None)
    if ended is None:
        return call
    trace = (*call.trace, *_trace_of(ended))[:STEPS_SHOWN_MAX]
    return replace(call, trace=trace, ending=str(ended.get("ending", "")))


def _call_of(row: Row[Any], body: JsonObject) -> StoredCall:
    said = {
        name: str(body.get(name, ""))
        for name in ("operation", "tool", "rule", "reason", "arguments")
    }
    return StoredCall(
        session_id=SessionId(row.session_id),
        seq=row.seq,
        at_us=row.at_us,
        is_refused=row.kind == REFUSED,
        trace=_trace_of(body),
        **said,
    )


def _trace_of(body: JsonObject) -> tuple[TracedStep, ...]:
    rows = cast("list[list[object]]", body.get("trace") or [])
    return tuple(TracedStep(*map(str, row[:4])) for row in rows[:STEPS_SHOWN_MAX] if len(row) >= 4)
