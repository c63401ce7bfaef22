"""Claiming a session: the one transaction that makes it running and begins or resumes its turn."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from geode.messages import (
    UNATTENDED,
    Block,
    Message,
    Mode,
    SessionId,
    SessionState,
    Thread,
    TurnId,
)
from geode.reply import sentences
from geode.session.histories import Place
from geode.store import approvals, conversation, inbox, outbox, reviews, sessions, turns
from geode.store.children import fence_children
from geode.store.conversation import Checkpoint
from geode.store.database import Tx
from geode.store.inbox import InboxRow
from geode.store.outbox import NewOutbox
from geode.store.reviews import Review
from geode.store.timeline import TimelineEntry, append_entries
from geode.store.turns import NewTurn

Compose = Callable[[Sequence[InboxRow]], tuple[Block, ...]]
"""Renders the collected messages, each with its sender, as the blocks of one user message."""


@dataclass(frozen=True, slots=True)
class ClaimTerms:
    """Who claims and under what terms."""

    owner: str
    now_us: int
    lease_us: int
    model: str
    compose: Compose
    recall: Callable[[Place], tuple[Message, ...] | None] = lambda place: None
    """The chapter's messages where they need not be read from the store."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A running turn that is ours under this epoch."""

    session_id: SessionId
    epoch: int
    turn_id: TurnId
    thread: Thread
    binding: str
    mode: Mode
    chapter: int
    attempts: int
    requesters: tuple[str, ...]
    reply_to: str
    history: tuple[Message, ...]
    """The chapter's messages, the turn's own request included."""
    position: int
    """Messages of the session in all, `history` included."""
    checkpoint: Checkpoint | None
    started_at_us: int
    shorten_asked: int = 0
    """How often people asked in this chapter that it is shortened."""
    is_stopped: bool = False
    """A person wants the turn to end without an answer."""
    children_micro_usd: int = 0
    """What children of the turn have cost so far."""
    review: Review | None = None
    """What a person decided about the turn's last candidate, not taken up yet."""
    skips_verification: bool = False
    """Everybody whose message it answers wants no check of the answer; of this turn only."""

    @property
    def is_resumed(self) -> bool:
        """The turn was begun by an earlier claim."""
        return self.attempts > 1


@dataclass(frozen=True, slots=True)
class EarlierDue:
    """Before the first turn the thread's earlier messages are to be read and stored."""

    session_id: SessionId
    thread: Thread
    before: str


@dataclass(frozen=True, slots=True)
class FilesDue:
    """Before a turn begins, what its messages carry is to be fetched and settled."""

    session_id: SessionId
    thread: Thread
    rows: tuple[InboxRow, ...]
    """Every waiting message with files, also the settled ones: together they are one burst."""


Due: TypeAlias = EarlierDue | FilesDue
"""What is to be done before the session can be claimed."""


def claim_session(tx: Tx, session_id: SessionId, terms: ClaimTerms) -> Claim | Due | None:
    """Claim an idle session with messages, or a running one whose lease has run out.

    Also one whose turn waited for people, once they decided or want it stopped. None when there is
    nothing to do or another worker holds it. Never steals a live lease. A child is only its
    parent's.
    """
    row = sessions.read_session(tx, session_id)
    if row is None or row.parent:
        return None
    if row.state == SessionState.RUNNING:
        if row.lease_until_us >= terms.now_us:
            return None
        return _resume(tx, row, terms)
    if row.state != SessionState.IDLE:
        return _resume(tx, row, terms) if _need_not_wait(tx, row) else None
    if row.earlier_before and inbox.has_queued(tx, session_id):
        return EarlierDue(session_id, sessions.find_thread(tx, session_id), row.earlier_before)
    return _begin(tx, row, terms)


def _need_not_wait(tx: Tx, row: Any) -> bool:
    waits = {
        SessionState.AWAITING_APPROVAL: approvals.has_pending,
        SessionState.AWAITING_REVIEW: reviews.has_open,
    }[SessionState(row.state)]
    return not waits(tx, row.turn_id) or turns.is_stopped(tx, row.turn_id)


def _begin(tx: Tx, row: Any, terms: ClaimTerms) -> Claim | FilesDue | None:
    session_id = SessionId(row.id)
    turn_id = TurnId("t" + secrets.token_hex(8))
    taken = inbox.list_queued(tx, session_id)
    asked = [each for each in taken if each.kind == "message"]
    if not asked:
        return None
    carrying = tuple(each for each in asked if each.files)
    if not all(file.is_settled for each in carrying for file in each.attachments):
        return FilesDue(session_id, sessions.find_thread(tx, session_id), carrying)
    inbox.take_rows(tx, taken, turn_id)
    new = NewTurn(
        id=turn_id,
        session_id=session_id,
        number=row.next_turn,
        chapter=_turn_page(tx, row),
        mode=Mode(row.mode),
        requesters=tuple(dict.fromkeys(each.sender_id for each in asked)),
        reply_to=asked[-1].reply_to,
        model=terms.model,
        skips_verification=_skips_verification(row.mode, asked),
    )
    turns.begin_turn(tx, new, terms.now_us)
    history = _recall(tx, row, new.chapter, terms)
    request = Message("user", terms.compose(taken))
    conversation.append_messages(tx, session_id, turn_id, (request,))
    progress = NewOutbox("progress", turn_id, sentences.WORKING, new.reply_to, turn_id)
    outbox.add_outbox(tx, session_id, progress, terms.now_us)
    entry = TimelineEntry(
        "turn_started",
        {
            "number": new.number,
            "messages": [each.message_id for each in asked],
            "model": terms.model,
            "chapter": new.chapter,
        },
        turn_id,
    )
    append_entries(tx, session_id, (entry,), terms.now_us)
    return Claim(
        session_id=session_id,
        epoch=_take_lease(tx, session_id, turn_id, terms, begun=1),
        turn_id=turn_id,
        thread=sessions.find_thread(tx, session_id),
        binding=row.binding,
        mode=new.mode,
        chapter=new.chapter,
        attempts=1,
        requesters=new.requesters,
        reply_to=new.reply_to,
        history=(*history, request),
        position=row.next_position + 1,
        checkpoint=conversation.load_checkpoint(tx, session_id),
        started_at_us=terms.now_us,
        skips_verification=new.skips_verification,
        shorten_asked=0 if row.chapter_due else row.compact_due,
    )


def _resume(tx: Tx, row: Any, terms: ClaimTerms) -> Claim:
    session_id, turn_id = SessionId(row.id), TurnId(row.turn_id)
    attempts = turns.count_attempt(tx, turn_id, +1)
    if Mode(row.mode) not in UNATTENDED:
        fence_children(tx, session_id)
    entry = TimelineEntry("turn_resumed", {"attempt": attempts}, turn_id)
    append_entries(tx, session_id, (entry,), terms.now_us)
    turn = turns.read_turn(tx, turn_id)
    return Claim(
        session_id=session_id,
        epoch=_take_lease(tx, session_id, turn_id, terms, begun=0),
        turn_id=turn_id,
        thread=sessions.find_thread(tx, session_id),
        binding=row.binding,
        mode=Mode(turn.mode),
        chapter=turn.chapter,
        attempts=attempts,
        requesters=turns.requesters_of(turn),
        reply_to=turn.reply_to,
        history=_recall(tx, row, turn.chapter, terms),
        position=row.next_position,
        checkpoint=conversation.load_checkpoint(tx, session_id),
        started_at_us=turn.started_at_us,
        shorten_asked=row.compact_due,
        is_stopped=turn.stopped_by != "",
        children_micro_usd=turn.cost_micro_usd,
        review=reviews.find_undone(tx, turn_id),
        skips_verification=bool(turn.skips_verification),
    )


def _skips_verification(mode: str, asked: Sequence[InboxRow]) -> bool:
    """Only who sits at the terminal may want that, and a message without the wish undoes it."""
    return Mode(mode) not in UNATTENDED and all(each.skips_verification for each in asked)


def _turn_page(tx: Tx, row: Any) -> int:
    """The chapter of the turn that begins: a new one, without the old one's state, when asked."""
    if not row.chapter_due:
        return row.chapter
    sessions.begin_chapter(tx, SessionId(row.id))
    conversation.drop_checkpoint(tx, SessionId(row.id))
    return row.chapter + 1


def _take_lease(
    tx: Tx, session_id: SessionId, turn_id: TurnId, terms: ClaimTerms, *, begun: int
) -> int:
    until_us = terms.now_us + terms.lease_us
    lease = sessions.NewLease(terms.owner, until_us, turn_id, begun)
    return sessions.take_lease(tx, session_id, lease)


def _recall(tx: Tx, row: Any, chapter: int, terms: ClaimTerms) -> tuple[Message, ...]:
    session_id = SessionId(row.id)
    known = terms.recall(Place(session_id, chapter, row.next_position))
    return known if known is not None else conversation.load_messages(tx, session_id, chapter)
