"""Cards as messages with buttons, and a turn's steps as lines: within the limits, inert; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from channels.discord.inert import make_inert
from channels.text import cut_text, utf16_length
from geode.messages import Button, Card, JsonObject, JsonValue, ProgressStep

BUTTON, ROW = 2, 1
BUTTONS_MAX = 5
LABEL_CHARS_MAX = 80
ID_CHARS_MAX = 100
STEPS_MAX = 10
PRESS, ASK = "press", "ask"
_STYLES = {"primary": 1, "plain": 2, "danger": 4}
_STATES = {"pending": "○", "running": "…", "done": "✓", "failed": "✗"}
_MARKUP = re.compile(r"([\\*_~`|\[\]])")
_LINE_START = re.compile(r"^(\s*)([#>+-])", re.MULTILINE)


def card_markdown(card: Card) -> str:
    """A card's words, the title above all and the named values below."""
    fields = [f"**{plain_words(name)}:** {value}" for name, value in card.fields]
    title = f"**{plain_words(card.title)}**" if card.title.strip() else ""
    return "\n\n".join(piece for piece in (title, card.body.strip(), "\n".join(fields)) if piece)


def plain_words(text: str) -> str:
    """Plain text as Markdown that shows exactly this, in one line."""
    escaped = _MARKUP.sub(r"\\\1", " ".join(text.split()))
    return _LINE_START.sub(r"\1\\\2", escaped)


def steps_markdown(markdown: str, steps: Sequence[ProgressStep]) -> str:
    """A progress line with what was done so far below it."""
    lines = [f"{_STATES[step.state]} {plain_words(step.title)}" for step in steps[-STEPS_MAX:]]
    return "\n".join([markdown, *lines])


def button_rows(buttons: Sequence[Button]) -> list[JsonValue]:
    """The buttons as the one row that a card has, or nothing."""
    shown: list[JsonValue] = [_button_json(button) for button in buttons[:BUTTONS_MAX]]
    row: JsonObject = {"type": ROW, "components": shown}
    return [row] if shown else []


def _button_json(button: Button) -> JsonObject:
    return {
        "type": BUTTON,
        "style": _STYLES[button.style],
        "label": cut_text(button.label, LABEL_CHARS_MAX, utf16_length)[0],
        "custom_id": button_id(button),
    }


def button_id(button: Button) -> str:
    """What comes back with a press; a prompt travels along, so that nothing is remembered here."""
    if not button.asks:
        return f"{PRESS}:{button.nonce}"
    prompt = make_inert(" ".join(button.asks.split()))
    return cut_text(f"{ASK}:{button.nonce}:{prompt}", ID_CHARS_MAX, utf16_length)[0]
