"""Cards with their choices, files in both directions, conversations that moved."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

TEXT = sa.Text()
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns with empty defaults, create the tables, drop what nobody reads."""
    for table, column in (
        ("inbox", "files"),
        ("outbox", "card"),
        ("outbox", "files"),
        ("outbox_parts", "file"),
        ("turns", "stopped_by"),
    ):
        op.add_column(table, sa.Column(column, TEXT, server_default="", nullable=False))
    op.add_column("sessions", sa.Column("chapter_due", BIG, server_default="0", nullable=False))
    op.create_index("inbox_first", "inbox", ["session_id", "kind", "order_key"])
    _create_cards()
    _create_card_choices()
    _create_moves()
    for column in ("order_key", "message_id"):
        op.drop_column("cursors", column)


def _create_cards() -> None:
    op.create_table(
        "cards",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("state", TEXT, server_default="open", nullable=False),
        sa.Column("choice", TEXT, server_default="", nullable=False),
        sa.Column("words", TEXT, server_default="", nullable=False),
        sa.Column("decided_by", TEXT, server_default="", nullable=False),
        sa.Column("message_id", TEXT, server_default="", nullable=False),
        sa.Column("created_at_us", BIG, nullable=False),
        sa.Column("decided_at_us", BIG, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_index("cards_subject", "cards", ["kind", "subject"])
    op.create_index("cards_state", "cards", ["state", "session_id"])


def _create_card_choices() -> None:
    op.create_table(
        "card_choices",
        sa.Column("nonce", TEXT, nullable=False),
        sa.Column("card_id", TEXT, nullable=False),
        sa.Column("choice", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("nonce"),
        sqlite_strict=True,
    )
    op.create_index("card_choices_card", "card_choices", ["card_id"])


def _create_moves() -> None:
    op.create_table(
        "moves",
        sa.Column("platform", TEXT, nullable=False),
        sa.Column("workspace", TEXT, nullable=False),
        sa.Column("old_channel", TEXT, nullable=False),
        sa.Column("new_channel", TEXT, nullable=False),
        sa.Column("at_us", BIG, nullable=False),
        sa.PrimaryKeyConstraint("platform", "workspace", "old_channel"),
        sqlite_strict=True,
    )
