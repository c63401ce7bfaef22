"""Every table, as SQLAlchemy Core knows it: text, bytes and 64-bit integers only.

Times are UTC microseconds, money is micro-USD, truth values are 0 and 1. The same definitions hold
for SQLite (STRICT tables) and Postgres.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()
BIG = BigInteger().with_variant(Integer, "sqlite")


def _text(name: str, default: str | None = None) -> Column[str]:
    if default is None:
        return Column(name, Text, nullable=False)
    return Column(name, Text, nullable=False, server_default=default)


def _big(name: str, default: int | None = None) -> Column[int]:
    if default is None:
        return Column(name, BIG, nullable=False)
    return Column(name, BIG, nullable=False, server_default=str(default))


sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    _text("binding"),
    _text("mode"),
    _text("state", "idle"),
    _big("chapter", 1),
    _big("epoch", 0),
    _text("lease_owner", ""),
    _big("lease_until_us", 0),
    _text("turn_id", ""),
    _big("next_position", 0),
    _big("next_turn", 1),
    _big("timeline_seq", 0),
    _text("timeline_hash", ""),
    _text("earlier_before", ""),
    _big("is_direct", 0),
    _big("created_at_us"),
    _big("active_at_us"),
    _big("chapter_due", 0),
    _big("compact_due", 0),
    Index("sessions_state", "state", "lease_until_us"),
    sqlite_strict=True,
)
"""`earlier_before`: not empty while the thread's earlier messages are still to be read.

`chapter_due`: 1 when the next turn begins a new chapter; `compact_due`: how often people
asked in this chapter that it is shortened, of which the checkpoint knows the last that was obeyed.
"""

threads = Table(
    "threads",
    metadata,
    _text("platform"),
    _text("workspace"),
    _text("channel"),
    _text("thread"),
    _text("session_id"),
    _text("delivery_owner", ""),
    _big("delivery_epoch", 0),
    _big("delivery_until_us", 0),
    PrimaryKeyConstraint("platform", "workspace", "channel", "thread"),
    UniqueConstraint("session_id"),
    sqlite_strict=True,
)

dedupe = Table(
    "dedupe",
    metadata,
    _text("platform"),
    _text("key"),
    _text("outcome"),
    _big("at_us"),
    PrimaryKeyConstraint("platform", "key"),
    sqlite_strict=True,
)

cursors = Table(
    "cursors",
    metadata,
    _text("platform"),
    _text("workspace"),
    _text("channel"),
    _text("thread"),
    _text("floor_key"),
    _text("floor_id"),
    _big("at_us"),
    PrimaryKeyConstraint("platform", "workspace", "channel", "thread"),
    sqlite_strict=True,
)
"""`floor_key`: nothing before it is missing; `floor_id`: the message it belongs to."""

inbox = Table(
    "inbox",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    _text("session_id"),
    _text("message_id"),
    _text("order_key"),
    _text("sender_id"),
    _text("sender_name"),
    _text("text"),
    _text("kind", "message"),
    _text("reply_to", ""),
    _text("state", "queued"),
    _text("turn_id", ""),
    _big("received_at_us"),
    _text("files", ""),
    Index("inbox_session", "session_id", "state"),
    Index("inbox_message", "session_id", "message_id"),
    Index("inbox_turn", "turn_id"),
    Index("inbox_state", "state"),
    Index("inbox_first", "session_id", "kind", "order_key"),
    sqlite_autoincrement=True,
    sqlite_strict=True,
)
"""`kind`: message | quote | edit; `state`: queued | taken | done | removed | skipped.

`files`: a JSON array of what was attached and what came of it, or empty.
"""

turns = Table(
    "turns",
    metadata,
    Column("id", Text, primary_key=True),
    _text("session_id"),
    _big("number"),
    _big("chapter"),
    _text("mode"),
    _text("state", "running"),
    _big("attempts", 1),
    _text("requesters", "[]"),
    _text("reply_to", ""),
    _text("model", ""),
    _big("steps", 0),
    _big("spent_us", 0),
    _text("reason", ""),
    _text("verification", ""),
    _big("input_tokens", 0),
    _big("output_tokens", 0),
    _big("cache_read_tokens", 0),
    _big("cache_write_tokens", 0),
    _big("cost_micro_usd", 0),
    _big("started_at_us"),
    _big("ended_at_us", 0),
    _text("stopped_by", ""),
    Index("turns_session", "session_id", "number"),
    sqlite_strict=True,
)
"""`stopped_by`: not empty once a person wants the turn to end without an answer."""

messages = Table(
    "messages",
    metadata,
    _text("session_id"),
    _big("position"),
    _text("turn_id"),
    _big("chapter"),
    _text("role"),
    _text("body"),
    _text("provider", ""),
    Column("opaque", LargeBinary, nullable=True),
    PrimaryKeyConstraint("session_id", "position"),
    sqlite_strict=True,
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("session_id", Text, primary_key=True),
    _text("turn_id"),
    _text("state"),
    _text("batch", ""),
    _big("epoch"),
    _big("updated_at_us"),
    sqlite_strict=True,
)
"""`state`: the loop's own JSON; `batch`: the proposed calls that have no results yet, or empty."""

receipts = Table(
    "receipts",
    metadata,
    Column("id", Text, primary_key=True),
    _text("session_id"),
    _text("turn_id"),
    _big("step"),
    _big("position"),
    _text("binding"),
    _text("mode"),
    _text("tool"),
    _text("effect"),
    _text("call_id"),
    _text("arguments"),
    _text("arguments_hash"),
    _text("state"),
    _text("result", ""),
    _text("error", ""),
    _big("epoch"),
    _big("prepared_at_us"),
    _big("settled_at_us", 0),
    _text("settled_by", ""),
    Index("receipts_turn", "session_id", "turn_id"),
    Index("receipts_state", "state"),
    sqlite_strict=True,
)

receipt_keys = Table(
    "receipt_keys",
    metadata,
    _text("receipt_id"),
    _text("key"),
    PrimaryKeyConstraint("receipt_id", "key"),
    Index("receipt_keys_key", "key"),
    sqlite_strict=True,
)

timeline = Table(
    "timeline",
    metadata,
    _text("session_id"),
    _big("seq"),
    _text("turn_id"),
    _text("kind"),
    _text("body"),
    _big("at_us"),
    _text("prev_hash"),
    _text("hash"),
    PrimaryKeyConstraint("session_id", "seq"),
    sqlite_strict=True,
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    _text("session_id"),
    _text("turn_id", ""),
    _text("kind"),
    _text("episode"),
    _text("body"),
    _text("reply_to", ""),
    _text("state", "queued"),
    _text("reason", ""),
    _big("attempts", 0),
    _big("due_at_us", 0),
    _big("created_at_us"),
    _big("done_at_us", 0),
    _text("card", ""),
    _text("files", ""),
    UniqueConstraint("session_id", "kind", "episode"),
    Index("outbox_state", "state", "session_id", "id"),
    Index("outbox_turn", "turn_id"),
    sqlite_autoincrement=True,
    sqlite_strict=True,
)
"""`kind`: progress, answer, card, card_end or a notice's name.

`state`: queued | sending | sent | not_applied; `card`: the card as JSON, or empty; `files`: a JSON
array of the files that follow the text, or empty.
"""

outbox_parts = Table(
    "outbox_parts",
    metadata,
    _big("outbox_id"),
    _big("number"),
    _text("payload"),
    _text("plain"),
    _text("state", "planned"),
    _text("edits", ""),
    _text("message_id", ""),
    _text("error", ""),
    _big("at_us", 0),
    _text("file", ""),
    PrimaryKeyConstraint("outbox_id", "number"),
    sqlite_strict=True,
)
"""`state`: planned, then a receipt's own words; `edits`: the message this part replaces, if any.

`file`: the file that the part is, as JSON, or empty.
"""

cards = Table(
    "cards",
    metadata,
    Column("id", Text, primary_key=True),
    _text("session_id"),
    _text("kind"),
    _text("subject"),
    _text("state", "open"),
    _text("choice", ""),
    _text("words", ""),
    _text("decided_by", ""),
    _text("message_id", ""),
    _big("created_at_us"),
    _big("decided_at_us", 0),
    Index("cards_subject", "kind", "subject"),
    Index("cards_state", "state", "session_id"),
    sqlite_strict=True,
)
"""`kind`: what is decided, such as effect; `subject`: its id; `state`: open | decided | withdrawn.

`choice` and `words`: what was decided; `decided_by`: platform and id of the person, or who withdrew
it; `message_id`: the message whose button was pressed.
"""

card_choices = Table(
    "card_choices",
    metadata,
    Column("nonce", Text, primary_key=True),
    _text("card_id"),
    _text("choice"),
    Index("card_choices_card", "card_id"),
    sqlite_strict=True,
)

moves = Table(
    "moves",
    metadata,
    _text("platform"),
    _text("workspace"),
    _text("old_channel"),
    _text("new_channel"),
    _big("at_us"),
    PrimaryKeyConstraint("platform", "workspace", "old_channel"),
    sqlite_strict=True,
)
"""Conversations that their platform gave another id; a binding may still name the old one."""

memories = Table(
    "memories",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    _text("binding"),
    _text("session_id"),
    _text("operation_id"),
    _text("text"),
    _big("created_at_us"),
    UniqueConstraint("operation_id"),
    Index("memories_binding", "binding", "id"),
    sqlite_autoincrement=True,
    sqlite_strict=True,
)

room_messages = Table(
    "room_messages",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    _text("platform"),
    _text("workspace"),
    _text("channel"),
    _text("thread"),
    _text("key"),
    _text("author_id", ""),
    _text("author_name", ""),
    _text("only_for", ""),
    _text("payload"),
    _text("files", ""),
    _big("said_at_us"),
    _big("revision"),
    UniqueConstraint("platform", "key"),
    Index("room_messages_place", "platform", "workspace", "channel", "thread", "id"),
    Index("room_messages_revision", "revision"),
    sqlite_autoincrement=True,
    sqlite_strict=True,
)
"""What was said in the rooms of a channel that is its own platform, such as the web page.

`author_id` is empty for the agent; `only_for`: the one person who sees it; `payload` and `files`
are JSON; `revision` grows with every new or changed message, over all rooms.
"""
