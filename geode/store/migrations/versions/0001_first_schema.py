"""The first schema: sessions, their mail, their records."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TEXT = sa.Text()
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create every table."""
    _create_checkpoints()
    _create_cursors()
    _create_dedupe()
    _create_inbox()
    _create_memories()
    _create_messages()
    _create_outbox()
    _create_outbox_parts()
    _create_receipt_keys()
    _create_receipts()
    _create_sessions()
    _create_threads()
    _create_timeline()
    _create_turns()


def _create_checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("turn_id", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("batch", TEXT, server_default="", nullable=False),
        sa.Column("epoch", BIG, nullable=False),
        sa.Column("updated_at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("session_id"),
        sqlite_strict=True,
    )


def _create_cursors() -> None:
    op.create_table(
        "cursors",
        sa.Column("platform", TEXT, nullable=False),
        sa.Column("workspace", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("thread", TEXT, nullable=False),
        sa.Column("order_key", TEXT, nullable=False),
        sa.Column("message_id", TEXT, nullable=False),
        sa.Column("floor_key", TEXT, nullable=False),
        sa.Column("floor_id", TEXT, nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("platform", "workspace", "channel", "thread"),
        sqlite_strict=True,
    )


def _create_dedupe() -> None:
    op.create_table(
        "dedupe",
        sa.Column("platform", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("outcome", TEXT, nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("platform", "key"),
        sqlite_strict=True,
    )


def _create_inbox() -> None:
    op.create_table(
        "inbox",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("message_id", TEXT, nullable=False),
        sa.Column("order_key", TEXT, nullable=False),
        sa.Column("sender_id", TEXT, nullable=False),
        sa.Column("sender_name", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("kind", TEXT, server_default="message", nullable=False),
        sa.Column("reply_to", TEXT, server_default="", nullable=False),
        sa.Column("state", TEXT, server_default="queued", nullable=False),
        sa.Column("turn_id", TEXT, server_default="", nullable=False),
        sa.Column("received_at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index("inbox_message", "inbox", ["session_id", "message_id"], unique=False)
    op.create_index("inbox_session", "inbox", ["session_id", "state"], unique=False)
    op.create_index("inbox_state", "inbox", ["state"], unique=False)
    op.create_index("inbox_turn", "inbox", ["turn_id"], unique=False)


def _create_memories() -> None:
    op.create_table(
        "memories",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("binding", TEXT, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("operation_id", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("created_at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("operation_id"),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index("memories_binding", "memories", ["binding", "id"], unique=False)


def _create_messages() -> None:
    op.create_table(
        "messages",
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("turn_id", TEXT, nullable=False),
        sa.Column("chapter", BIG, nullable=False),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("provider", TEXT, server_default="", nullable=False),
        sa.Column("opaque", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("session_id", "position"),
        sqlite_strict=True,
    )


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("turn_id", TEXT, server_default="", nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("episode", TEXT, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("reply_to", TEXT, server_default="", nullable=False),
        sa.Column("state", TEXT, server_default="queued", nullable=False),
        sa.Column("reason", TEXT, server_default="", nullable=False),
        sa.Column("attempts", BIG, server_default="0", nullable=False),
        sa.Column("due_at_us", BIG, server_default="0", nullable=False),
        sa.Column("created_at_us", BIG, nullable=False),
        sa.Column("done_at_us", BIG, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("session_id", "kind", "episode"),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index("outbox_state", "outbox", ["state", "session_id", "id"], unique=False)
    op.create_index("outbox_turn", "outbox", ["turn_id"], unique=False)


def _create_outbox_parts() -> None:
    op.create_table(
        "outbox_parts",
        sa.Column("outbox_id", BIG, nullable=False),
        sa.Column("number", BIG, nullable=False),
        sa.Column("payload", TEXT, nullable=False),
        sa.Column("plain", TEXT, nullable=False),
        sa.Column("state", TEXT, server_default="planned", nullable=False),
        sa.Column("edits", TEXT, server_default="", nullable=False),
        sa.Column("message_id", TEXT, server_default="", nullable=False),
        sa.Column("error", TEXT, server_default="", nullable=False),
        sa.Column("at_us", BIG, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("outbox_id", "number"),
        sqlite_strict=True,
    )


def _create_receipt_keys() -> None:
    op.create_table(
        "receipt_keys",
        sa.Column("receipt_id", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("receipt_id", "key"),
        sqlite_strict=True,
    )
    op.create_index("receipt_keys_key", "receipt_keys", ["key"], unique=False)


def _create_receipts() -> None:
    op.create_table(
        "receipts",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("turn_id", TEXT, nullable=False),
        sa.Column("step", BIG, nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("binding", TEXT, nullable=False),
        sa.Column("mode", TEXT, nullable=False),
        sa.Column("tool", TEXT, nullable=False),
        sa.Column("effect", TEXT, nullable=False),
        sa.Column("call_id", TEXT, nullable=False),
        sa.Column("arguments", TEXT, nullable=False),
        sa.Column("arguments_hash", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("result", TEXT, server_default="", nullable=False),
        sa.Column("error", TEXT, server_default="", nullable=False),
        sa.Column("epoch", BIG, nullable=False),
        sa.Column("prepared_at_us", BIG, nullable=False),
        sa.Column("settled_at_us", BIG, server_default="0", nullable=False),
        sa.Column("settled_by", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_index("receipts_state", "receipts", ["state"], unique=False)
    op.create_index("receipts_turn", "receipts", ["session_id", "turn_id"], unique=False)


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("binding", TEXT, nullable=False),
        sa.Column("mode", TEXT, nullable=False),
        sa.Column("state", TEXT, server_default="idle", nullable=False),
        sa.Column("chapter", BIG, server_default="1", nullable=False),
        sa.Column("epoch", BIG, server_default="0", nullable=False),
        sa.Column("lease_owner", TEXT, server_default="", nullable=False),
        sa.Column("lease_until_us", BIG, server_default="0", nullable=False),
        sa.Column("turn_id", TEXT, server_default="", nullable=False),
        sa.Column("next_position", BIG, server_default="0", nullable=False),
        sa.Column("next_turn", BIG, server_default="1", nullable=False),
        sa.Column("timeline_seq", BIG, server_default="0", nullable=False),
        sa.Column("timeline_hash", TEXT, server_default="", nullable=False),
        sa.Column("earlier_before", TEXT, server_default="", nullable=False),
        sa.Column("is_direct", BIG, server_default="0", nullable=False),
        sa.Column("created_at_us", BIG, nullable=False),
        sa.Column("active_at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_index("sessions_state", "sessions", ["state", "lease_until_us"], unique=False)


def _create_threads() -> None:
    op.create_table(
        "threads",
        sa.Column("platform", TEXT, nullable=False),
        sa.Column("workspace", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("thread", TEXT, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("delivery_owner", TEXT, server_default="", nullable=False),
        sa.Column("delivery_epoch", BIG, server_default="0", nullable=False),
        sa.Column("delivery_until_us", BIG, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("platform", "workspace", "channel", "thread"),
        sa.UniqueConstraint("session_id"),
        sqlite_strict=True,
    )


def _create_timeline() -> None:
    op.create_table(
        "timeline",
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.Column("turn_id", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.Column("prev_hash", TEXT, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "seq"),
        sqlite_strict=True,
    )


def _create_turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("number", BIG, nullable=False),
        sa.Column("chapter", BIG, nullable=False),
        sa.Column("mode", TEXT, nullable=False),
        sa.Column("state", TEXT, server_default="running", nullable=False),
        sa.Column("attempts", BIG, server_default="1", nullable=False),
        sa.Column("requesters", TEXT, server_default="[]", nullable=False),
        sa.Column("reply_to", TEXT, server_default="", nullable=False),
        sa.Column("model", TEXT, server_default="", nullable=False),
        sa.Column("steps", BIG, server_default="0", nullable=False),
        sa.Column("spent_us", BIG, server_default="0", nullable=False),
        sa.Column("reason", TEXT, server_default="", nullable=False),
        sa.Column("verification", TEXT, server_default="", nullable=False),
        sa.Column("input_tokens", BIG, server_default="0", nullable=False),
        sa.Column("output_tokens", BIG, server_default="0", nullable=False),
        sa.Column("cache_read_tokens", BIG, server_default="0", nullable=False),
        sa.Column("cache_write_tokens", BIG, server_default="0", nullable=False),
        sa.Column("cost_micro_usd", BIG, server_default="0", nullable=False),
        sa.Column("started_at_us", BIG, nullable=False),
        sa.Column("ended_at_us", BIG, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_index("turns_session", "turns", ["session_id", "number"], unique=False)
