"""Inbox rows: what came in, once, in the platform's order, until a turn has answered it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, case, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import InboundMessage, QuotedMessage, SessionId, TurnId
from geode.store.attachments import (
    Attachment,
    attachments_to_json,
    json_to_attachments,
    refs_to_json,
)
from geode.store.statements import Statement
from geode.store.tables import dedupe, inbox

_REMEMBER = Statement(
    upsert(dedupe).on_conflict_do_nothing().returning(dedupe.c.key),
    ("platform", "key", "outcome", "at_us"),
)
_ADD = Statement(
    insert(inbox).returning(inbox.c.id),
    (
        "session_id",
        "message_id",
        "order_key",
        "sender_id",
        "sender_name",
        "text",
        "kind",
        "state",
        "reply_to",
        "received_at_us",
        "files",
        "skips_verification",
    ),
)
_COUNT = Statement(
    select(
        func.count(case((inbox.c.session_id == bindparam("session"), 1))).label("own"),
        func.count().label("total"),
    ).where(inbox.c.state == "queued", inbox.c.kind == "message")
)
_FIRST_KEY = Statement(
    select(func.min(inbox.c.order_key)).where(
        inbox.c.session_id == bindparam("session"), inbox.c.kind == "message"
    )
)
_WAITING = Statement(
    select(
        inbox.c.id,
        inbox.c.message_id,
        inbox.c.sender_id,
        inbox.c.sender_name,
        inbox.c.text,
        inbox.c.kind,
        inbox.c.reply_to,
        inbox.c.files,
        inbox.c.skips_verification,
    )
    .where(inbox.c.session_id == bindparam("session"), inbox.c.state == "queued")
    .order_by(inbox.c.order_key, inbox.c.id)
)
_TAKE = Statement(
    update(inbox)
    .where(inbox.c.id == bindparam("row"))
    .values(state="taken", turn_id=bindparam("turn"))
)
_HAS_QUEUED = Statement(
    select(inbox.c.id)
    .where(
        inbox.c.session_id == bindparam("session"),
        inbox.c.state == "queued",
        inbox.c.kind == "message",
    )
    .limit(1)
)
_FINISH = Statement(update(inbox).where(inbox.c.turn_id == bindparam("turn")).values(state="done"))
_OF_TURN = Statement(
    select(inbox.c.message_id).where(
        inbox.c.turn_id == bindparam("turn"), inbox.c.kind == "message"
    )
)

_LAST_KEY = Statement(
    select(func.max(inbox.c.order_key)).where(
        inbox.c.turn_id == bindparam("turn"), inbox.c.kind == "message"
    )
)


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One stored message, as a turn sees it."""

    id: int
    message_id: str
    sender_id: str
    sender_name: str
    text: str
    kind: str
    """message | quote | edit"""
    reply_to: str
    files: str = ""
    """As the column has it."""
    skips_verification: int = 0

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """What was attached, and what came of it."""
        return json_to_attachments(self.files)


def remember_event(tx: Connection, platform: str, key: str, outcome: str, now_us: int) -> bool:
    """Record a dedupe key; False when it was known before and nothing may be done again."""
    row = {"platform": platform, "key": key, "outcome": outcome, "at_us": now_us}
    return _REMEMBER.scalar(tx, row) is not None


def forget_events(tx: Connection, before_us: int) -> None:
    """Drop dedupe keys older than any redelivery or catch-up can be."""
    tx.execute(dedupe.delete().where(dedupe.c.at_us < before_us))


def add_message(
    tx: Connection,
    session_id: SessionId,
    message: InboundMessage,
    *,
    kind: str = "message",
    state: str = "queued",
    now_us: int,
) -> int:
    """Store one message, queued unless said otherwise, and return its row id."""
    row = {
        "session_id": session_id,
        "message_id": message.message_id,
        "order_key": message.order_key,
        "sender_id": message.sender.id,
        "sender_name": message.sender.name,
        "text": message.text,
        "kind": kind,
        "state": state,
        "reply_to": message.reply_to,
        "received_at_us": now_us,
        # An edit changes words: the files came with the message itself.
        "files": refs_to_json(message.files) if kind == "message" else "",
        "skips_verification": int(message.skips_verification),
    }
    return _ADD.scalar(tx, row)


def add_quotes(
    tx: Connection, session_id: SessionId, quotes: Sequence[QuotedMessage], now_us: int
) -> None:
    """Queue earlier messages of the thread as quoted data; alone they start no turn."""
    for quote in quotes:
        tx.execute(
            insert(inbox).values(
                session_id=session_id,
                message_id=quote.message_id,
                order_key=quote.order_key,
                sender_id=quote.sender.id,
                sender_name=quote.sender.name,
                text=quote.text,
                kind="quote",
                received_at_us=now_us,
            )
        )


def count_queued(tx: Connection, session_id: SessionId) -> tuple[int, int]:
    """Messages waiting in this session, and in all."""
    counts = _COUNT.first(tx, {"session": session_id})
    return counts.own, counts.total


def read_first_key(tx: Connection, session_id: SessionId) -> str | None:
    """The order key of the first message the session ever had; None while it has none."""
    found = _FIRST_KEY.scalar(tx, {"session": session_id})
    return None if found is None else str(found)


def oldest_queued(tx: Connection, session_id: SessionId) -> int:
    """The row id that names the present backlog of a session; 0 when there is none."""
    found = tx.execute(
        select(func.min(inbox.c.id)).where(
            inbox.c.session_id == session_id, inbox.c.state == "queued"
        )
    ).scalar_one_or_none()
    return found or 0


def change_queued(tx: Connection, session_id: SessionId, message_id: str, text: str | None) -> str:
    """Apply an edit (or, with None, a deletion) to a message.

    Returns "changed" while it was queued, "taken" when a turn has it, "unknown" otherwise.
    """
    row = tx.execute(
        select(inbox.c.id, inbox.c.state).where(
            inbox.c.session_id == session_id,
            inbox.c.message_id == message_id,
            inbox.c.kind == "message",
        )
    ).first()
    if row is None or row.state in ("removed", "skipped"):
        return "unknown"  # no turn has seen it, and none will
    if row.state != "queued":
        return "taken"
    change = {"state": "removed"} if text is None else {"text": text}
    tx.execute(update(inbox).where(inbox.c.id == row.id).values(**change))
    return "changed"


def reword_queued(tx: Connection, session_id: SessionId, message_id: str, text: str) -> bool:
    """Give a message that still waits these words; False when it has them, or waits no more."""
    changed = tx.execute(
        update(inbox)
        .where(
            inbox.c.session_id == session_id,
            inbox.c.message_id == message_id,
            inbox.c.kind == "message",
            inbox.c.state == "queued",
            inbox.c.text != text,
        )
        .values(text=text)
        .returning(inbox.c.id)
    )
    return bool(changed.all())


def change_edit(tx: Connection, session_id: SessionId, message_id: str, text: str | None) -> bool:
    """Replace (with None, remove) the wording of a taken message that waits to be told, if any."""
    change = {"state": "removed"} if text is None else {"text": text}
    changed = tx.execute(
        update(inbox)
        .where(
            inbox.c.session_id == session_id,
            inbox.c.message_id == message_id,
            inbox.c.kind == "edit",
            inbox.c.state == "queued",
        )
        .values(**change)
        .returning(inbox.c.id)
    )
    return bool(changed.all())


def list_queued(tx: Connection, session_id: SessionId) -> list[InboxRow]:
    """Every queued row in the platform's order; empty without a message."""
    queued = [InboxRow(*row) for row in _WAITING.rows(tx, {"session": session_id})]
    return queued if any(row.kind == "message" for row in queued) else []


def take_rows(tx: Connection, rows: Sequence[InboxRow], turn_id: TurnId) -> None:
    """Give the rows to the turn."""
    _TAKE.run_many(tx, [{"row": row.id, "turn": turn_id} for row in rows])


def settle_files(tx: Connection, row: InboxRow, settled: Sequence[Attachment]) -> bool:
    """Write what came of a row's files; False when another worker settled them first."""
    changed = tx.execute(
        update(inbox)
        .where(inbox.c.id == row.id, inbox.c.files == row.files)
        .values(files=attachments_to_json(settled))
        .returning(inbox.c.id)
    )
    return bool(changed.all())


def drop_queued(tx: Connection, session_id: SessionId, before: str) -> list[tuple[str, str]]:
    """Remove the messages that wait, those after the order key `before` excepted, if it is any.

    Returns each one's id and `reply_to`, in no order.
    """
    is_before = [inbox.c.order_key < before] if before else []
    dropped = tx.execute(
        update(inbox)
        .where(
            inbox.c.session_id == session_id,
            inbox.c.state == "queued",
            inbox.c.kind == "message",
            *is_before,
        )
        .values(state="removed")
        .returning(inbox.c.message_id, inbox.c.reply_to)
    )
    return [(row.message_id, row.reply_to) for row in dropped]


def drop_edits(tx: Connection, session_id: SessionId) -> None:
    """Forget the new wordings of taken messages that wait to be told."""
    tx.execute(
        update(inbox)
        .where(
            inbox.c.session_id == session_id,
            inbox.c.state == "queued",
            inbox.c.kind == "edit",
        )
        .values(state="removed")
    )


def has_queued(tx: Connection, session_id: SessionId) -> bool:
    """Whether a message waits for the session's next turn."""
    return _HAS_QUEUED.scalar(tx, {"session": session_id}) is not None


def finish_rows(tx: Connection, turn_id: TurnId) -> None:
    """The turn's messages are answered."""
    _FINISH.run(tx, {"turn": turn_id})


def list_senders(tx: Connection, session_id: SessionId) -> set[str]:
    """Everybody who ever wrote in the session."""
    rows = tx.execute(select(inbox.c.sender_id).where(inbox.c.session_id == session_id).distinct())
    return set(rows.scalars())


def read_last_key(tx: Connection, turn_id: str) -> str:
    """The order key of the last message that a turn answers; empty when it answers none."""
    return str(_LAST_KEY.scalar(tx, {"turn": turn_id}) or "")


def list_turn_messages(tx: Connection, turn_id: str) -> list[str]:
    """Platform ids of the messages a turn answers."""
    return [row.message_id for row in _OF_TURN.rows(tx, {"turn": turn_id})]
