"""Rooms that GEODE keeps itself: every message a row, and a revision that tells what changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, Row, Select, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import Person, Thread
from geode.store.file_json import files_from_json, files_to_json
from geode.store.room_tables import room_messages
from geode.transcripts import RoomMessage, RoomThread

ID_DIGITS = 16
"""A message's id is its row's number, padded so that it sorts as text."""

_rows = room_messages.c


def put_message(
    tx: Connection, message: RoomMessage, now_us: int, *, begins_thread: bool
) -> RoomMessage:
    """Keep a message; one that is kept under the same key is returned as it is."""
    place, author = message.thread, message.author
    made = tx.execute(
        upsert(room_messages)
        .values(
            platform=place.platform,
            workspace=place.workspace,
            channel=place.channel,
            thread=place.thread,
            key=message.key,
            author_id="" if author is None else author.id,
            author_name="" if author is None else author.name,
            only_for=message.only_for,
            payload=orjson.dumps(message.payload).decode(),
            files=files_to_json(message.files),
            said_at_us=now_us,
            revision=_next_revision(tx),
        )
        .on_conflict_do_nothing(index_elements=["platform", "key"])
        .returning(_rows.id)
    ).scalar_one_or_none()
    if made is not None and begins_thread:
        own = room_messages.update().where(_rows.id == made)
        tx.execute(own.values(thread=_id_of(made)))
    kept = find_message(tx, place.platform, message.key)
    assert kept is not None, "the key is kept by this row or by an earlier one"
    return kept


def change_message(tx: Connection, message_id: str, payload: str) -> RoomMessage | None:
    """Replace a message's payload; the same again makes no new revision."""
    number = _number_of(message_id)
    changed = tx.execute(
        update(room_messages)
        .where(_rows.id == number, _rows.payload != payload)
        .values(payload=payload, revision=_next_revision(tx))
        .returning(room_messages)
    ).one_or_none()
    if changed is not None:
        return _message_of(changed)
    row = tx.execute(select(room_messages).where(_rows.id == number)).one_or_none()
    return None if row is None else _message_of(row)


def find_message(tx: Connection, platform: str, key: str) -> RoomMessage | None:
    """The message that is kept under the key."""
    query = select(room_messages).where(_rows.platform == platform, _rows.key == key)
    row = tx.execute(query).one_or_none()
    return None if row is None else _message_of(row)


def read_message(tx: Connection, platform: str, message_id: str) -> RoomMessage | None:
    """One message by its id."""
    query = select(room_messages).where(
        _rows.platform == platform, _rows.id == _number_of(message_id)
    )
    row = tx.execute(query).one_or_none()
    return None if row is None else _message_of(row)


def read_thread(tx: Connection, thread: Thread, before: str, limit: int) -> list[RoomMessage]:
    """The last messages of a thread before that id, oldest first."""
    query = _select_room(thread).where(_rows.thread == thread.thread)
    if before:
        query = query.where(_rows.id < _number_of(before))
    rows = tx.execute(query.order_by(_rows.id.desc()).limit(limit)).all()
    return [_message_of(row) for row in reversed(rows)]


def read_people(
    tx: Connection, room: Thread, after: str, since_us: int, limit: int
) -> list[RoomMessage]:
    """What people said in any thread of a room after that id, in order."""
    query = _select_room(room).where(
        _rows.id > _number_of(after), _rows.author_id != "", _rows.said_at_us >= since_us
    )
    return [_message_of(row) for row in tx.execute(query.order_by(_rows.id).limit(limit))]


def read_changes(tx: Connection, platform: str, after: int, limit: int) -> list[RoomMessage]:
    """Messages that are newer than the revision, by revision."""
    query = select(room_messages).where(_rows.platform == platform, _rows.revision > after)
    return [_message_of(row) for row in tx.execute(query.order_by(_rows.revision).limit(limit))]


def read_revision(tx: Connection) -> int:
    """The newest revision; 0 when nothing was said yet."""
    return tx.execute(select(func.coalesce(func.max(_rows.revision), 0))).scalar_one()


def list_threads(tx: Connection, room: Thread, limit: int) -> Sequence[RoomThread]:
    """The threads of a room by their newest message, each with the first one all may see."""
    shown = (
        _select_room(room)
        .with_only_columns(
            func.min(_rows.id).label("first"),
            func.max(_rows.id).label("last"),
            func.max(_rows.said_at_us).label("last_at_us"),
        )
        .where(_rows.only_for == "")
        .group_by(_rows.thread)
        .order_by(func.max(_rows.id).desc())
        .limit(limit)
        .subquery()
    )
    rows = tx.execute(
        select(room_messages, shown.c.last_at_us)
        .join(shown, shown.c.first == _rows.id)
        .order_by(shown.c.last.desc())
    )
    firsts = [(_message_of(row), row.last_at_us) for row in rows]
    return [RoomThread(first.thread, first, last_at_us) for first, last_at_us in firsts]


def _select_room(room: Thread) -> Select[Any]:
    return select(room_messages).where(
        _rows.platform == room.platform,
        _rows.workspace == room.workspace,
        _rows.channel == room.channel,
    )


def _next_revision(tx: Connection) -> int:
    # One writer, so nobody takes the same number between this look and the write.
    return read_revision(tx) + 1


def _id_of(number: int) -> str:
    return str(number).zfill(ID_DIGITS)


def _number_of(message_id: str) -> int:
    """The row of an id as it is written; 0, which is no row, for any other text."""
    is_ours = len(message_id) == ID_DIGITS and message_id.isascii() and message_id.isdecimal()
    return int(message_id) if is_ours else 0


def _message_of(row: Row[Any]) -> RoomMessage:
    author = Person(row.author_id, row.author_name) if row.author_id else None
    return RoomMessage(
        Thread(row.platform, row.workspace, row.channel, row.thread),
        row.key,
        orjson.loads(row.payload),
        author,
        row.only_for,
        files_from_json(row.files),
        _id_of(row.id),
        row.said_at_us,
        row.revision,
    )
