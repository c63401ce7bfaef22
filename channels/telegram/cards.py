"""A card as Telegram shows it: text, and buttons below its last part; pure."""

from __future__ import annotations

import re
from typing import Final

from channels.telegram.presses import button_to_data
from geode.messages import Button, Card, JsonObject, JsonValue

ROW_BUTTONS_MAX: Final = 2
_SPECIAL = re.compile(r"([\\`*_\[\]<>~|#!()-])")


def escape_markdown(text: str) -> str:
    """Text that stays as it is when it is read as Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def card_to_markdown(card: Card) -> str:
    """Title, body and fields, each in its own paragraph or line."""
    fields = "\n".join(f"**{escape_markdown(name)}**: {value}" for name, value in card.fields)
    title = f"**{escape_markdown(card.title)}**" if card.title.strip() else ""
    return "\n\n".join(part for part in (title, card.body.strip(), fields) if part)


def card_to_keyboard(card: Card) -> JsonObject | None:
    """The buttons in rows; None for a decided card, whose buttons an edit then takes away."""
    shown: list[JsonValue] = [_button(button) for button in card.buttons]
    starts = range(0, len(shown), ROW_BUTTONS_MAX)
    rows: list[JsonValue] = [shown[start : start + ROW_BUTTONS_MAX] for start in starts]
    return {"inline_keyboard": rows} if rows else None


def _button(button: Button) -> JsonObject:
    data = button_to_data(button.nonce, is_asking=bool(button.asks))
    return {"text": button.label, "callback_data": data}
