"""A card at the terminal: what is asked, whole, and which answer a typed line is; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geode.cli.chat_text import clean_line, clean_text

LATER = ("later", "l")
"""Puts the question aside; it waits on."""


@dataclass(frozen=True, slots=True)
class CardButton:
    """One answer."""

    label: str
    asks: str


@dataclass(frozen=True, slots=True)
class ShownCard:
    """A card as a client prints it."""

    message_id: str
    title: str
    body: str
    fields: tuple[tuple[str, str], ...]
    buttons: tuple[CardButton, ...]

    @property
    def question(self) -> str:
        """The answers on one line, as they are chosen."""
        return "  ".join(f"{n}) {b.label}" for n, b in enumerate(self.buttons, start=1))


def read_card(row: dict[str, Any]) -> ShownCard | None:
    """The card of a message; None: it has none."""
    card = row.get("card")
    if not card:
        return None
    return ShownCard(
        str(row["id"]),
        clean_line(card["title"]),
        clean_text(card["body"]),
        tuple((clean_line(name), clean_text(value)) for name, value in card["fields"]),
        tuple(CardButton(clean_line(b["label"]), clean_text(b["asks"])) for b in card["buttons"]),
    )


def choose(typed: str, buttons: Sequence[CardButton]) -> int | None:
    """The number of the answer that a line names by its number or its whole label; None: none."""
    wanted = clean_line(typed).removesuffix(")").casefold()
    for number, button in enumerate(buttons, start=1):
        if wanted and wanted in (str(number), button.label.casefold()):
            return number
    return None
