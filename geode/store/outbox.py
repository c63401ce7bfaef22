"""Outbox rows and their parts: what must go out, in a thread's order, under a lease of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, func, insert, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.errors import StaleEpochError
from geode.messages import Card, OutboundFile, Part, Place, SessionId, Thread
from geode.store.card_json import card_from_json, card_to_json
from geode.store.file_json import file_from_json, file_to_json, files_from_json, files_to_json
from geode.store.statements import Statement
from geode.store.tables import outbox, outbox_parts, threads

OPEN_STATES = ("queued", "sending")

_IS_OPEN = or_(*(outbox.c.state == state for state in OPEN_STATES))
_ADD = Statement(
    upsert(outbox).on_conflict_do_nothing().returning(outbox.c.id),
    (
        "session_id",
        "turn_id",
        "kind",
        "episode",
        "body",
        "reply_to",
        "card",
        "files",
        "created_at_us",
    ),
)
_HEAD = Statement(
    select(outbox, threads.c.platform, threads.c.workspace, threads.c.channel, threads.c.thread)
    .join(threads, threads.c.session_id == outbox.c.session_id)
    .where(outbox.c.session_id == bindparam("session"), _IS_OPEN)
    .order_by(outbox.c.id)
    .limit(1)
)
_PARTS = Statement(
    select(
        outbox_parts.c.number,
        outbox_parts.c.payload,
        outbox_parts.c.plain,
        outbox_parts.c.state,
        outbox_parts.c.edits,
        outbox_parts.c.message_id,
        outbox_parts.c.error,
        outbox_parts.c.file,
    )
    .where(outbox_parts.c.outbox_id == bindparam("row"))
    .order_by(outbox_parts.c.number)
)
_TAKE = Statement(
    update(threads)
    .where(
        threads.c.session_id == bindparam("session"),
        or_(
            threads.c.delivery_until_us < bindparam("now_us"),
            threads.c.delivery_owner == bindparam("held_by"),
        ),
    )
    .values(
        delivery_owner=bindparam("owner"),
        delivery_until_us=bindparam("until_us"),
        delivery_epoch=threads.c.delivery_epoch + 1,
    )
    .returning(threads.c.delivery_epoch)
)
_HELD_EPOCH = Statement(
    select(threads.c.delivery_epoch)
    .where(threads.c.session_id == bindparam("session"))
    .with_for_update()
)
_HOLD_ON = Statement(
    update(threads)
    .where(threads.c.session_id == bindparam("session"))
    .values(delivery_until_us=bindparam("until_us"))
)
_RELEASE = Statement(
    update(threads)
    .where(
        threads.c.session_id == bindparam("session"), threads.c.delivery_epoch == bindparam("held")
    )
    .values(delivery_owner="", delivery_until_us=0)
    .returning(threads.c.session_id)
)
_OPEN = Statement(
    select(outbox.c.id).where(outbox.c.session_id == bindparam("session"), _IS_OPEN).limit(1)
)
_PLAN = Statement(
    insert(outbox_parts), ("outbox_id", "number", "payload", "plain", "edits", "file")
)
_BEGIN_SENDING = Statement(
    update(outbox).where(outbox.c.id == bindparam("row")).values(state="sending")
)
_PART_CHANGES = {name: outbox_parts.c[name] for name in ("at_us", "edits", "message_id", "error")}
_SET_PART = Statement(
    update(outbox_parts)
    .where(outbox_parts.c.outbox_id == bindparam("row"), outbox_parts.c.number == bindparam("part"))
    .values(
        state=bindparam("new_state"),
        **{
            name: func.coalesce(bindparam(f"new_{name}", type_=column.type), column)
            for name, column in _PART_CHANGES.items()
        },
    )
)
_PART_STATES = Statement(
    select(outbox_parts.c.state, outbox_parts.c.error).where(
        outbox_parts.c.outbox_id == bindparam("row")
    )
)
_END = Statement(
    update(outbox)
    .where(outbox.c.id == bindparam("row"))
    .values(state=bindparam("new_state"), reason=bindparam("why"), done_at_us=bindparam("now_us"))
)


@dataclass(frozen=True, slots=True)
class NewOutbox:
    """One message to deliver; unique by (session, kind, episode), so it is said once."""

    kind: str
    episode: str
    body: str
    reply_to: str = ""
    turn_id: str = ""
    card: Card | None = None
    files: tuple[OutboundFile, ...] = ()


@dataclass(frozen=True, slots=True)
class PartRow:
    """One platform message of a row, with its receipt's state."""

    number: int
    part: Part
    state: str
    edits: str
    message_id: str
    error: str = ""
    """What is to be said of the part beside its state."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """The head of a thread's outbox."""

    id: int
    session_id: SessionId
    turn_id: str
    kind: str
    episode: str
    body: str
    card: Card | None
    files: tuple[OutboundFile, ...]
    state: str
    attempts: int
    due_at_us: int
    created_at_us: int
    place: Place
    parts: tuple[PartRow, ...]


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A part before its first send; `edits` names the message of ours that it replaces."""

    part: Part
    edits: str = ""


def add_outbox(tx: Connection, session_id: SessionId, new: NewOutbox, now_us: int) -> bool:
    """Queue a message; False when its episode was said before."""
    row = {
        "session_id": session_id,
        "turn_id": new.turn_id,
        "kind": new.kind,
        "episode": new.episode,
        "body": new.body,
        "reply_to": new.reply_to,
        "card": card_to_json(new.card),
        "files": files_to_json(new.files),
        "created_at_us": now_us,
    }
    return _ADD.scalar(tx, row) is not None


@dataclass(frozen=True, slots=True)
class DeliveryLease:
    """What a delivery takes of a thread."""

    owner: str
    until_us: int
    is_renewed: bool
    """The owner may hold it already."""


def find_due(
    tx: Connection, owner: str, platforms: Collection[str], now_us: int, limit: int
) -> list[SessionId]:
    """Sessions on these platforms whose head is due and delivered by nobody else, oldest first.

    What stands behind a head that has to wait is not due, however long it has been there.
    """
    heads = (
        select(func.min(outbox.c.id).label("id"))
        .where(outbox.c.state.in_(OPEN_STATES))
        .group_by(outbox.c.session_id)
        .subquery()
    )
    rows = tx.execute(
        select(outbox.c.session_id)
        .join(heads, heads.c.id == outbox.c.id)
        .join(threads, threads.c.session_id == outbox.c.session_id)
        .where(
            outbox.c.due_at_us <= now_us,
            threads.c.platform.in_(platforms),
            or_(threads.c.delivery_until_us < now_us, threads.c.delivery_owner == owner),
        )
        .order_by(outbox.c.id)
        .limit(limit)
    )
    return [SessionId(row.session_id) for row in rows]


def read_head(tx: Connection, session_id: SessionId) -> OutboxRow | None:
    """The oldest open row of a thread with its parts."""
    row = _HEAD.first(tx, {"session": session_id})
    if row is None:
        return None
    is_planned = row.state != "queued"
    thread = Thread(row.platform, row.workspace, row.channel, row.thread)
    return OutboxRow(
        id=row.id,
        session_id=SessionId(row.session_id),
        turn_id=row.turn_id,
        kind=row.kind,
        episode=row.episode,
        body=row.body,
        card=card_from_json(row.card),
        files=files_from_json(row.files),
        state=row.state,
        attempts=row.attempts,
        due_at_us=row.due_at_us,
        created_at_us=row.created_at_us,
        place=Place(thread, row.reply_to),
        parts=read_parts(tx, row.id) if is_planned else (),
    )


def read_parts(tx: Connection, outbox_id: int) -> tuple[PartRow, ...]:
    """A row's parts in order."""
    rows = _PARTS.rows(tx, {"row": outbox_id})
    return tuple(
        PartRow(
            row.number,
            Part(orjson.loads(row.payload), row.plain, file_from_json(row.file)),
            row.state,
            row.edits,
            row.message_id,
            row.error,
        )
        for row in rows
    )


def take_delivery(
    tx: Connection, session_id: SessionId, lease: DeliveryLease, now_us: int
) -> int | None:
    """Take the thread's delivery lease; its epoch, or None while it is held."""
    values = {
        "session": session_id,
        "owner": lease.owner,
        "held_by": lease.owner if lease.is_renewed else None,
        "now_us": now_us,
        "until_us": lease.until_us,
    }
    return _TAKE.scalar(tx, values)


def require_delivery(
    tx: Connection, session_id: SessionId, epoch: int, until_us: int | None = None
) -> None:
    """Pass only while `epoch` holds the thread's delivery; extends it when asked."""
    held = _HELD_EPOCH.scalar(tx, {"session": session_id})
    if held != epoch:
        raise StaleEpochError(session_id, epoch)
    if until_us is not None:
        _HOLD_ON.run(tx, {"session": session_id, "until_us": until_us})


def give_back_delivery(tx: Connection, session_id: SessionId, epoch: int) -> None:
    """Give the delivery lease back; raises `StaleEpochError` when it is not held any more."""
    if _RELEASE.scalar(tx, {"session": session_id, "held": epoch}) is None:
        raise StaleEpochError(session_id, epoch)


def has_open(tx: Connection, session_id: SessionId) -> bool:
    """Whether anything of the thread is still to be delivered."""
    return _OPEN.scalar(tx, {"session": session_id}) is not None


def plan_parts(tx: Connection, outbox_id: int, parts: Sequence[PlannedPart]) -> tuple[PartRow, ...]:
    """Fix a row's parts before the first of them is sent, and return them as they are stored."""
    _PLAN.run_many(
        tx,
        [
            {
                "outbox_id": outbox_id,
                "number": number,
                "payload": orjson.dumps(planned.part.payload).decode(),
                "plain": planned.part.plain,
                "edits": planned.edits,
                "file": file_to_json(planned.part.file),
            }
            for number, planned in enumerate(parts)
        ],
    )
    _BEGIN_SENDING.run(tx, {"row": outbox_id})
    return tuple(
        PartRow(number, planned.part, "planned", planned.edits, "")
        for number, planned in enumerate(parts)
    )


def set_part(tx: Connection, outbox_id: int, number: int, state: str, **values: Any) -> None:
    """Move one part to a receipt's state."""
    changes = {f"new_{name}": values.get(name) for name in _PART_CHANGES}
    _SET_PART.run(tx, {"row": outbox_id, "part": number, "new_state": state, **changes})


def is_other_part(
    tx: Connection, session_id: SessionId, message_id: str, part: tuple[int, int]
) -> bool:
    """Whether a message of the thread is recorded as a part other than that one (row, number)."""
    found = tx.execute(
        select(outbox_parts.c.outbox_id, outbox_parts.c.number)
        .join(outbox, outbox.c.id == outbox_parts.c.outbox_id)
        .where(outbox.c.session_id == session_id, outbox_parts.c.message_id == message_id)
    )
    return any((row.outbox_id, row.number) != part for row in found)


def end_from_parts(tx: Connection, outbox_id: int, now_us: int) -> tuple[str, str]:
    """Close a row by its parts: `sent` when any of them is or may be there, else `not_applied`.

    Returns the state and its reason.
    """
    rows = _PART_STATES.rows(tx, {"row": outbox_id})
    is_sent = any(row.state in ("committed", "reconciled", "uncertain") for row in rows)
    reason = next((row.error for row in rows if row.error), "")
    state = "sent" if is_sent else "not_applied"
    end_row(tx, outbox_id, state, now_us, reason)
    return state, reason


def find_refused(tx: Connection, outbox_id: int) -> str | None:
    """Why the platform refused a part of the row for good; None: it refused none."""
    return tx.execute(
        select(outbox_parts.c.error)
        .where(outbox_parts.c.outbox_id == outbox_id, outbox_parts.c.state == "not_applied")
        .limit(1)
    ).scalar_one_or_none()


def end_row(tx: Connection, outbox_id: int, state: str, now_us: int, reason: str = "") -> None:
    """Close a row as `sent` or `not_applied`."""
    _END.run(tx, {"row": outbox_id, "new_state": state, "why": reason, "now_us": now_us})


def postpone_row(tx: Connection, outbox_id: int, due_at_us: int, reason: str) -> None:
    """Try the row again later."""
    tx.execute(
        update(outbox)
        .where(outbox.c.id == outbox_id)
        .values(due_at_us=due_at_us, attempts=outbox.c.attempts + 1, reason=reason)
    )
