"""Cards: what people decide on, opened with its message, decided or withdrawn exactly once."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from geode.messages import Button, Card, JsonObject, OutboundFile, SessionId
from geode.store.approvals import UNDELIVERABLE, Word, decide_approval
from geode.store.card_json import card_from_json
from geode.store.outbox import NewOutbox, add_outbox
from geode.store.tables import card_choices, cards, outbox, outbox_parts
from geode.store.timeline import TimelineEntry, append_entries

OPEN = "open"
DECIDED = "decided"
WITHDRAWN = "withdrawn"
NONCE_BYTES = 16


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to decide a card: the stored word, and the button that says it."""

    word: str
    label: str
    style: Literal["plain", "primary", "danger"] = "plain"
    asks: str = ""


@dataclass(frozen=True, slots=True)
class NewCard:
    """A card that is about to be opened."""

    kind: str
    subject: str
    card: Card
    """Without buttons: they are made of the choices when it is opened."""
    choices: Sequence[Choice]
    fallback: str
    """Markdown for a channel that shows no buttons."""
    reply_to: str = ""
    turn_id: str = ""
    files: tuple[OutboundFile, ...] = ()
    """What goes with it, such as text that is too long for a card."""


@dataclass(frozen=True, slots=True)
class StoredCard:
    """A card's row."""

    id: str
    session_id: SessionId
    kind: str
    subject: str
    state: str
    choice: str
    decided_by: str
    decided_at_us: int

    @property
    def is_open(self) -> bool:
        """Whether it waits for somebody."""
        return self.state == OPEN


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided, and where they pressed."""

    choice: str
    by: str
    """Platform and id: `slack:U01`."""
    words: str = ""
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class SentCard:
    """What became of a card's message, as far as is known."""

    message_ids: frozenset[str]
    is_whole: bool
    """Every message that may show the card is among them."""
    card: Card


_COLUMNS = (
    cards.c.id,
    cards.c.session_id,
    cards.c.kind,
    cards.c.subject,
    cards.c.state,
    cards.c.choice,
    cards.c.decided_by,
    cards.c.decided_at_us,
)


def open_card(tx: Connection, session_id: SessionId, new: NewCard, now_us: int) -> bool:
    """Open a card and queue its message; False when its subject had a card before."""
    if find_card(tx, new.kind, new.subject) is not None:
        return False
    card_id = "k" + secrets.token_hex(8)
    made = [(choice, _make_button(choice)) for choice in new.choices]
    row = {
        "id": card_id,
        "session_id": session_id,
        "kind": new.kind,
        "subject": new.subject,
        "created_at_us": now_us,
    }
    tx.execute(insert(cards), row)
    named = [
        {"nonce": button.nonce, "card_id": card_id, "choice": choice.word}
        for choice, button in made
    ]
    tx.execute(insert(card_choices), named)
    card = replace(new.card, buttons=tuple(button for _, button in made))
    message = NewOutbox("card", card_id, new.fallback, new.reply_to, new.turn_id, card, new.files)
    return add_outbox(tx, session_id, message, now_us)


def find_card(tx: Connection, kind: str, subject: str) -> StoredCard | None:
    """The card about a subject, in whatever state."""
    row = tx.execute(
        select(*_COLUMNS).where(cards.c.kind == kind, cards.c.subject == subject)
    ).first()
    return None if row is None else _stored(row)


def read_card(tx: Connection, card_id: str) -> StoredCard:
    """The card of that id."""
    return _stored(tx.execute(select(*_COLUMNS).where(cards.c.id == card_id)).one())


def find_pressed(tx: Connection, nonce: str) -> tuple[StoredCard, str] | None:
    """The card whose button carries the nonce, and the choice that the button stands for."""
    row = tx.execute(
        select(*_COLUMNS, card_choices.c.choice.label("pressed"))
        .join(card_choices, card_choices.c.card_id == cards.c.id)
        .where(card_choices.c.nonce == nonce)
    ).first()
    return None if row is None else (_stored(row), row.pressed)


def is_open(tx: Connection, card_id: str) -> bool:
    """Whether the card still waits for somebody."""
    state = tx.execute(select(cards.c.state).where(cards.c.id == card_id)).scalar_one_or_none()
    return state == OPEN


def decide_card(tx: Connection, card: StoredCard, decision: Decision, now_us: int) -> bool:
    """Record a decision; False when the card was no longer open, and then nothing is written."""
    values = {
        "state": DECIDED,
        "choice": decision.choice,
        "words": decision.words,
        "decided_by": decision.by,
        "message_id": decision.message_id,
    }
    if not _close(tx, card.id, values, now_us):
        return False
    _note(tx, card, "card_decided", {"choice": decision.choice, "by": decision.by}, now_us)
    return True


def withdraw_card(tx: Connection, card: StoredCard, by: str, now_us: int) -> bool:
    """Take back a card whose subject was settled elsewhere; False when it was no longer open."""
    if not _close(tx, card.id, {"state": WITHDRAWN, "decided_by": by}, now_us):
        return False
    _note(tx, card, "card_withdrawn", {"by": by}, now_us)
    return True


def end_card(tx: Connection, card: StoredCard, shown: Card, fallback: str, now_us: int) -> None:
    """Queue what the card's message is to say from now on; said once."""
    assert not shown.buttons, "a card that is over has no buttons"
    row = tx.execute(
        select(outbox.c.reply_to, outbox.c.turn_id).where(
            outbox.c.session_id == card.session_id,
            outbox.c.kind == "card",
            outbox.c.episode == card.id,
        )
    ).one()
    message = NewOutbox("card_end", card.id, fallback, row.reply_to, row.turn_id, shown)
    add_outbox(tx, card.session_id, message, now_us)


def read_sent(tx: Connection, card: StoredCard, doubtful: str) -> SentCard:
    """Which messages show the card; `doubtful` is the error of a part that may be there twice."""
    row = tx.execute(
        select(outbox.c.id, outbox.c.card).where(
            outbox.c.session_id == card.session_id,
            outbox.c.kind == "card",
            outbox.c.episode == card.id,
        )
    ).one()
    parts = tx.execute(
        select(outbox_parts.c.message_id, outbox_parts.c.state, outbox_parts.c.error).where(
            outbox_parts.c.outbox_id == row.id
        )
    ).all()
    known = frozenset(part.message_id for part in parts if part.message_id)
    shown = card_from_json(row.card)
    assert shown is not None, "a card's row has its card"
    is_whole = all(
        part.state == "not_applied" or (part.message_id and part.error != doubtful)
        for part in parts
    )
    return SentCard(known, bool(parts) and is_whole, shown)


def list_messages(tx: Connection, session_id: SessionId, card_id: str) -> list[str]:
    """The messages known to show a card, in order; the one in which it was pressed among them."""
    rows = tx.execute(
        select(outbox_parts.c.message_id)
        .join(outbox, outbox.c.id == outbox_parts.c.outbox_id)
        .where(
            outbox.c.session_id == session_id,
            outbox.c.kind == "card",
            outbox.c.episode == card_id,
        )
        .order_by(outbox_parts.c.number)
    ).scalars()
    pressed = tx.execute(select(cards.c.message_id).where(cards.c.id == card_id)).scalar_one()
    return [each for each in dict.fromkeys((*rows, pressed)) if each]


def note_undelivered(
    tx: Connection, session_id: SessionId, card_id: str, reason: str, now_us: int
) -> None:
    """Record that the platform refused a card's message, or a file that belongs to it.

    The card stays open, and whoever can reach it otherwise may settle it; a call that it asked
    about is refused, and its card is over.
    """
    card = read_card(tx, card_id)
    if card.kind == "approval":
        # Nobody can answer what nobody was shown whole: the turn goes on without.
        word = Word(UNDELIVERABLE, "runtime", reason)
        decide_approval(tx, card.subject, word, now_us)
        withdraw_card(tx, card, "runtime", now_us)
    entry = TimelineEntry("card_undelivered", {"card": card_id, "reason": reason})
    append_entries(tx, session_id, [entry], now_us)


def _make_button(choice: Choice) -> Button:
    return Button(choice.label, secrets.token_urlsafe(NONCE_BYTES), choice.style, choice.asks)


def _close(tx: Connection, card_id: str, values: dict[str, str], now_us: int) -> bool:
    """The one compare-and-set that ends a card."""
    moved = tx.execute(
        update(cards)
        .where(cards.c.id == card_id, cards.c.state == OPEN)
        .values(**values, decided_at_us=now_us)
        .returning(cards.c.id)
    ).scalar_one_or_none()
    return moved is not None


def _note(tx: Connection, card: StoredCard, kind: str, more: JsonObject, now_us: int) -> None:
    body: JsonObject = {"card": card.id, "kind": card.kind, "subject": card.subject, **more}
    append_entries(tx, card.session_id, [TimelineEntry(kind, body)], now_us)


def _stored(row: Any) -> StoredCard:
    return StoredCard(
        id=row.id,
        session_id=SessionId(row.session_id),
        kind=row.kind,
        subject=row.subject,
        state=row.state,
        choice=row.choice,
        decided_by=row.decided_by,
        decided_at_us=row.decided_at_us,
    )
