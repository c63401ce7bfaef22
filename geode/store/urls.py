"""Finds the messages of a session that may name an address."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, and_, func, or_, select

from geode.messages import Message, SessionId
from geode.store.children import find_home
from geode.store.conversation import body_to_message
from geode.store.tables import messages

MESSAGES_MAX = 500


def find_mentions(tx: Connection, session_id: SessionId, fragment: str) -> Sequence[Message]:
    """Messages of people and tools whose text contains the ASCII fragment, newest first.

    A child's task is its parent's model speaking, not a person: people speak in the parent.
    """
    home = find_home(tx, session_id)
    is_said = and_(messages.c.session_id == home, messages.c.role.in_(("user", "tool")))
    is_found = and_(messages.c.session_id == session_id, messages.c.role == "tool")
    rows = tx.execute(
        select(messages.c.role, messages.c.body)
        .where(
            or_(is_said, is_found),
            func.lower(messages.c.body).contains(fragment.lower(), autoescape=True),
        )
        .order_by(messages.c.position.desc())
        .limit(MESSAGES_MAX)
    )
    return [body_to_message(row.role, row.body, "", None) for row in rows]
