"""The tables of what people decide about tools: calls, grants, definitions, trusted files."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, Text

from geode.store.tables import big_column, metadata, text_column

approvals = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    text_column("session_id"),
    text_column("turn_id"),
    big_column("chapter"),
    big_column("step"),
    big_column("position"),
    text_column("tool"),
    text_column("tool_digest"),
    text_column("effect"),
    text_column("arguments"),
    text_column("requesters"),
    text_column("request_hash"),
    text_column("action_hash"),
    text_column("state", "pending"),
    text_column("scope", ""),
    text_column("reason", ""),
    text_column("decided_by", ""),
    big_column("asked_at_us"),
    big_column("expires_at_us", 0),
    big_column("decided_at_us", 0),
    big_column("used_at_us", 0),
    Index("approvals_turn", "turn_id"),
    Index("approvals_state", "state", "expires_at_us"),
    Index("approvals_request", "session_id", "request_hash"),
    sqlite_strict=True,
)
"""A call that waits for a person, or did; `id` is the call's operation id.

`state`: pending | approved | denied | expired | undeliverable | withdrawn; `used_at_us`: when an
approved call began, not 0 from then on, so that one approval begins one call; `scope`: once or
session; `request_hash`: tool, definition and arguments; `action_hash`: these, and in whose name.
"""

session_grants = Table(
    "session_grants",
    metadata,
    text_column("session_id"),
    big_column("chapter"),
    text_column("tool"),
    text_column("tool_digest"),
    text_column("requester"),
    text_column("granted_by"),
    big_column("granted_at_us"),
    PrimaryKeyConstraint("session_id", "chapter", "tool", "tool_digest", "requester"),
    sqlite_strict=True,
)
"""Tools that need not ask again for this requester until the chapter ends or they change."""

pinned_tools = Table(
    "pinned_tools",
    metadata,
    text_column("server"),
    text_column("tool"),
    text_column("digest"),
    text_column("definition"),
    text_column("offered_digest", ""),
    text_column("offered", ""),
    text_column("accepted_by"),
    big_column("accepted_at_us"),
    big_column("seen_at_us"),
    PrimaryKeyConstraint("server", "tool"),
    sqlite_strict=True,
)
"""Definitions of other servers' tools as they were accepted; `offered`: another one since, or
empty."""

trusted_files = Table(
    "trusted_files",
    metadata,
    Column("path", Text, primary_key=True),
    text_column("digest"),
    text_column("trusted_by"),
    big_column("trusted_at_us"),
    sqlite_strict=True,
)
"""Project files that an operator accepted, by absolute path and SHA-256."""
