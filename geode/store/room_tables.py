"""The tables of rooms that GEODE keeps itself."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, UniqueConstraint

from geode.store.tables import BIG, big_column, metadata, text_column

room_messages = Table(
    "room_messages",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
    text_column("platform"),
    text_column("workspace"),
    text_column("channel"),
    text_column("thread"),
    text_column("key"),
    text_column("author_id", ""),
    text_column("author_name", ""),
    text_column("only_for", ""),
    text_column("payload"),
    text_column("files", ""),
    big_column("said_at_us"),
    big_column("revision"),
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
