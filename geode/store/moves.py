"""Conversations that their platform gave another id, and everything of theirs that moves along.

In its new place a conversation's messages are numbered anew. What was said before the move keeps
its order in front of what is said after it, and its ids are marked as the old place's, so that they
never name another message.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, literal, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import Thread
from geode.store.tables import (
    cursors,
    inbox,
    memories,
    moves,
    outbox,
    outbox_parts,
    sessions,
    threads,
    turns,
)

IN_FRONT = "0" * 20
"""Before an order key: sorts it in front of every key that a new numbering can give."""


@dataclass(frozen=True, slots=True)
class Move:
    """A channel's id of before, and the one it has now."""

    platform: str
    workspace: str
    old_channel: str
    new_channel: str

    @property
    def old_key(self) -> str:
        """The key of a binding that names the channel as it was called before."""
        return f"{self.platform}:{self.workspace}/{self.old_channel}"

    @property
    def new_key(self) -> str:
        """The key of a binding that names the channel as it is called now."""
        return f"{self.platform}:{self.workspace}/{self.new_channel}"


def move_place(tx: Connection, old: Thread, new: Thread, now_us: int) -> Move | None:
    """Let everything of a channel go on under its new id; repeating it changes nothing.

    Returns the move as it is kept, or None when the new id is one that the channel had before.
    """
    last = _follow(tx, new)
    if last == old.channel:
        return None
    move = Move(old.platform, old.workspace, old.channel, last)
    _keep(tx, move, now_us)
    _move_cursors(tx, move, now_us)
    _move_threads(tx, move)
    return move


def has_threads(tx: Connection, place: Thread) -> bool:
    """Whether a conversation of the channel is stored."""
    found = tx.execute(
        select(threads.c.session_id)
        .where(
            threads.c.platform == place.platform,
            threads.c.workspace == place.workspace,
            threads.c.channel == place.channel,
        )
        .limit(1)
    )
    return found.first() is not None


def list_moves(tx: Connection) -> list[Move]:
    """Every move, each to the id that the channel has now."""
    rows = tx.execute(
        select(
            moves.c.platform, moves.c.workspace, moves.c.old_channel, moves.c.new_channel
        ).order_by(moves.c.at_us, moves.c.old_channel)
    )
    return [Move(*row) for row in rows]


def follow_bindings(tx: Connection, keys: Collection[str]) -> None:
    """Give what belongs to a binding of before to the one that names the new id now."""
    for move in list_moves(tx):
        if move.new_key in keys and move.old_key not in keys:
            for table in (memories, sessions):
                tx.execute(
                    update(table)
                    .where(table.c.binding == move.old_key)
                    .values(binding=move.new_key)
                )


def _follow(tx: Connection, place: Thread) -> str:
    """The id that a channel has now; moves are kept flat, so one look is enough."""
    found = tx.execute(
        select(moves.c.new_channel).where(
            moves.c.platform == place.platform,
            moves.c.workspace == place.workspace,
            moves.c.old_channel == place.channel,
        )
    ).scalar_one_or_none()
    return place.channel if found is None else str(found)


def _keep(tx: Connection, move: Move, now_us: int) -> None:
    tx.execute(
        update(moves)
        .where(
            moves.c.platform == move.platform,
            moves.c.workspace == move.workspace,
            moves.c.new_channel == move.old_channel,
        )
        .values(new_channel=move.new_channel)
    )
    row = {
        "platform": move.platform,
        "workspace": move.workspace,
        "old_channel": move.old_channel,
        "new_channel": move.new_channel,
        "at_us": now_us,
    }
    tx.execute(upsert(moves).values(row).on_conflict_do_nothing())


def _is_in(table: Table, move: Move, channel: str) -> tuple[Any, ...]:
    return (
        table.c.platform == move.platform,
        table.c.workspace == move.workspace,
        table.c.channel == channel,
    )


def _free(tx: Connection, table: Table, move: Move) -> list[str]:
    """The old channel's threads of which the new one has no row yet."""
    taken = select(table.c.thread).where(*_is_in(table, move, move.new_channel))
    rows = tx.execute(
        select(table.c.thread).where(
            *_is_in(table, move, move.old_channel), table.c.thread.not_in(taken)
        )
    )
    return [str(row.thread) for row in rows]


def _move_cursors(tx: Connection, move: Move, now_us: int) -> None:
    """The new place is served from now on; how far the old one was read says nothing of it."""
    for thread in _free(tx, cursors, move):
        tx.execute(
            update(cursors)
            .where(*_is_in(cursors, move, move.old_channel), cursors.c.thread == thread)
            .values(channel=move.new_channel, floor_key="", floor_id="", at_us=now_us)
        )
    tx.execute(cursors.delete().where(*_is_in(cursors, move, move.old_channel)))


def _move_threads(tx: Connection, move: Move) -> None:
    """Bind the sessions to the new channel; a thread that has a session there keeps that one."""
    for thread in _free(tx, threads, move):
        session_id = tx.execute(
            update(threads)
            .where(*_is_in(threads, move, move.old_channel), threads.c.thread == thread)
            .values(channel=move.new_channel)
            .returning(threads.c.session_id)
        ).scalar_one()
        _mark_old_ids(tx, str(session_id), move.old_channel)


def _mark_old_ids(tx: Connection, session_id: str, channel: str) -> None:
    tx.execute(
        update(inbox)
        .where(inbox.c.session_id == session_id)
        .values(
            message_id=_marked(inbox.c.message_id, channel),
            order_key=literal(IN_FRONT) + inbox.c.order_key,
        )
    )
    rows_of_session = select(outbox.c.id).where(outbox.c.session_id == session_id)
    of_session: Sequence[tuple[Any, Any]] = (
        (inbox.c.reply_to, inbox.c.session_id == session_id),
        (turns.c.reply_to, turns.c.session_id == session_id),
        (outbox.c.reply_to, outbox.c.session_id == session_id),
        (outbox_parts.c.message_id, outbox_parts.c.outbox_id.in_(rows_of_session)),
        (outbox_parts.c.edits, outbox_parts.c.outbox_id.in_(rows_of_session)),
    )
    for column, is_of_session in of_session:
        tx.execute(
            update(column.table)
            .where(is_of_session, column != "")
            .values({column.name: _marked(column, channel)})
        )


def _marked(column: Any, channel: str) -> Any:
    return literal(f"{channel}/") + column
