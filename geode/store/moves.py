"""Conversations that their platform gave another id, and everything of theirs that moves along."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import Thread
from geode.store.tables import moves


def move_place(tx: Connection, old: Thread, new: Thread, now_us: int) -> None:
    """Note that a channel has another id; repeating it changes nothing."""
    row = {
        "platform": old.platform,
        "workspace": old.workspace,
        "old_channel": old.channel,
        "new_channel": new.channel,
        "at_us": now_us,
    }
    tx.execute(upsert(moves).values(row).on_conflict_do_nothing())
