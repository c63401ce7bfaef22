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


def text_column(name: str, default: str | None = None) -> Column[str]:
    if default is None:
        return Column(name, Text, nullable=False)
    return Column(name, Text, nullable=False, server_default=default)


def big_column(name: str, default: int | None = None) -> Column[int]:
    if default is None:
        return Column(name, BIG, nullable=False)
    return Column(name, BIG, nullable=False, server_default=str(default))


sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    text_column("binding"),
    text_column("mode"),
    text_column("state", "idle"),
    big_column("chapter", 1),
    big_column("epoch", 0),
    text_column("lease_owner", ""),
    big_column("lease_until_us", 0),
    text_column("turn_id", ""),
    big_column("next_position", 0),
    big_column("next_turn", 1),
    big_column("timeline_seq", 0),
    text_column("timeline_hash", ""),
    text_column("earlier_before", ""),
    big_column("is_direct", 0),
    big_column("created_at_us"),
    big_column("active_at_us"),
    big_column("chapter_due", 0),
    big_column("compact_due", 0),
    text_column("parent", ""),
    Index("sessions_state", "state", "lease_until_us"),
    sqlite_strict=True,
)
"""`earlier_before`: not empty while the thread's earlier messages are still to be read.

`chapter_due`: 1 when the next turn begins a new chapter; `compact_due`: how often people
asked in this chapter that it is shortened, of which the checkpoint knows the last that was obeyed;
`parent`: the session whose turn began this one, or empty.
"""

threads = Table(
    "threads",
    metadata,
    text_column("platform"),
    text_column("workspace"),
    text_column("channel"),
    text_column("thread"),
    text_column("session_id"),
    text_column("delivery_owner", ""),
    big_column("delivery_epoch", 0),
    big_column("delivery_until_us", 0),
    PrimaryKeyConstraint("platform", "workspace", "channel", "thread"),
    UniqueConstraint("session_id"),
    sqlite_strict=True,
)

dedupe = Table(
    "dedupe",
    metadata,
    text_column("platform"),
    text_column("key"),
    text_column("outcome"),
    big_column("at_us"),
    PrimaryKeyConstraint("platform", "key"),
    sqlite_strict=True,
)

cursors = Table(
    "cursors",
    metadata,
    text_column("platform"),
    text_column("workspace"),
    text_column("channel"),
    text_column("thread"),
    text_column("floor_key"),
    text_column("floor_id"),
    big_column("at_us"),
    PrimaryKeyConstraint("platform", "workspace", "channel", "thread"),
    sqlite_strict=True,
)
"""`floor_key`: nothing before it is missing; `floor_id`: the message it belongs to."""

inbox = Table(
    "inbox",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    text_column("session_id"),
    text_column("message_id"),
    text_column("order_key"),
    text_column("sender_id"),
    text_column("sender_name"),
    text_column("text"),
    text_column("kind", "message"),
    text_column("reply_to", ""),
    text_column("state", "queued"),
    text_column("turn_id", ""),
    big_column("received_at_us"),
    text_column("files", ""),
    big_column("skips_verification", 0),
    Index("inbox_session", "session_id", "state"),
    Index("inbox_message", "session_id", "message_id"),
    Index("inbox_turn", "turn_id"),
    Index("inbox_state", "state"),
    Index("inbox_first", "session_id", "kind", "order_key"),
    sqlite_autoincrement=True,
    sqlite_strict=True,
)
"""`kind`: message | quote | edit; `state`: queued | taken | done | removed | skipped.

`files`: a JSON array of what was attached and what came of it, or empty; `skips_verification`: 1
when its writer, at the terminal, wants its answer without a check.
"""

turns = Table(
    "turns",
    metadata,
    Column("id", Text, primary_key=True),
    text_column("session_id"),
    big_column("number"),
    big_column("chapter"),
    text_column("mode"),
    text_column("state", "running"),
    big_column("attempts", 1),
    text_column("requesters", "[]"),
    text_column("reply_to", ""),
    text_column("model", ""),
    big_column("steps", 0),
    big_column("spent_us", 0),
    text_column("reason", ""),
    text_column("verification", ""),
    big_column("input_tokens", 0),
    big_column("output_tokens", 0),
    big_column("cache_read_tokens", 0),
    big_column("cache_write_tokens", 0),
    big_column("cost_micro_usd", 0),
    big_column("started_at_us"),
    big_column("ended_at_us", 0),
    text_column("stopped_by", ""),
    big_column("judge_calls", 0),
    big_column("judge_input_tokens", 0),
    big_column("judge_output_tokens", 0),
    big_column("judge_cost_micro_usd", 0),
    big_column("repairs", 0),
    big_column("repair_input_tokens", 0),
    big_column("repair_output_tokens", 0),
    big_column("repair_cost_micro_usd", 0),
    big_column("skips_verification", 0),
    big_column("unpriced", 0),
    big_column("judge_unpriced", 0),
    Index("turns_session", "session_id", "number"),
    sqlite_strict=True,
)
"""`stopped_by`: not empty once a person wants the turn to end without an answer.

`cost_micro_usd` and the tokens beside it are the answer's own with its repairs; `repair_*` is the
part of them that the attempts after the first used, `judge_*` comes on top. `skips_verification`:
1 when everybody whose message it answers wants no check of it; `unpriced` and `judge_unpriced`: not
0 when the cost beside them lacks calls whose price nobody knows.
"""

messages = Table(
    "messages",
    metadata,
    text_column("session_id"),
    big_column("position"),
    text_column("turn_id"),
    big_column("chapter"),
    text_column("role"),
    text_column("body"),
    text_column("provider", ""),
    Column("opaque", LargeBinary, nullable=True),
    PrimaryKeyConstraint("session_id", "position"),
    sqlite_strict=True,
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("session_id", Text, primary_key=True),
    text_column("turn_id"),
    text_column("state"),
    text_column("batch", ""),
    big_column("epoch"),
    big_column("updated_at_us"),
    sqlite_strict=True,
)
"""`state`: the loop's own JSON; `batch`: the proposed calls that have no results yet, or empty."""

receipts = Table(
    "receipts",
    metadata,
    Column("id", Text, primary_key=True),
    text_column("session_id"),
    text_column("turn_id"),
    big_column("step"),
    big_column("position"),
    text_column("binding"),
    text_column("mode"),
    text_column("tool"),
    text_column("effect"),
    text_column("call_id"),
    text_column("arguments"),
    text_column("arguments_hash"),
    text_column("state"),
    text_column("result", ""),
    text_column("error", ""),
    big_column("epoch"),
    big_column("prepared_at_us"),
    big_column("settled_at_us", 0),
    text_column("settled_by", ""),
    Index("receipts_turn", "session_id", "turn_id"),
    Index("receipts_state", "state"),
    sqlite_strict=True,
)

receipt_keys = Table(
    "receipt_keys",
    metadata,
    text_column("receipt_id"),
    text_column("key"),
    PrimaryKeyConstraint("receipt_id", "key"),
    Index("receipt_keys_key", "key"),
    sqlite_strict=True,
)

timeline = Table(
    "timeline",
    metadata,
    text_column("session_id"),
    big_column("seq"),
    text_column("turn_id"),
    text_column("kind"),
    text_column("body"),
    big_column("at_us"),
    text_column("prev_hash"),
    text_column("hash"),
    PrimaryKeyConstraint("session_id", "seq"),
    sqlite_strict=True,
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    text_column("session_id"),
    text_column("turn_id", ""),
    text_column("kind"),
    text_column("episode"),
    text_column("body"),
    text_column("reply_to", ""),
    text_column("state", "queued"),
    text_column("reason", ""),
    big_column("attempts", 0),
    big_column("due_at_us", 0),
    big_column("created_at_us"),
    big_column("done_at_us", 0),
    text_column("card", ""),
    text_column("files", ""),
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
    big_column("outbox_id"),
    big_column("number"),
    text_column("payload"),
    text_column("plain"),
    text_column("state", "planned"),
    text_column("edits", ""),
    text_column("message_id", ""),
    text_column("error", ""),
    big_column("at_us", 0),
    text_column("file", ""),
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
    text_column("session_id"),
    text_column("kind"),
    text_column("subject"),
    text_column("state", "open"),
    text_column("choice", ""),
    text_column("words", ""),
    text_column("decided_by", ""),
    text_column("message_id", ""),
    big_column("created_at_us"),
    big_column("decided_at_us", 0),
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
    text_column("card_id"),
    text_column("choice"),
    Index("card_choices_card", "card_id"),
    sqlite_strict=True,
)

moves = Table(
    "moves",
    metadata,
    text_column("platform"),
    text_column("workspace"),
    text_column("old_channel"),
    text_column("new_channel"),
    big_column("at_us"),
    PrimaryKeyConstraint("platform", "workspace", "old_channel"),
    sqlite_strict=True,
)
"""Conversations that their platform gave another id; a binding may still name the old one."""

memories = Table(
    "memories",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    text_column("binding"),
    text_column("session_id"),
    text_column("operation_id"),
    text_column("text"),
    big_column("created_at_us"),
    UniqueConstraint("operation_id"),
    Index("memories_binding", "binding", "id"),
    sqlite_autoincrement=True,
    sqlite_strict=True,
)
