"""A press of a card's button: who may decide it, and that it is decided once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from geode.intake.access import Admitted
from geode.intake.outcomes import Stored
from geode.messages import ButtonPress, Person, SessionId, Thread
from geode.ports import Accepted
from geode.records.asking import end_question
from geode.records.reviewing import end_review, is_alone_with, note_shown
from geode.records.settling import Word, settle_uncertain
from geode.reply import approval_cards, effect_cards, review_cards, sentences
from geode.store import approvals, cards, reviews, sessions
from geode.store.cards import Decision, StoredCard
from geode.store.database import Tx
from geode.store.receipts import HAPPENED, load_receipt

NONCE_CHARS_MAX = 64
WORDS_CHARS_MAX = 4_000


@dataclass(frozen=True, slots=True)
class CardKind:
    """What a press means on cards of one kind."""

    object_to: Callable[[Tx, StoredCard, Admitted, Person], str]
    """Why this person may not decide it, for them alone; empty: they may."""
    decide: Callable[[Tx, StoredCard, Decision, Person, int], str]
    """Do what was decided, in the same transaction; the answer for the presser."""
    describe: Callable[[Tx, StoredCard], str]
    """What came of a card that is over, as one sentence."""
    peeks: Mapping[str, Callable[[Tx, StoredCard, Admitted, Person, int], str]] = field(
        default_factory=dict[str, Callable[[Tx, StoredCard, Admitted, Person, int], str]]
    )
    """Choices that decide nothing: what they tell the presser alone."""
    find_waiting: Callable[[Tx, StoredCard], SessionId | None] = lambda tx, card: None
    """The session whose turn may go on with it."""


def press_button(tx: Tx, admitted: Admitted, press: ButtonPress, now_us: int) -> Stored:
    """Record a person's decision; of several presses of a card one decides."""
    found = _find_card(tx, admitted, press)
    if found is None:
        return _refuse("card.unknown", sentences.BUTTON_UNKNOWN)
    card, choice, asks = found
    kind = KINDS[card.kind]
    if not card.is_open:
        return _refuse("card.decided", _describe_end(tx, card))
    if objection := kind.object_to(tx, card, admitted, press.presser):
        return _refuse("card.not_yours", objection)
    if choice in kind.peeks:
        told = kind.peeks[choice](tx, card, admitted, press.presser, now_us)
        return Stored(Accepted("answered", card.kind, told, is_confidential=True))
    return _decide_card(tx, card, (choice, asks), press, now_us)


def _decide_card(
    tx: Tx, card: StoredCard, button: tuple[str, str], press: ButtonPress, now_us: int
) -> Stored:
    """Record the choice of a button, with the words that it asks for."""
    kind, (choice, asks) = KINDS[card.kind], button
    words = press.text.replace("\0", "").strip()[:WORDS_CHARS_MAX]
    if asks and not words:
        return _refuse("card.no_words", sentences.WORDS_MISSING)
    by = f"{press.thread.platform}:{press.presser.id}"
    decision = Decision(choice, by, words, press.message_id)
    if not cards.decide_card(tx, card, decision, now_us):
        return _refuse("card.decided", sentences.DECIDED_MEANWHILE)
    answer = kind.decide(tx, card, decision, press.presser, now_us)
    waiting = kind.find_waiting(tx, card)
    return Stored(
        Accepted("decided", card.kind, answer),
        waiting or card.session_id,
        wakes_session=waiting is not None,
        wakes_delivery=True,
        also_tells=card.session_id,
    )


def answer_again(tx: Tx, admitted: Admitted, press: ButtonPress) -> Accepted:
    """What is true now, for a press that was delivered before; changes nothing."""
    found = _find_card(tx, admitted, press)
    if found is None:
        return Accepted("duplicate", "card.unknown", sentences.BUTTON_UNKNOWN)
    card, _, _ = found
    kind = KINDS[card.kind]
    if not card.is_open:
        return Accepted("duplicate", "card.decided", _describe_end(tx, card))
    if objection := kind.object_to(tx, card, admitted, press.presser):
        return Accepted("duplicate", "card.not_yours", objection)
    return Accepted("duplicate", "card.open", sentences.PRESS_AGAIN)


def _find_card(
    tx: Tx, admitted: Admitted, press: ButtonPress
) -> tuple[StoredCard, str, str] | None:
    """The card that the press is on, its choice and what that asks for; None: a wrong place.

    Whoever presses in a wrong place is not told whether the card exists elsewhere, and whoever
    may only review there is told of no other card.
    """
    if not press.nonce.isascii() or not 0 < len(press.nonce) <= NONCE_CHARS_MAX:
        return None
    found = cards.find_pressed(tx, press.nonce)
    if found is None or found[0].kind not in KINDS:
        return None
    card, choice = found
    if admitted.only_reviews and card.kind != review_cards.KIND:
        return None
    sent = cards.read_sent(tx, card, sentences.POSSIBLY_DOUBLED)
    is_known = press.message_id in sent.message_ids
    if sessions.find_session(tx, press.thread) != card.session_id and not (
        is_known and _is_above(tx, card, press.thread)
    ):
        return None
    if sent.is_whole and not is_known:
        return None
    asks = next((b.asks for b in sent.card.buttons if b.nonce == press.nonce), "")
    return card, choice, asks


def _is_above(tx: Tx, card: StoredCard, thread: Thread) -> bool:
    """Whether the card was said at the top of a channel, where each message is a thread to be."""
    place = sessions.find_thread(tx, card.session_id)
    return replace(thread, thread="") == place


def _refuse(reason: str, answer: str) -> Stored:
    return Stored(Accepted("refused", reason, answer))


def _describe_end(tx: Tx, card: StoredCard) -> str:
    who = effect_cards.describe_person(card.decided_by)
    at = effect_cards.show_time(card.decided_at_us)
    return f"This is decided already, by {who}, {at}: {KINDS[card.kind].describe(tx, card)}"


def _ask_operators(tx: Tx, card: StoredCard, admitted: Admitted, person: Person) -> str:
    del tx, card
    return "" if person.id in admitted.binding.operators else sentences.ONLY_OPERATORS


def _ask_reviewers(tx: Tx, card: StoredCard, admitted: Admitted, person: Person) -> str:
    """The operators of the place where the answer was asked for, wherever its card stands."""
    del person
    session_id = _find_reviewed(tx, card)
    row = None if session_id is None else sessions.read_session(tx, session_id)
    may_review = row is not None and row.binding in admitted.operated
    return "" if may_review else sentences.ONLY_OPERATORS


def _ask_approvers(tx: Tx, card: StoredCard, admitted: Admitted, person: Person) -> str:
    """Who may approve is read at the press, and by exact id."""
    binding = admitted.binding
    if person.id not in binding.approvers:
        return sentences.ONLY_APPROVERS
    approval = approvals.find_approval(tx, card.subject)
    if binding.two_person and approval is not None and person.id in approval.requesters:
        return sentences.ANOTHER_PERSON
    return ""


def _settle_effect(
    tx: Tx, card: StoredCard, decision: Decision, presser: Person, now_us: int
) -> str:
    word = Word(decision.choice == HAPPENED, decision.by, presser.name)
    settle_uncertain(tx, card.subject, word, now_us)
    return f"Recorded. {_describe_effect(tx, card)}"


def _describe_effect(tx: Tx, card: StoredCard) -> str:
    receipt = load_receipt(tx, card.subject)
    return "" if receipt is None else effect_cards.describe_settled(receipt)


_WORDS = {
    approval_cards.ALLOW: (approvals.APPROVED, approvals.ONCE),
    approval_cards.ALLOW_SESSION: (approvals.APPROVED, approvals.SESSION),
    approval_cards.DENY: (approvals.DENIED, ""),
    approval_cards.DENY_WITH_REASON: (approvals.DENIED, ""),
}


def _decide_call(tx: Tx, card: StoredCard, decision: Decision, presser: Person, now_us: int) -> str:
    state, scope = _WORDS[decision.choice]
    word = approvals.Word(state, decision.by, decision.words, scope)
    end_question(tx, card.subject, word, now_us, presser.name)
    return f"Recorded. {approval_cards.describe_word(word)}"


def _describe_call(tx: Tx, card: StoredCard) -> str:
    approval = approvals.find_approval(tx, card.subject)
    if approval is None:
        return ""
    word = approvals.Word(approval.state, approval.decided_by, approval.reason, approval.scope)
    return approval_cards.describe_word(word)


def _decide_review(
    tx: Tx, card: StoredCard, decision: Decision, presser: Person, now_us: int
) -> str:
    state = review_cards.STATES[decision.choice]
    word = reviews.ReviewWord(state, decision.by, decision.words, presser.name)
    end_review(tx, card.subject, word, now_us)
    return f"Recorded. {review_cards.describe_word(state)}"


def _describe_review(tx: Tx, card: StoredCard) -> str:
    review = reviews.find_review(tx, card.subject)
    return "" if review is None else review_cards.describe_word(review.state)


def _show_review(tx: Tx, card: StoredCard, admitted: Admitted, presser: Person, now_us: int) -> str:
    """Candidate and evidence for one reviewer; personal data stays with its asker."""
    review = reviews.find_review(tx, card.subject)
    if review is None:
        return sentences.BUTTON_UNKNOWN
    is_own = is_alone_with(tx, review.session_id, presser.id)
    is_whole = is_own or not review.is_personal
    by = f"{admitted.event.thread.platform}:{presser.id}"
    note_shown(tx, review, by, now_us, is_whole=is_whole)
    return review_cards.show_content(review) if is_whole else review_cards.show_misses(review)


def _find_reviewed(tx: Tx, card: StoredCard) -> SessionId | None:
    review = reviews.find_review(tx, card.subject)
    return None if review is None else review.session_id


KINDS: Mapping[str, CardKind] = {
    effect_cards.KIND: CardKind(
        object_to=_ask_operators,
        decide=_settle_effect,
        describe=_describe_effect,
    ),
    approval_cards.KIND: CardKind(
        object_to=_ask_approvers,
        decide=_decide_call,
        describe=_describe_call,
        find_waiting=lambda tx, card: card.session_id,
    ),
    review_cards.KIND: CardKind(
        object_to=_ask_reviewers,
        peeks={review_cards.SHOW: _show_review},
        decide=_decide_review,
        describe=_describe_review,
        find_waiting=_find_reviewed,
    ),
}
