"""Calls that wait for people, what was granted for a session, and accepted definitions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT = sa.Text()
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(name: str, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, TEXT, server_default=default, nullable=False)


def _big(name: str, default: str | None = None) -> sa.Column[int]:
    return sa.Column(name, BIG, server_default=default, nullable=False)


def upgrade() -> None:
    """Create the gate's tables and add the column with an empty default."""
    op.add_column("sessions", _text("parent", ""))
    _create_approvals()
    op.create_table(
        "session_grants",
        _text("session_id"),
        _big("chapter"),
        _text("tool"),
        _text("tool_digest"),
        _text("requester"),
        _text("granted_by"),
        _big("granted_at_us"),
        sa.PrimaryKeyConstraint("session_id", "chapter", "tool", "tool_digest", "requester"),
        sqlite_strict=True,
    )
    op.create_table(
        "pinned_tools",
        _text("server"),
        _text("tool"),
        _text("digest"),
        _text("definition"),
        _text("offered_digest", ""),
        _text("offered", ""),
        _text("accepted_by"),
        _big("accepted_at_us"),
        _big("seen_at_us"),
        sa.PrimaryKeyConstraint("server", "tool"),
        sqlite_strict=True,
    )
    op.create_table(
        "trusted_files",
        _text("path"),
        _text("digest"),
        _text("trusted_by"),
        _big("trusted_at_us"),
        sa.PrimaryKeyConstraint("path"),
        sqlite_strict=True,
    )


def _create_approvals() -> None:
    op.create_table(
        "approvals",
        _text("id"),
        _text("session_id"),
        _text("turn_id"),
        _big("chapter"),
        _big("step"),
        _big("position"),
        _text("tool"),
        _text("tool_digest"),
        _text("effect"),
        _text("arguments"),
        _text("requesters"),
        _text("request_hash"),
        _text("action_hash"),
        _text("state", "pending"),
        _text("scope", ""),
        _text("reason", ""),
        _text("decided_by", ""),
        _big("asked_at_us"),
        _big("expires_at_us", "0"),
        _big("decided_at_us", "0"),
        _big("used_at_us", "0"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_index("approvals_turn", "approvals", ["turn_id"])
    op.create_index("approvals_state", "approvals", ["state", "expires_at_us"])
    op.create_index("approvals_request", "approvals", ["session_id", "request_hash"])
