"""Answers that wait for a person: asked with a card, decided once, and the asker is told both."""

from __future__ import annotations

from dataclasses import dataclass

from geode.messages import JsonObject, Mode, OutboundFile, SessionId, Thread, TurnId
from geode.reply import review_cards
from geode.reply.cards import say_card
from geode.store import cards, inbox, reviews, sessions, turns
from geode.store.database import Tx
from geode.store.outbox import NewOutbox, add_outbox
from geode.store.reviews import NewReview, Review, ReviewWord
from geode.store.sent import REMINDER
from geode.store.sessions import NewSession
from geode.store.timeline import TimelineEntry, append_entries

RUNTIME = "runtime"
WORDS_CHARS_MAX = 4_000
WAITS_KIND = "review_waits"
DECIDED_KIND = "review_decided"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The place where reviewers alone read."""

    thread: Thread
    binding: str
    """Of that place, where one serves it; else empty."""
    fresh_id: SessionId
    """For its session, if it has none yet."""
    file: OutboundFile | None = None
    """Answer and evidence, where a card cannot hold them."""


@dataclass(frozen=True, slots=True)
class ReviewPlace:
    """Where people are asked, and where the asker is told."""

    has_card: bool
    """Whether anybody is notified."""
    elsewhere: Elsewhere | None = None
    """Where the binding wants answers reviewed; None: in the asker's thread."""
    reply_to: str = ""
    """Under which message the asker is told, in a thread that has none."""
    is_attended: bool = False
    """The asker sits at the terminal and decides it there."""


def open_review(tx: Tx, new: NewReview, place: ReviewPlace, now_us: int) -> Review:
    """Keep the candidate, open its card and tell the asker that it waits."""
    review = reviews.add_review(tx, new, now_us)
    if place.has_card:
        _open_card(tx, review, place, now_us)
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


def note_shown(tx: Tx, review: Review, by: str, now_us: int, *, is_whole: bool) -> None:
    """Record that a reviewer looked; nothing is decided by it."""
    body: JsonObject = {
        "review": review.id,
        "candidate": review.candidate_hash,
        "by": by,
        "is_whole": is_whole,
    }
    entry = TimelineEntry("review_shown", body, review.turn_id)
    append_entries(tx, review.session_id, [entry], now_us)


def is_alone_with(tx: Tx, session_id: SessionId, person_id: str) -> bool:
    """Whether the session is that person's own private chat with the agent."""
    row = sessions.read_session(tx, session_id)
    senders = inbox.list_senders(tx, session_id)
    return bool(row.is_direct) and senders == {person_id}


def remind_reviewers(tx: Tx, now_us: int, limit: int) -> list[SessionId]:
    """Say once a day where its card is that a review waits; the sessions that say it."""
    told: list[SessionId] = []
    for review in reviews.find_unreminded(tx, now_us - review_cards.DAY_US, limit):
        reviews.note_reminded(tx, review.id, now_us)
        card = cards.find_card(tx, review_cards.KIND, review.id)
        if card is None:
            continue  # nobody is notified at a terminal
        reply_to = _reply_to(tx, review) if card.session_id == review.session_id else ""
        words = review_cards.remind(review, now_us)
        episode = f"{review.id}:{now_us // review_cards.DAY_US}"
        row = NewOutbox(REMINDER, episode, words, reply_to, review.turn_id)
        if add_outbox(tx, card.session_id, row, now_us):
            told.append(card.session_id)
    return told


def _open_card(tx: Tx, review: Review, place: ReviewPlace, now_us: int) -> None:
    askers = turns.requesters_of(turns.read_turn(tx, review.turn_id))
    elsewhere = place.elsewhere
    if elsewhere is None:
        card = review_cards.ask_about_answer(
            review_cards.ReviewCase(review, askers), place.reply_to
        )
        cards.open_card(tx, review.session_id, card, now_us)
        return
    made = NewSession(elsewhere.fresh_id, elsewhere.binding, Mode.DAEMON, is_direct=False)
    session_id = sessions.bind_session(tx, elsewhere.thread, made, now_us)
    asked = sessions.find_thread(tx, review.session_id)
    where = "/".join(part for part in (asked.workspace, asked.channel, asked.thread) if part)
    case = review_cards.ReviewCase(review, askers, where, elsewhere.file)
    cards.open_card(tx, session_id, review_cards.ask_about_answer(case, ""), now_us)


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
