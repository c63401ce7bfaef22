"""Answers that wait for a person: asked with a card, decided once, and the asker is told both."""

from __future__ import annotations

from dataclasses import dataclass

from geode.messages import JsonObject, SessionId, TurnId
from geode.reply import review_cards
from geode.reply.cards import say_card
from geode.store import cards, reviews, turns
from geode.store.database import Tx
from geode.store.outbox import NewOutbox, add_outbox
from geode.store.reviews import NewReview, Review, ReviewWord
from geode.store.timeline import TimelineEntry, append_entries

RUNTIME = "runtime"
WORDS_CHARS_MAX = 4_000
WAITS_KIND = "review_waits"
DECIDED_KIND = "review_decided"


@dataclass(frozen=True, slots=True)
class ReviewPlace:
    """Where people are asked, and where the asker is told."""

    card_session: SessionId | None
    """The session of the place that gets the card; None: nobody is notified."""
    card_reply_to: str = ""
    reply_to: str = ""
    """Under which message the asker is told, in a thread that has none."""
    is_attended: bool = False
    """The asker sits at the terminal and decides it there."""


def open_review(tx: Tx, new: NewReview, place: ReviewPlace, now_us: int) -> Review:
    """Keep the candidate, open its card and tell the asker that it waits."""
    review = reviews.add_review(tx, new, now_us)
    if place.card_session is not None:
        is_elsewhere = place.card_session != new.session_id
        card = review_cards.ask_about_answer(
            review, place.card_reply_to, shows_content=is_elsewhere and not new.is_personal
        )
        cards.open_card(tx, place.card_session, card, now_us)
    tell = review_cards.tell_attended if place.is_attended else review_cards.tell_waiting
    told = NewOutbox(WAITS_KIND, review.id, tell(review), place.reply_to, new.turn_id)
    add_outbox(tx, new.session_id, told, now_us)
    _note(tx, "review_asked", review, ReviewWord(reviews.OPEN, RUNTIME), now_us)
    return review


def end_review(tx: Tx, review_id: str, word: ReviewWord, now_us: int) -> bool:
    """End an open review with somebody's word, on its card and for the asker; False: not open."""
    review = reviews.find_review(tx, review_id)
    if review is None or not reviews.decide_review(tx, review_id, word, now_us):
        return False
    _note(tx, "review_decided", review, word, now_us)
    _end_card(tx, review, word, now_us)
    # A rejection and a stop are told by the turn's own last words.
    if word.state not in (reviews.WITHDRAWN, reviews.REJECTED):
        told = NewOutbox(
            DECIDED_KIND,
            review.id,
            review_cards.tell_decided(review, word),
            _reply_to(tx, review),
            review.turn_id,
        )
        add_outbox(tx, review.session_id, told, now_us)
    return True


def withdraw_reviews(tx: Tx, turn_id: TurnId, by: str, reason: str, now_us: int) -> None:
    """End what of a turn still waits, because the turn ends; nobody is told twice."""
    word = ReviewWord(reviews.WITHDRAWN, by, reason)
    for each in reviews.list_of_turn(tx, turn_id):
        if each.is_open:
            end_review(tx, each.id, word, now_us)


def _reply_to(tx: Tx, review: Review) -> str:
    return str(turns.read_turn(tx, review.turn_id).reply_to)


def _end_card(tx: Tx, review: Review, word: ReviewWord, now_us: int) -> None:
    card = cards.find_card(tx, review_cards.KIND, review.id)
    if card is None:
        return
    # A card that a press decided is not open any more, and this changes nothing.
    cards.withdraw_card(tx, card, word.by, now_us)
    shown = review_cards.show_decided(review, word, now_us)
    cards.end_card(tx, card, shown, say_card(shown), now_us)


def _note(tx: Tx, kind: str, review: Review, word: ReviewWord, now_us: int) -> None:
    body: JsonObject = {
        "review": review.id,
        "candidate": review.candidate_hash,
        "outcome": review.outcome,
        "rule": review.rule,
        "state": word.state,
        "by": word.by,
        "words": word.words[:WORDS_CHARS_MAX],
    }
    append_entries(tx, review.session_id, [TimelineEntry(kind, body, review.turn_id)], now_us)
