"""The card of an answer that waits for a person, and what its asker is told; pure."""

from __future__ import annotations

from geode.messages import Card
from geode.reply.approval_cards import quote_name_line
from geode.reply.cards import say_card
from geode.reply.effect_cards import describe_person, show_time
from geode.reply.verdicts import describe_rule
from geode.store import reviews
from geode.store.cards import Choice, NewCard
from geode.store.reviews import Review, ReviewWord

KIND = "review"
RELEASE = "release"
REVISE = "revise"
REJECT = "reject"
JUDGE_AGAIN = "judge_again"
VERIFICATION_ERROR = "verification_error"

_RELEASE = Choice(RELEASE, "Release", "primary")
_REVISE = Choice(REVISE, "Ask for a revision", asks="What should be different? The agent is told.")
_REJECT = Choice(REJECT, "Reject", "danger", asks="Why not? The person who asked is told.")
_JUDGE_AGAIN = Choice(JUDGE_AGAIN, "Judge again")

STATES = {
    RELEASE: reviews.RELEASED,
    REVISE: reviews.REVISING,
    REJECT: reviews.REJECTED,
    JUDGE_AGAIN: reviews.REJUDGING,
}
"""What a press of each choice makes of the review."""


def ask_about_answer(review: Review, reply_to: str, *, shows_content: bool) -> NewCard:
    """The card that asks for a decision; the candidate is on it only where reviewers alone read."""
    body = (
        f"The agent's answer did not pass its check and waits for an operator.\n\n{_tell(review)}"
    )
    if shows_content:
        body += f"\n\n{review.pending_text}"
    card = Card("Release this answer?", body, (("Review", f"`{review.id}`"),))
    choices = list_choices(may_judge=review.outcome == VERIFICATION_ERROR)
    return NewCard(KIND, review.id, card, choices, say_card(card), reply_to, review.turn_id)


def list_choices(*, may_judge: bool) -> tuple[Choice, ...]:
    """The ways to decide, in their order everywhere."""
    return (_RELEASE, _REVISE, _REJECT, *((_JUDGE_AGAIN,) if may_judge else ()))


def show_decided(review: Review, word: ReviewWord, at_us: int) -> Card:
    """The same card once nobody can decide it any more; no buttons."""
    who = describe_person(word.by, word.name) if ":" in word.by else f"the {word.by}"
    body = f"**{describe_word(word.state)}** By {who}, {show_time(at_us)}."
    if word.words:
        body += f"\n\n> {quote_name_line(word.words)}"
    return Card(describe_word(word.state).rstrip("."), body, (("Review", f"`{review.id}`"),))


def describe_word(state: str) -> str:
    """What became of a review, as one sentence; each ending has its own."""
    return {
        reviews.OPEN: "It waits for an operator.",
        reviews.RELEASED: "The answer was released.",
        reviews.REVISING: "Another version was asked for.",
        reviews.REJECTED: "The answer was rejected.",
        reviews.REJUDGING: "It is judged again.",
        reviews.WITHDRAWN: "The answer was dropped.",
    }[state]


def tell_waiting(review: Review) -> str:
    """What the asker is told when an answer waits; nothing of the answer is in it."""
    del review
    return (
        "I have an answer, but it did not pass its check, so it waits for an operator to look at "
        "it. You will be told here what was decided."
    )


def tell_attended(review: Review) -> str:
    """The same for somebody at the terminal, who is the operator there."""
    return (
        "I have an answer, but it did not pass its check, so it waits for your decision. "
        f"Look at it with `geode reviews show {review.id}`, and decide it here or with "
        f"`geode reviews decide {review.id}`."
    )


def tell_decided(review: Review, word: ReviewWord) -> str:
    """What the asker is told once somebody decided."""
    del review
    who = describe_person(word.by, word.name) if ":" in word.by else f"the {word.by}"
    said = f"{describe_word(word.state)} Decided by {who}."
    return f"{said}\n\n> {quote_name_line(word.words)}" if word.words else said


def tell_rejected(review: Review) -> str:
    """What the asker is told of an answer that an operator did not release."""
    who = describe_person(review.decided_by, review.decider_name)
    said = f"{who} looked at my answer and did not release it."
    reason = f"\n\n> {quote_name_line(review.words)}\n\n" if review.words else " "
    return f"{said}{reason}Ask in another way, or ask them what to change."


def _tell(review: Review) -> str:
    misses = "; ".join(quote_name_line(each) for each in review.misses) or "no reason was given"
    return f"{describe_rule(review.rule)}\n\nWhy: {misses}."
