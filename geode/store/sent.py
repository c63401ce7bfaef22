"""Messages for other places: outbox rows under the operation of the call that made them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from geode.messages import Mode, Person, ReceiptId, SessionId, Thread, TurnId
from geode.store.leases import require_epoch
from geode.store.outbox import NewOutbox, add_outbox
from geode.store.sessions import NewSession, bind_session
from geode.store.tables import inbox, outbox

KIND = "sent"
REMINDER = "review_reminder"
TOLD = frozenset({KIND, "card", "card_end", REMINDER})
"""What a place hears in which nobody ever spoke to the agent."""


@dataclass(frozen=True, slots=True)
class NewSent:
    """One message, the call that makes it and the worker that writes it."""

    operation_id: ReceiptId
    session_id: SessionId
    turn_id: TurnId
    epoch: int
    place: Thread
    binding: str
    """Of the place, where one serves it; else empty."""
    text: str


def insert_sent(tx: Connection, new: NewSent, fresh_id: SessionId, now_us: int) -> SessionId:
    """Queue the message in its place's session, made now if it has none; repeating adds nothing."""
    require_epoch(tx, new.session_id, new.epoch)
    made = NewSession(fresh_id, new.binding, Mode.DAEMON, is_direct=False)
    session_id = bind_session(tx, new.place, made, now_us)
    row = NewOutbox(KIND, new.operation_id, new.text, turn_id=new.turn_id)
    add_outbox(tx, session_id, row, now_us)
    return session_id


def count_sent(tx: Connection, turn_id: TurnId) -> int:
    """How many messages a turn has queued for other places."""
    query = select(func.count()).where(outbox.c.turn_id == turn_id, outbox.c.kind == KIND)
    return tx.execute(query).scalar_one()


def has_sent(tx: Connection, turn_id: TurnId, operation_id: ReceiptId) -> bool:
    """Whether the operation's message is queued or delivered."""
    query = select(outbox.c.id).where(
        outbox.c.turn_id == turn_id, outbox.c.kind == KIND, outbox.c.episode == operation_id
    )
    return tx.execute(query).first() is not None


def read_askers(tx: Connection, turn_id: TurnId) -> list[Person]:
    """Who asked in a turn, each once, in the order of their messages."""
    rows = tx.execute(
        select(inbox.c.sender_id, inbox.c.sender_name)
        .where(inbox.c.turn_id == turn_id, inbox.c.kind == "message")
        .order_by(inbox.c.id)
    )
    return list({row.sender_id: Person(row.sender_id, row.sender_name) for row in rows}.values())


def is_only_told(tx: Connection, session_id: SessionId) -> bool:
    """Whether a session without messages is there only because something was sent to its place."""
    kinds = set(
        tx.execute(select(outbox.c.kind).where(outbox.c.session_id == session_id)).scalars()
    )
    return bool(kinds) and kinds <= TOLD
