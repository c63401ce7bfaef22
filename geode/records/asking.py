"""Questions to people about calls: asked with a card, ended once, and everybody is told the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geode.messages import JsonObject, OutboundFile, SessionId, TurnId
from geode.reply import approval_cards
from geode.reply.cards import say_card
from geode.store import approvals, cards
from geode.store.approvals import Approval, NewApproval, Word
from geode.store.database import Tx
from geode.store.timeline import TimelineEntry, append_entries

RUNTIME = "runtime"
REASON_CHARS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Question:
    """A call to be asked about, and how it can be shown."""

    new: NewApproval
    file: OutboundFile | None = None
    """The whole arguments, where the card cannot hold them."""
    why_not: str = ""
    """Why it cannot be shown whole: nobody is asked then, and the call is refused."""

    @property
    def is_showable(self) -> bool:
        """Whether people see all that they would decide on."""
        return not self.why_not


def ask(tx: Tx, question: Question, reply_to: str, expires_s: int | None, now_us: int) -> None:
    """Store a question and open its card."""
    new = question.new
    expires_at_us = 0 if expires_s is None else now_us + expires_s * 1_000_000
    state = approvals.PENDING if question.is_showable else approvals.UNDELIVERABLE
    why_not = question.why_not
    approvals.add_approval(
        tx, new, now_us, expires_at_us=expires_at_us, state=state, reason=why_not
    )
    if question.is_showable:
        card = approval_cards.ask_about_call(new, reply_to, question.file)
        cards.open_card(tx, new.session_id, card, now_us)
    _note(tx, "approval_asked", new, Word(state, RUNTIME, why_not), now_us)


def end_question(tx: Tx, approval_id: str, word: Word, now_us: int, name: str = "") -> bool:
    """End an open question with somebody's word and show it on its card; False: it was not open."""
    known = approvals.find_approval(tx, approval_id)
    if known is None or not approvals.decide_approval(tx, approval_id, word, now_us):
        return False
    if word.state == approvals.APPROVED and word.scope == approvals.SESSION:
        approvals.grant_session(tx, known, word.by, now_us)
    _note(tx, "approval_ended", known, word, now_us)
    _end_card(tx, known, word, name, now_us)
    return True


def withdraw_questions(tx: Tx, turn_id: TurnId, by: str, reason: str, now_us: int) -> int:
    """End what a turn still asks, because the turn ends."""
    pending = [each for each in approvals.list_of_turn(tx, turn_id) if each.is_pending]
    word = Word(approvals.WITHDRAWN, by, reason)
    return sum(end_question(tx, each.id, word, now_us) for each in pending)


def expire_questions(tx: Tx, now_us: int, limit: int) -> Sequence[SessionId]:
    """End the questions whose time is over; the sessions that they were asked in."""
    word = Word(approvals.EXPIRED, RUNTIME)
    due = approvals.find_due(tx, now_us, limit)
    ended = [each.session_id for each in due if end_question(tx, each.id, word, now_us)]
    return tuple(dict.fromkeys(ended))


def _end_card(tx: Tx, approval: Approval, word: Word, name: str, now_us: int) -> None:
    card = cards.find_card(tx, approval_cards.KIND, approval.id)
    if card is None:
        return  # it could never be shown
    # A card that a press decided is not open any more, and this changes nothing.
    cards.withdraw_card(tx, card, word.by, now_us)
    shown = approval_cards.show_decided(approval, word, name, now_us)
    cards.end_card(tx, card, shown, say_card(shown), now_us)


def _note(tx: Tx, kind: str, asked: NewApproval | Approval, word: Word, now_us: int) -> None:
    body: JsonObject = {
        "operation": asked.id,
        "tool": asked.tool,
        "state": word.state,
        "scope": word.scope,
        "by": word.by,
        "reason": word.reason[:REASON_CHARS_MAX],
    }
    entry = TimelineEntry(kind, body, asked.turn_id)
    append_entries(tx, asked.session_id, [entry], now_us)
