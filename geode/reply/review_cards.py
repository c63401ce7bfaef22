"""The card of an answer that waits for a person, and what its asker is told; pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from geode.messages import Card, OutboundFile
from geode.reply.approval_cards import quote_name_line
from geode.reply.cards import say_card
from geode.reply.command_sentences import NO_REVIEW
from geode.reply.effect_cards import describe_person, show_time
from geode.reply.escaping import escape_unseen, quote_name
from geode.reply.verdicts import describe_rule
from geode.store import reviews
from geode.store.cards import Choice, NewCard
from geode.store.reviews import NewReview, Review, ReviewWord

KIND = "review"
RELEASE = "release"
REVISE = "revise"
REJECT = "reject"
JUDGE_AGAIN = "judge_again"
SHOW = "show"
FILE_NAME = "answer.md"
MEDIA_TYPE = "text/markdown"
INLINE_CHARS_MAX = 1_500
"""A longer answer with its evidence goes as a file, so that the card fits into one message."""
DAY_US = 86_400_000_000
SHOWN_CHARS_MAX = 7_000
"""What one person is shown at a press; the whole stands in the store."""
VERIFICATION_ERROR = "verification_error"

_RELEASE = Choice(RELEASE, "Release", "primary")
_REVISE = Choice(REVISE, "Ask for a revision", asks="What should be different? The agent is told.")
_REJECT = Choice(REJECT, "Reject", "danger", asks="Why not? The person who asked is told.")
_JUDGE_AGAIN = Choice(JUDGE_AGAIN, "Judge again")
_SHOW = Choice(SHOW, "Show")

PERSONAL = (
    "The answer may carry somebody's own data, so its content is shown only to its asker, in a "
    "private chat or at the terminal."
)
WAITS = "The agent's answer did not pass its check and waits for an operator."
STATES = {
    RELEASE: reviews.RELEASED,
    REVISE: reviews.REVISING,
    REJECT: reviews.REJECTED,
    JUDGE_AGAIN: reviews.REJUDGING,
}
"""What a press of each choice makes of the review."""


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """What a card says of a review beside what the review holds itself."""

    review: Review
    askers: tuple[str, ...]
    """Whose messages began the turn, by id."""
    where: str = ""
    """The asker's thread, on a card that stands elsewhere; empty: it stands there."""
    file: OutboundFile | None = None
    """Answer and evidence, where reviewers alone read and the card cannot hold them."""

    @property
    def shows_content(self) -> bool:
        """Whether the card itself carries the answer: never in the asker's thread."""
        return bool(self.where) and not self.review.is_personal


def ask_about_answer(case: ReviewCase, reply_to: str) -> NewCard:
    """The card that asks for a decision; the candidate is on it only where reviewers alone read."""
    review = case.review
    askers = ", ".join(f"`{quote_name(each)}`" for each in case.askers) or "nobody by name"
    body = f"{WAITS}\n\n{_tell(review)}"
    if case.where and review.is_personal:
        body += f"\n\n{PERSONAL}"
    elif case.shows_content:
        body += f"\n\n{_show_on_card(case)}"
    fields = [("For", askers), ("Since", show_time(review.asked_at_us))]
    fields += [("Asked in", f"`{quote_name(case.where)}`")] if case.where else []
    card = Card("Release this answer?", body, (*fields, ("Review", f"`{review.id}`")))
    decisions = list_choices(may_judge=review.outcome == VERIFICATION_ERROR)
    choices = decisions if case.shows_content else (*decisions, _SHOW)
    files = (case.file,) if case.file is not None and case.shows_content else ()
    return NewCard(KIND, review.id, card, choices, say_card(card), reply_to, review.turn_id, files)


def must_attach(new: NewReview) -> bool:
    """Whether answer and evidence do not fit into a card."""
    return len(write_content(new)) > INLINE_CHARS_MAX


def write_content(new: NewReview | Review) -> str:
    """Answer and evidence as Markdown for reviewers: inert, and nothing unseen in it."""
    parts = [f"**The answer**\n\n{fence(new.pending_text)}"]
    if new.reflection:
        parts.append(f"**What the check said**\n\n{fence(new.reflection)}")
    for number, each in enumerate(new.evidence, start=1):
        head = f"**Evidence {number}**: `{quote_name(each.tool) or 'a tool'}`"
        parts.append(f"{head}{' (an error)' if each.is_error else ''}\n\n{fence(each.text)}")
    return "\n\n".join(parts)


def show_content(review: Review) -> str:
    """What one reviewer is shown: answer and evidence, as far as one message takes them."""
    whole = write_content(review)
    if len(whole) <= SHOWN_CHARS_MAX:
        return whole
    chars = _count_fitting(review.pending_text)
    answer = fence(review.pending_text[:chars])
    left = len(review.pending_text) - chars
    cut = f" {left:,} characters of it are left out." if left else ""
    return (
        f"**The answer**\n\n{answer}\n\nIt is too long to be shown here with its evidence.{cut} "
        f"The whole: `geode reviews show {review.id}`."
    )


def _count_fitting(text: str) -> int:
    """How many characters fit as they are written out: an unseen one takes several."""
    sizes = range(min(len(text), SHOWN_CHARS_MAX) + 1)
    return bisect_right(sizes, SHOWN_CHARS_MAX, key=lambda count: len(fence(text[:count]))) - 1


def show_misses(review: Review) -> str:
    """What a reviewer is shown of an answer that may carry somebody's own data."""
    return f"{PERSONAL}\n\n{_tell(review)}"


def fence(text: str) -> str:
    """The text in a fence that it cannot close, its unseen characters written out."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}\n{escape_unseen(text)}\n{bar}"


def _show_on_card(case: ReviewCase) -> str:
    if case.file is None:
        return write_content(case.review)
    return (
        f"The answer and its evidence are in the attached file, whole: "
        f"{case.file.size_bytes:,} bytes, SHA-256 `{case.file.sha256}`."
    )


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


def remind(review: Review, now_us: int) -> str:
    """One line a day about a review that nobody decided."""
    days = max(1, (now_us - review.asked_at_us) // DAY_US)
    since = "1 day" if days == 1 else f"{days} days"
    return f"An answer has waited for an operator for {since} (review `{review.id}`)."


def list_reviews(found: Sequence[tuple[Review, str]], now_us: int) -> str:
    """What `/review` tells operators: each open review with its age and where its card is."""
    if not found:
        return NO_REVIEW
    lines = [
        f"- `{review.id}`, since {show_time(review.asked_at_us)}: {describe_rule(review.rule)} "
        f"{where}"
        for review, where in found
    ]
    head = "1 answer waits" if len(found) == 1 else f"{len(found)} answers wait"
    return "\n".join((f"{head} for a review:", *lines, "Decide on the card."))


def _tell(review: Review) -> str:
    if review.is_personal:
        return describe_rule(review.rule)  # a miss may quote the answer
    misses = "; ".join(quote_name_line(each.rstrip(".")) for each in review.misses)
    return f"{describe_rule(review.rule)}\n\nWhy: {misses or 'no reason was given'}."
