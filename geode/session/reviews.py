"""Letting a turn wait for a review: candidate, card and the session's state in one commit."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from geode.log import get_logger
from geode.messages import (
    UNATTENDED,
    OutboundFile,
    ReceiptId,
    SessionId,
    SessionState,
    Thread,
)
from geode.ports import Channel
from geode.records.checkpoint import CheckpointSave, write_checkpoint
from geode.records.reviewing import Elsewhere, ReviewPlace, open_review
from geode.reply.review_cards import FILE_NAME, MEDIA_TYPE, must_attach, write_content
from geode.session.claims import Claim
from geode.session.endings import TurnReview
from geode.session.outlet import key_of_place
from geode.session.pauses import Redact
from geode.session.shelf import Shelf
from geode.settings import Binding
from geode.store import reviews, sessions, turns
from geode.store.database import Tx
from geode.store.reviews import Evidence, NewReview
from geode.tools.blocking import run_to_end
from geode.verify.judge import JudgeFault
from geode.verify.structure import Candidate

log = get_logger(__name__)

EVIDENCE_MAX = 20
EVIDENCE_CHARS_MAX = 2_000
"""Of one observation; what is cut says so."""


@dataclass(frozen=True, slots=True)
class ReviewSave:
    """Everything that a turn which waits for a review stores."""

    claim: Claim
    waiting: TurnReview
    binding: Binding | None
    uncertain: tuple[ReceiptId, ...] = ()
    elsewhere: Elsewhere | None = None


class Reviews:
    """Prepares the card of a review; what it cannot hold is spooled before it is named."""

    def __init__(self, shelf: Shelf, channels: Mapping[str, Channel], redact: Redact) -> None:
        self._shelf = shelf
        self._channels = channels
        self._redact = redact

    async def prepare(self, save: ReviewSave, bindings: Sequence[Binding]) -> ReviewSave:
        """The same with the place where its binding wants answers reviewed, and the card's file."""
        binding, claim = save.binding, save.claim
        place = binding.review_place if binding is not None else None
        if binding is None or place is None or claim.mode not in UNATTENDED:
            return save
        thread = Thread(binding.channel, place.workspace, place.channel, place.thread)
        if _is_read_by_askers(binding, claim.thread, thread):
            return save  # shown on demand only
        fresh_id = SessionId("s" + secrets.token_hex(8))
        file = await self._spool(describe_review(save), thread.platform)
        key = key_of_place(bindings, thread)
        return replace(save, elsewhere=Elsewhere(thread, key, fresh_id, file))

    async def _spool(self, new: NewReview, platform: str) -> OutboundFile | None:
        channel = self._channels.get(platform)
        if new.is_personal or channel is None or not must_attach(new):
            return None
        content = self._redact(write_content(new)).encode("utf-8", "replace")
        if len(content) > channel.limits.file_bytes_max:
            return None  # the card then carries it over several messages
        try:
            sha256 = await run_to_end(partial(self._shelf.outgoing.put, content))
        except OSError as error:
            log.warning("review_not_spooled", reason=os.strerror(error.errno or 0))
            return None
        return OutboundFile(FILE_NAME, MEDIA_TYPE, len(content), sha256)


def _is_read_by_askers(binding: Binding, asked: Thread, shown: Thread) -> bool:
    """Whether people of the binding read there: a category holds channels, a channel threads."""
    here = (asked.platform, asked.workspace, asked.channel)
    is_same = here == (shown.platform, shown.workspace, shown.channel)
    return is_same and (not binding.place.thread or shown.thread in ("", asked.thread))


def write_review(tx: Tx, save: ReviewSave, now_us: int) -> bool:
    """Store it; False, and nothing is stored, when the turn was stopped meanwhile."""
    claim, end = save.claim, save.waiting.end
    if turns.is_stopped(tx, claim.turn_id):
        return False
    checkpoint = CheckpointSave(
        session_id=claim.session_id,
        turn_id=claim.turn_id,
        epoch=claim.epoch,
        messages=end.unsaved,
        state=end.state.to_json(),
        batch=None,
        entries=end.entries,
        uncertain=save.uncertain,
        reply_to=claim.reply_to,
    )
    write_checkpoint(tx, checkpoint, now_us)
    reviews.mark_applied(tx, claim.turn_id, now_us)
    open_review(tx, describe_review(save), place_of(save), now_us)
    turns.forgive_attempts(tx, claim.turn_id)
    sessions.pause_session(tx, claim.session_id, SessionState.AWAITING_REVIEW, now_us)
    return True


def describe_review(save: ReviewSave) -> NewReview:
    """The candidate with what was found, and the evidence bounded."""
    claim, verdict, candidate = save.claim, save.waiting.verdict, save.waiting.candidate
    return NewReview(
        session_id=claim.session_id,
        turn_id=claim.turn_id,
        chapter=claim.chapter,
        pending_text=candidate.text,
        reason=candidate.reason.value,
        outcome=verdict.outcome,
        rule=verdict.rule,
        misses=verdict.misses,
        reflection=verdict.reflection,
        evidence=_collect_evidence(candidate),
        is_personal=JudgeFault.PERSONAL in verdict.misses,
    )


def place_of(save: ReviewSave) -> ReviewPlace:
    """Where people are asked; nobody is notified where nobody could press."""
    claim = save.claim
    is_bound = save.binding is not None and claim.mode in UNATTENDED
    return ReviewPlace(
        is_bound,
        save.elsewhere,
        reply_to=claim.reply_to,
        is_attended=claim.mode not in UNATTENDED,
    )


def _collect_evidence(candidate: Candidate) -> tuple[Evidence, ...]:
    kept = candidate.observations[-EVIDENCE_MAX:]
    return tuple(Evidence(each.tool, _cut(each.text), each.is_error) for each in kept)


def _cut(text: str) -> str:
    if len(text) <= EVIDENCE_CHARS_MAX:
        return text
    return f"{text[:EVIDENCE_CHARS_MAX]} [… {len(text) - EVIDENCE_CHARS_MAX:,} characters more]"
