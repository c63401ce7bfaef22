"""What a card says where there are no buttons, and what of it is redacted; pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from geode.messages import Card
from geode.reply.escaping import escape_markdown


def say_card(card: Card) -> str:
    """The card as Markdown: everything but its buttons."""
    fields = "\n".join(f"- {escape_markdown(name)}: {value}" for name, value in card.fields)
    return "\n\n".join(
        piece for piece in (f"**{escape_markdown(card.title)}**", card.body, fields) if piece
    )


def redact_card(card: Card, redact: Callable[[str], str]) -> Card:
    """The card with every text redacted; nonces are ours and stay whole."""
    return replace(
        card,
        title=redact(card.title),
        body=redact(card.body),
        fields=tuple((redact(name), redact(value)) for name, value in card.fields),
        buttons=tuple(
            replace(button, label=redact(button.label), asks=redact(button.asks))
            for button in card.buttons
        ),
    )


def keep_nonces(card: Card | None, redact: Callable[[str], str]) -> Callable[[str], str]:
    """The same redaction around the card's nonces: a random one may look like a secret."""
    if card is None or not card.buttons:
        return redact
    nonces = re.compile("(" + "|".join(re.escape(button.nonce) for button in card.buttons) + ")")

    def redact_around(text: str) -> str:
        # Split by one group, every second piece is a nonce.
        pieces = nonces.split(text)
        return "".join(piece if place % 2 else redact(piece) for place, piece in enumerate(pieces))

    return redact_around
