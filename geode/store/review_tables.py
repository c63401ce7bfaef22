"""The tables of verification: answers that wait for people, and anchors of pruned timelines."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, Text, UniqueConstraint

from geode.store.tables import big_column, metadata, text_column

reviews = Table(
    "reviews",
    metadata,
    Column("id", Text, primary_key=True),
    text_column("session_id"),
    text_column("turn_id"),
    big_column("chapter"),
    big_column("number"),
    text_column("pending_text"),
    text_column("candidate_hash"),
    text_column("reason"),
    text_column("outcome"),
    text_column("rule"),
    text_column("misses"),
    text_column("reflection", ""),
    text_column("evidence"),
    big_column("is_personal", 0),
    text_column("state", "open"),
    text_column("words", ""),
    text_column("decided_by", ""),
    text_column("decider_name", ""),
    big_column("asked_at_us"),
    big_column("reminded_at_us"),
    big_column("decided_at_us", 0),
    big_column("applied_at_us", 0),
    UniqueConstraint("turn_id", "number"),
    Index("reviews_session", "session_id"),
    Index("reviews_state", "state", "reminded_at_us"),
    sqlite_strict=True,
)
"""`reason`: the deliverable stop of the candidate; `outcome` and `rule`: why it was not accepted.

`misses` and `evidence`: JSON; `state`: open | released | revising | rejected | rejudging |
withdrawn; `applied_at_us`: when its turn took the decision up, 0 before.
"""

timeline_anchors = Table(
    "timeline_anchors",
    metadata,
    Column("session_id", Text, primary_key=True),
    big_column("seq"),
    text_column("hash"),
    big_column("rows_pruned"),
    big_column("pruned_at_us"),
    sqlite_strict=True,
)
"""The last row that was pruned of a session's timeline: what stays is chained to its hash."""
