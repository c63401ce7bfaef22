"""The verbs about answers that wait for a person: the same with and without a daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from geode.errors import ControlError
from geode.messages import JsonObject, JsonValue, SessionId
from geode.records.reviewing import WORDS_CHARS_MAX, end_review
from geode.reply import review_cards
from geode.reply.effect_cards import BY_OPERATOR, show_time
from geode.serve.arguments import allow_only, read_flag, read_limit, read_optional, read_text
from geode.serve.ipc import Verb
from geode.serve.terminal import find_owner
from geode.settings import TERMINAL
from geode.store import cards, reviews
from geode.store.database import Store, Tx
from geode.store.review_views import list_reviews, show_review
from geode.store.reviews import Review, ReviewWord

NAME_CHARS_MAX = 80
NEEDS_WORDS = {
    review_cards.REVISE: "A revision needs words: say what should be different.",
    review_cards.REJECT: "A rejection needs a reason: the person who asked is told.",
}
NOT_JUDGED_AGAIN = (
    "The judge gave its verdict about {id}; only an answer whose check failed is judged again."
)
WITHHELD = "candidate", "reflection", "evidence"
"""What is left out of an answer that may carry personal data, unless it is asked for by name."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A review that was decided just now."""

    review: Review
    sessions: tuple[SessionId, ...]
    """Those in which something is to be said or done because of it."""


class ReviewControl:
    """Answers `geode reviews`; whoever reaches it owns the state folder."""

    def __init__(
        self,
        store: Store,
        take_out: Callable[[str], str] = str,
        go_on: Callable[[SessionId], None] = lambda session_id: None,
    ) -> None:
        """`take_out` keeps registered secrets out of words; `go_on` wakes a decided session."""
        self._store = store
        self._take_out = take_out
        self._go_on = go_on

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """Every verb by the name it has on the socket."""
        return {
            "reviews.list": self._list,
            "reviews.show": self._show,
            "reviews.decide": self._decide,
        }

    async def _list(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "limit")
        limit, now_us = read_limit(arguments), self._store.clock.now_us()
        found = await self._store.read(lambda tx: list_reviews(tx, limit, now_us))
        return {"reviews": list[JsonValue](found)}

    async def _show(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "id", "personal")
        review_id, now_us = read_text(arguments, "id"), self._store.clock.now_us()
        shown = await self._store.read(lambda tx: show_review(tx, review_id, now_us))
        if shown is None:
            raise _unknown(review_id)
        may_see = shown["platform"] == TERMINAL or read_flag(arguments, "personal")
        if shown["is_personal"] and not may_see:
            shown = {key: value for key, value in shown.items() if key not in WITHHELD}
        return shown

    async def _decide(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "id", "decision", "words", "name")
        review_id, word = read_text(arguments, "id"), self._read_word(arguments)
        now_us = self._store.clock.now_us()
        decided = await self._store.write(
            "review.decide", lambda tx: decide_open(tx, review_id, word, now_us)
        )
        for session_id in decided.sessions:
            self._go_on(session_id)
        shown = await self._store.read(lambda tx: show_review(tx, review_id, now_us))
        assert shown is not None, "it was decided just now"
        told = ("id", "state", "session", "place", "platform", "conversation", "decided_by")
        return {key: shown[key] for key in told}

    def _read_word(self, arguments: JsonObject) -> ReviewWord:
        decision = read_text(arguments, "decision")
        if decision not in review_cards.STATES:
            known = ", ".join(review_cards.STATES)
            raise ControlError(f"A review is decided by {known}, not {decision[:40]!r}.")
        words = read_optional(arguments, "words").replace("\0", "").strip()
        if decision in NEEDS_WORDS and not words:
            raise ControlError(NEEDS_WORDS[decision])
        if len(words) > WORDS_CHARS_MAX:
            raise ControlError(f"Write at most {WORDS_CHARS_MAX:,} characters.")
        name = read_optional(arguments, "name") or find_owner().name
        if not name.isprintable() or not 0 < len(name.strip()) <= NAME_CHARS_MAX:
            raise ControlError(f"A name has one line of {NAME_CHARS_MAX} characters at most.")
        kept = self._take_out(words) if decision in NEEDS_WORDS else ""
        return ReviewWord(review_cards.STATES[decision], f"{BY_OPERATOR}{name.strip()}", kept)


def decide_open(tx: Tx, review_id: str, word: ReviewWord, now_us: int) -> Decided:
    """End an open review; raises `ControlError` with one sentence when it cannot be ended so."""
    review = reviews.find_review(tx, review_id)
    if review is None:
        raise _unknown(review_id)
    is_error = review.outcome == review_cards.VERIFICATION_ERROR
    if review.is_open and word.state == reviews.REJUDGING and not is_error:
        raise ControlError(NOT_JUDGED_AGAIN.format(id=review.id))
    if not end_review(tx, review_id, word, now_us):
        raise ControlError(_describe_end(review))
    card = cards.find_card(tx, review_cards.KIND, review.id)
    elsewhere = (card.session_id,) if card is not None else ()
    return Decided(review, tuple(dict.fromkeys((review.session_id, *elsewhere))))


def _unknown(review_id: str) -> ControlError:
    return ControlError(f"There is no review {review_id[:80]!r}.")


def _describe_end(review: Review) -> str:
    by = f"by {review.decided_by}, " if review.decided_by else ""
    return (
        f"The review {review.id} is decided already, {by}{show_time(review.decided_at_us)}: "
        f"{review_cards.describe_word(review.state)}"
    )
