"""Uncertain effects and the people who settle them: asked once, settled once, told once."""

from __future__ import annotations

from dataclasses import dataclass

from geode.messages import ReceiptId
from geode.records.reconcile import word_of
from geode.reply import effect_cards
from geode.reply.cards import say_card
from geode.store import cards, children, effects
from geode.store.database import Tx
from geode.store.receipts import Receipt, ReceiptState, load_receipt


@dataclass(frozen=True, slots=True)
class Word:
    """Somebody's word on an uncertain effect."""

    happened: bool
    by: str
    """`operator:NAME` on the command line, `slack:U01` in a chat, or the runtime."""
    name: str = ""
    """As the person is shown in the chat."""


def ask_people(tx: Tx, receipt_id: ReceiptId, reply_to: str, now_us: int) -> None:
    """Open the card of an uncertain effect in its thread; asked before or settled: nothing.

    What a child did is asked where its parent speaks.
    """
    receipt = load_receipt(tx, receipt_id)
    if receipt is not None and receipt.state is ReceiptState.UNCERTAIN:
        new = effect_cards.ask_about_effect(receipt, reply_to)
        cards.open_card(tx, children.find_home(tx, receipt.session_id), new, now_us)


def settle_uncertain(
    tx: Tx, receipt_id: str, word: Word, now_us: int
) -> tuple[Receipt, bool] | None:
    """Settle an uncertain effect and end its card; in any other state it is left alone.

    Returns the receipt as it now stands and whether this word settled it; None when there is none.
    """
    outcome = word_of(happened=word.happened)
    closed = effects.close_uncertain(tx, receipt_id, outcome, word.by, now_us)
    if closed is not None and closed[1]:
        _end_card(tx, closed[0], word, now_us)
    return closed


def _end_card(tx: Tx, receipt: Receipt, word: Word, now_us: int) -> None:
    card = cards.find_card(tx, effect_cards.KIND, receipt.id)
    if card is None:
        return  # told before there were cards
    # A card that was decided by a press is not open any more, and this changes nothing.
    cards.withdraw_card(tx, card, word.by, now_us)
    who = effect_cards.describe_person(word.by, word.name)
    shown = effect_cards.show_settled(receipt, who, now_us)
    cards.end_card(tx, card, shown, say_card(shown), now_us)
