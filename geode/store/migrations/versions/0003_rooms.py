"""Rooms that GEODE keeps itself, and a conversation that is to be shortened."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TEXT = sa.Text()
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the rooms' messages and add the column with an empty default."""
    op.add_column("sessions", sa.Column("compact_due", BIG, server_default="0", nullable=False))
    op.create_table(
        "room_messages",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("platform", TEXT, nullable=False),
        sa.Column("workspace", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("thread", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("author_id", TEXT, server_default="", nullable=False),
        sa.Column("author_name", TEXT, server_default="", nullable=False),
        sa.Column("only_for", TEXT, server_default="", nullable=False),
        sa.Column("payload", TEXT, nullable=False),
        sa.Column("files", TEXT, server_default="", nullable=False),
        sa.Column("said_at_us", BIG, nullable=False),
        sa.Column("revision", BIG, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("platform", "key"),
        sqlite_strict=True,
        sqlite_autoincrement=True,
    )
    op.create_index(
        "room_messages_place",
        "room_messages",
        ["platform", "workspace", "channel", "thread", "id"],
    )
    op.create_index("room_messages_revision", "room_messages", ["revision"])
