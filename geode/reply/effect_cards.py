"""The card of an effect whose outcome only a person can tell, open and settled; pure."""

from __future__ import annotations

from datetime import UTC, datetime

from geode.messages import Card
from geode.reply.cards import say_card
from geode.reply.escaping import escape_unseen, quote_name
from geode.store.cards import Choice, NewCard
from geode.store.receipts import BY_RUNTIME, DID_NOT, HAPPENED, Receipt

KIND = "effect"
CHOICES = (
    Choice(HAPPENED, "It happened", "primary"),
    Choice(DID_NOT, "It did not happen"),
)
ARGUMENTS_CHARS_MAX = 1_000
"""So that the whole card fits into one message of every platform."""
BY_OPERATOR = "operator:"
"""Before the name of somebody who settled an effect on the command line."""


def ask_about_effect(receipt: Receipt, reply_to: str) -> NewCard:
    """The card that asks people whether the effect happened."""
    settle = f"geode effects settle {receipt.id}"
    body = (
        f"`{receipt.tool}` was interrupted, and I cannot tell whether it happened. "
        f"It will not be run again by itself. An operator settles it here, or on the server: "
        f"`{settle} happened` or `{settle} did-not`."
    )
    shown = _show_arguments(receipt)
    card = Card(f"Did {receipt.tool} happen?", f"{body}\n\n{shown}", _name_effect(receipt))
    return NewCard(KIND, receipt.id, card, CHOICES, say_card(card), reply_to, receipt.turn_id)


def show_settled(receipt: Receipt, who: str, at_us: int) -> Card:
    """The same card once it is settled: what came of it, by whom and when; no buttons."""
    body = f"**{describe_settled(receipt)}** Settled by {who}, {show_time(at_us)}."
    title = f"Settled: {receipt.tool}"
    return Card(title, f"{body}\n\n{_show_arguments(receipt)}", _name_effect(receipt))


def describe_settled(receipt: Receipt) -> str:
    """What a settled receipt says, as one sentence."""
    return "It happened." if receipt.result == HAPPENED else "It did not happen."


def describe_person(by: str, name: str = "") -> str:
    """Who settled something, as Markdown; the name is shown beside the id and proves nothing."""
    if by == BY_RUNTIME:
        return "the runtime, which looked"
    if by.startswith(BY_OPERATOR):
        return f"{quote_name(by.removeprefix(BY_OPERATOR))} on the command line"
    person = f"`{by.partition(':')[2]}`"
    return f"{quote_name(name)} ({person})" if name.strip() else person


def show_time(at_us: int) -> str:
    """UTC to the minute."""
    return f"{datetime.fromtimestamp(at_us // 1_000_000, UTC):%Y-%m-%d %H:%M} UTC"


def _name_effect(receipt: Receipt) -> tuple[tuple[str, str], ...]:
    return (("Tool", f"`{receipt.tool}`"), ("Effect", f"`{receipt.id}`"))


def _show_arguments(receipt: Receipt) -> str:
    """Whole or not at all: half of what is decided on would mislead."""
    shown = escape_unseen(receipt.arguments).replace("`", "\\u0060")
    if len(shown) > ARGUMENTS_CHARS_MAX:
        return (
            f"Its arguments are too long for a card ({len(receipt.arguments)} characters); "
            "`geode effects list` shows them whole."
        )
    return f"Its arguments:\n\n```json\n{shown}\n```"
