"""An answer that waits for a decision, as a question at the terminal; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geode.cli.chat_card import CardButton, ShownCard
from geode.cli.chat_text import clean_line
from geode.reply import review_cards

SHOW = "show"
_MARK = "review:"
_TITLE = "Release this answer?"
_BODY = (
    "The answer did not pass its check, so it is not shown yet. Nobody but you is asked; "
    "until somebody decides, this conversation waits."
)


def ask_about_review(review: Mapping[str, Any]) -> ShownCard:
    """The question; nothing of the answer is in it until the person asks to see it."""
    may_judge = review["outcome"] == review_cards.VERIFICATION_ERROR
    choices = review_cards.list_choices(may_judge=may_judge)
    buttons = (CardButton("Show", ""), *(CardButton(each.label, each.asks) for each in choices))
    name = clean_line(review["id"])
    return ShownCard(f"{_MARK}{name}", _TITLE, _BODY, (("Review", name),), buttons)


def review_of(card: ShownCard) -> str:
    """The review that a question is about; empty: another kind of question."""
    return card.message_id.removeprefix(_MARK) if card.message_id.startswith(_MARK) else ""


def decision_of(number: int) -> str:
    """What the answer of that number means: `show`, or the word of a decision."""
    if number == 1:
        return SHOW
    return review_cards.list_choices(may_judge=True)[number - 2].word
