"""The service in figures, and what waits for people: counted from what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select, text

from geode.messages import JsonObject
from geode.store.card_json import card_from_json
from geode.store.receipts import ReceiptState
from geode.store.review_tables import reviews
from geode.store.reviews import OPEN
from geode.store.spent import Spent
from geode.store.standing import sum_all
from geode.store.tables import cards, inbox, outbox, receipts, sessions, threads
from geode.store.tables import turns as turn_rows
from geode.store.views import OUTBOX_OPEN

MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Totals over everything that is stored."""

    sessions: Mapping[str, int]
    """By state."""
    turns: Mapping[str, int]
    """Those that ended, by the reason."""
    messages_queued: int
    outbox_open: int
    cards_open: int
    effects_uncertain: int
    reviews_open: int
    spent: Spent


def count_figures(tx: Connection) -> Figures:
    """Count everything once."""
    return Figures(
        sessions=_count_by(tx, sessions.c.state),
        turns=_count_by(tx, turn_rows.c.reason, turn_rows.c.ended_at_us > 0),
        messages_queued=_count(tx, inbox.c.state == "queued", inbox.c.kind == "message"),
        outbox_open=_count(tx, outbox.c.state.in_(OUTBOX_OPEN)),
        cards_open=_count(tx, cards.c.state == "open"),
        effects_uncertain=_count(tx, receipts.c.state == ReceiptState.UNCERTAIN),
        reviews_open=_count(tx, reviews.c.state == OPEN),
        spent=sum_all(tx, 0),
    )


def list_open_cards(tx: Connection, limit: int, now_us: int) -> list[JsonObject]:
    """Cards that wait for somebody, oldest first; their nonces stay where they are."""
    rows = tx.execute(
        select(
            cards,
            outbox.c.card,
            threads.c.platform,
            threads.c.workspace,
            threads.c.channel,
            threads.c.thread,
        )
        .join(threads, threads.c.session_id == cards.c.session_id)
        .join(outbox, (outbox.c.kind == "card") & (outbox.c.episode == cards.c.id), isouter=True)
        .where(cards.c.state == "open")
        .order_by(cards.c.created_at_us, cards.c.id)
        .limit(limit)
    )
    return [_card_object(row, now_us) for row in rows]


def _card_object(row: Row[Any], now_us: int) -> JsonObject:
    card = card_from_json(row.card or "")
    place = (row.platform, row.workspace, row.channel, row.thread)
    return {
        "id": row.id,
        "kind": row.kind,
        "subject": row.subject,
        "title": card.title if card else row.kind,
        "session": row.session_id,
        "thread": "/".join(part for part in place if part),
        "age_s": max(0, now_us - row.created_at_us) // MICRO,
    }


def probe(tx: Connection) -> None:
    """Nothing, inside a transaction of the writer: that it commits is the answer."""
    tx.execute(text("select 1"))


def _count(tx: Connection, *conditions: Any) -> int:
    return tx.execute(select(func.count()).where(*conditions)).scalar_one()


def _count_by(tx: Connection, column: Any, *conditions: Any) -> dict[str, int]:
    rows = tx.execute(select(column, func.count()).where(*conditions).group_by(column))
    return {str(row[0]): row[1] for row in rows}
