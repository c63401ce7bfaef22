"""What must be true of the spine after the storm: the last look of the state machine."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fakes.loopback import LoopbackPlatform
from fakes.spine_model import SpineModel, Talk
from sqlalchemy import Connection, select

from geode.messages import Thread
from geode.store import sessions
from geode.store.tables import cards, inbox, outbox, outbox_parts, receipts
from geode.store.tables import sessions as session_rows
from geode.store.tables import turns as turn_rows


def check_end(tx: Connection, model: SpineModel, platform: LoopbackPlatform) -> None:
    """Everything is drained: every accepted message is answered or its thread knows why not."""
    states = set(tx.execute(select(session_rows.c.state)).scalars())
    assert states <= {"idle"}
    left = tx.execute(select(inbox.c.kind).where(inbox.c.state.not_in(("done", "removed"))))
    assert set(left.scalars()) <= {"edit"}
    assert set(tx.execute(select(turn_rows.c.state)).scalars()) <= {"done"}
    assert "prepared" not in set(tx.execute(select(receipts.c.state)).scalars())
    for thread, talk in model.talks.items():
        session_id = sessions.find_session(tx, thread)
        _check_thread(tx, session_id, thread, talk)
        _check_posts(tx, session_id, thread, platform)
    _check_uncertain(tx)
    _check_decided(tx)


def _check_thread(tx: Connection, session_id: Any, thread: Thread, talk: Talk) -> None:
    rows = tx.execute(
        select(turn_rows.c.id).where(turn_rows.c.session_id == session_id).order_by("number")
    )
    turn_ids = [row.id for row in rows]
    assert len(turn_ids) == len(talk.answered)
    for turn_id, expected in zip(turn_ids, talk.answered, strict=True):
        found = tx.execute(
            select(inbox.c.message_id).where(inbox.c.turn_id == turn_id, inbox.c.kind == "message")
        ).scalars()
        assert tuple(sorted(found)) == expected
    said = [row for row in _rows_of(tx, session_id) if row.kind == "answer"]
    assert [row.turn_id for row in said] == turn_ids
    kinds = Counter(row.kind for row in _rows_of(tx, session_id))
    assert kinds["held"] == talk.held_notices
    assert bool(kinds["overloaded"]) == bool(talk.refused)


def _rows_of(tx: Connection, session_id: Any) -> list[Any]:
    query = select(outbox).where(outbox.c.session_id == session_id).order_by(outbox.c.id)
    return list(tx.execute(query))


def _check_posts(
    tx: Connection, session_id: Any, thread: Thread, platform: LoopbackPlatform
) -> None:
    """Each part that counts as sent stands there once, below what came before it."""
    posts = {post.id: post for post in platform.posted}
    said = [row for row in _rows_of(tx, session_id) if row.kind == "answer"]
    last = ""
    for row in said:
        assert row.state == "sent" or (row.state == "not_applied" and row.reason)
        query = select(outbox_parts).where(outbox_parts.c.outbox_id == row.id)
        for part in tx.execute(query.order_by(outbox_parts.c.number)):
            if part.state == "not_applied":
                continue
            assert part.state in ("committed", "reconciled")
            assert posts[part.message_id].text == part.plain
            assert posts[part.message_id].place.thread == thread
            assert part.message_id > last
            last = part.message_id


def _check_uncertain(tx: Connection) -> None:
    told = Counter(
        tx.execute(
            select(cards.c.subject)
            .join(outbox, outbox.c.episode == cards.c.id)
            .where(outbox.c.kind == "card", cards.c.kind == "effect", cards.c.state == "open")
        ).scalars()
    )
    unknown = set(
        tx.execute(select(receipts.c.id).where(receipts.c.state == "uncertain")).scalars()
    )
    assert set(told) == unknown
    assert all(count == 1 for count in told.values())


def _check_decided(tx: Connection) -> None:
    """Every card that is over says so once, and its effect is settled by who decided it."""
    decided = tx.execute(
        select(cards.c.id, receipts.c.state, receipts.c.result)
        .join(receipts, receipts.c.id == cards.c.subject)
        .where(cards.c.state == "decided", cards.c.choice == receipts.c.result)
    ).all()
    ends = tx.execute(select(outbox.c.episode).where(outbox.c.kind == "card_end")).scalars()
    assert sorted(ends) == sorted(row.id for row in decided)
    assert {row.state for row in decided} <= {"reconciled"}
