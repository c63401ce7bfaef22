"""Answers that wait for a person, anchors of pruned timelines, and what verification costs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

TEXT = sa.Text()
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SPEND = (
    "judge_calls",
    "judge_input_tokens",
    "judge_output_tokens",
    "judge_cost_micro_usd",
    "repairs",
    "repair_input_tokens",
    "repair_output_tokens",
    "repair_cost_micro_usd",
)


def _text(name: str, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, TEXT, server_default=default, nullable=False)


def _big(name: str, default: str | None = None) -> sa.Column[int]:
    return sa.Column(name, BIG, server_default=default, nullable=False)


def upgrade() -> None:
    """Create the tables and add the columns with zero in them."""
    for name in (*SPEND, "skips_verification", "unpriced", "judge_unpriced"):
        op.add_column("turns", _big(name, "0"))
    op.add_column("inbox", _big("skips_verification", "0"))
    _create_reviews()
    op.create_table(
        "timeline_anchors",
        _text("session_id"),
        _big("seq"),
        _text("hash"),
        _big("rows_pruned"),
        _big("pruned_at_us"),
        sa.PrimaryKeyConstraint("session_id"),
        sqlite_strict=True,
    )


def _create_reviews() -> None:
    op.create_table(
        "reviews",
        _text("id"),
        _text("session_id"),
        _text("turn_id"),
        _big("chapter"),
        _big("number"),
        _text("pending_text"),
        _text("candidate_hash"),
        _text("reason"),
        _text("outcome"),
        _text("rule"),
        _text("misses"),
        _text("reflection", ""),
        _text("evidence"),
        _big("is_personal", "0"),
        _text("state", "open"),
        _text("words", ""),
        _text("decided_by", ""),
        _text("decider_name", ""),
        _big("asked_at_us"),
        _big("reminded_at_us"),
        _big("decided_at_us", "0"),
        _big("applied_at_us", "0"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("turn_id", "number"),
        sqlite_strict=True,
    )
    op.create_index("reviews_session", "reviews", ["session_id"])
    op.create_index("reviews_state", "reviews", ["state", "reminded_at_us"])
