"""A card as the text of an outbox row, and back; pure."""

from __future__ import annotations

import orjson

from geode.messages import Button, Card


def card_to_json(card: Card | None) -> str:
    """The stored form; empty for no card."""
    if card is None:
        return ""
    buttons = [
        {"label": b.label, "nonce": b.nonce, "style": b.style, "asks": b.asks} for b in card.buttons
    ]
    stored = {"title": card.title, "body": card.body, "fields": card.fields, "buttons": buttons}
    return orjson.dumps(stored).decode()


def card_from_json(text: str) -> Card | None:
    """The card of a stored form; None for the empty text."""
    if not text:
        return None
    stored = orjson.loads(text)
    return Card(
        title=stored["title"],
        body=stored["body"],
        fields=tuple((name, value) for name, value in stored["fields"]),
        buttons=tuple(Button(**button) for button in stored["buttons"]),
    )
