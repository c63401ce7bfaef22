"""What an operator may look at: sessions, effects and counts as plain rows; reads only."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Connection, Row, Select, case, func, select

from geode.messages import JsonObject, JsonValue, SessionId
from geode.store.receipts import OPEN_STATES, ReceiptState
from geode.store.review_tables import reviews
from geode.store.reviews import OPEN
from geode.store.spent import Spent
from geode.store.standing import sum_all, sum_session, sum_sessions
from geode.store.tables import inbox, outbox, outbox_parts, receipts, sessions, threads, timeline
from geode.store.tables import turns as turn_rows

OUTBOX_OPEN = ("queued", "sending")
SHOWN_CHARS_MAX = 200
APART = (
    *("repairs", "repair_input_tokens", "repair_output_tokens", "repair_cost_micro_usd"),
    *("judge_calls", "judge_input_tokens", "judge_output_tokens", "judge_cost_micro_usd"),
    "judge_unpriced",
)
"""What of a turn is shown apart from its answer's own figures."""


def count_all(tx: Connection, day_start_us: int) -> JsonObject:
    """What there is, what waits, and what was spent since the day began."""
    rows = tx.execute(select(sessions.c.state, func.count()).group_by(sessions.c.state))
    by_state: JsonObject = {row[0]: row[1] for row in rows}
    return {
        "sessions": by_state,
        "messages_queued": _count(tx, inbox.c.state == "queued", inbox.c.kind == "message"),
        "outbox_open": _count(tx, outbox.c.state.in_(OUTBOX_OPEN)),
        "effects_uncertain": _count(tx, receipts.c.state == ReceiptState.UNCERTAIN),
        "reviews_open": _count(tx, reviews.c.state == OPEN),
        "spent_today": sum_all(tx, day_start_us).to_json(),
    }


def list_sessions(tx: Connection, limit: int) -> list[JsonObject]:
    """Sessions with their threads, the most recently active first."""
    waiting = (
        select(func.count())
        .where(
            inbox.c.session_id == sessions.c.id,
            inbox.c.state == "queued",
            inbox.c.kind == "message",
        )
        .scalar_subquery()
    )
    rows = tx.execute(
        _select_sessions(waiting.label("queued"))
        .order_by(sessions.c.active_at_us.desc(), sessions.c.id)
        .limit(limit)
    )
    found = rows.all()
    spent = sum_sessions(tx, [row.id for row in found])
    return [
        {
            **_session_object(row),
            "queued": row.queued,
            "spent": spent.get(row.id, Spent()).to_json(),
        }
        for row in found
    ]


def show_session(tx: Connection, session_id: str, limit: int) -> JsonObject | None:
    """One session with its last turns, its last timeline rows and what waits; None if unknown."""
    row = tx.execute(_select_sessions().where(sessions.c.id == session_id)).one_or_none()
    if row is None:
        return None
    details: JsonObject = {
        "turns": list[JsonValue](_list_turns(tx, session_id, limit)),
        "timeline": list[JsonValue](_list_timeline(tx, session_id, limit)),
        "queued": list[JsonValue](_list_queued(tx, session_id, limit)),
        "outbox": list[JsonValue](_list_outbox(tx, limit, outbox.c.session_id == session_id)),
    }
    spent = sum_session(tx, SessionId(session_id))
    return {**_session_object(row), "spent": spent.to_json(), **details}


def list_effects(tx: Connection, limit: int) -> list[JsonObject]:
    """Receipts, those of unknown outcome first, then newest first."""
    is_settled = case((receipts.c.state.in_(OPEN_STATES), 0), else_=1)
    rows = tx.execute(
        select(receipts)
        .order_by(is_settled, receipts.c.prepared_at_us.desc(), receipts.c.id)
        .limit(limit)
    )
    return [
        {
            "id": row.id,
            "session": row.session_id,
            "turn": row.turn_id,
            "tool": row.tool,
            "effect": row.effect,
            "state": row.state,
            "result": row.result[:SHOWN_CHARS_MAX],
            "error": row.error[:SHOWN_CHARS_MAX],
            "arguments": _show_arguments(row),
            "prepared_at_us": row.prepared_at_us,
            "settled_by": row.settled_by,
        }
        for row in rows
    ]


def _show_arguments(row: Row[Any]) -> str:
    """Whole while a person has to judge by them whether it happened."""
    is_uncertain = row.state == ReceiptState.UNCERTAIN
    return row.arguments if is_uncertain else row.arguments[:SHOWN_CHARS_MAX]


def list_replies(tx: Connection, limit: int) -> list[JsonObject]:
    """Chat replies that are not delivered yet: an outbox row is its reply's receipt."""
    return _list_outbox(tx, limit, outbox.c.state.in_(OUTBOX_OPEN))


def _count(tx: Connection, *conditions: Any) -> int:
    return tx.execute(select(func.count()).where(*conditions)).scalar_one()


def _select_sessions(*columns: Any) -> Select[Any]:
    return select(
        sessions,
        threads.c.platform,
        threads.c.workspace,
        threads.c.channel,
        threads.c.thread,
        *columns,
    ).join(threads, threads.c.session_id == sessions.c.id, isouter=True)


def _session_object(row: Row[Any]) -> JsonObject:
    place = [row.platform, row.workspace, row.channel, row.thread]
    return {
        "id": row.id,
        "state": row.state,
        "mode": row.mode,
        "binding": row.binding,
        "parent": row.parent,
        "thread": "/".join(part for part in place if part),
        "turns_begun": row.next_turn - 1,
        "turn": row.turn_id,
        "lease_until_us": row.lease_until_us,
        "created_at_us": row.created_at_us,
        "active_at_us": row.active_at_us,
    }


def _list_turns(tx: Connection, session_id: str, limit: int) -> list[JsonObject]:
    rows = tx.execute(
        select(turn_rows)
        .where(turn_rows.c.session_id == session_id)
        .order_by(turn_rows.c.number.desc())
        .limit(limit)
    )
    shown: list[JsonObject] = [
        {
            "id": row.id,
            "number": row.number,
            "state": row.state,
            "reason": row.reason,
            "verification": row.verification,
            "attempts": row.attempts,
            "steps": row.steps,
            "spent_us": row.spent_us,
            "model": row.model,
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "cost_micro_usd": row.cost_micro_usd,
            "unpriced": row.unpriced,
            **{name: getattr(row, name) for name in APART},
            "started_at_us": row.started_at_us,
            "ended_at_us": row.ended_at_us,
        }
        for row in rows
    ]
    return shown[::-1]


def _list_timeline(tx: Connection, session_id: str, limit: int) -> list[JsonObject]:
    rows = tx.execute(
        select(
            timeline.c.seq, timeline.c.at_us, timeline.c.kind, timeline.c.turn_id, timeline.c.body
        )
        .where(timeline.c.session_id == session_id)
        .order_by(timeline.c.seq.desc())
        .limit(limit)
    )
    shown: list[JsonObject] = [
        {
            "seq": row.seq,
            "at_us": row.at_us,
            "kind": row.kind,
            "turn": row.turn_id,
            "body": orjson.loads(row.body),
        }
        for row in rows
    ]
    return shown[::-1]


def _list_queued(tx: Connection, session_id: str, limit: int) -> list[JsonObject]:
    rows = tx.execute(
        select(inbox.c.message_id, inbox.c.sender_id, inbox.c.kind, inbox.c.received_at_us)
        .where(inbox.c.session_id == session_id, inbox.c.state == "queued")
        .order_by(inbox.c.order_key, inbox.c.id)
        .limit(limit)
    )
    return [
        {
            "message": row.message_id,
            "sender": row.sender_id,
            "kind": row.kind,
            "received_at_us": row.received_at_us,
        }
        for row in rows
    ]


def _list_outbox(tx: Connection, limit: int, condition: Any) -> list[JsonObject]:
    unsure = (
        select(func.count())
        .where(
            outbox_parts.c.outbox_id == outbox.c.id,
            outbox_parts.c.state.in_([str(state) for state in OPEN_STATES]),
        )
        .scalar_subquery()
    )
    rows = tx.execute(
        select(outbox, unsure.label("unsure")).where(condition).order_by(outbox.c.id).limit(limit)
    )
    return [
        {
            "id": f"o{row.id}",
            "session": row.session_id,
            "turn": row.turn_id,
            "kind": row.kind,
            "state": row.state,
            "is_unsure": row.unsure > 0,
            "attempts": row.attempts,
            "reason": row.reason,
            "created_at_us": row.created_at_us,
        }
        for row in rows
    ]
