"""Pausing a turn for people: its batch, their questions and the session's state in one commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from geode.log import get_logger
from geode.loop.state import TurnPause
from geode.messages import OutboundFile, ReceiptId, SessionState
from geode.ports import Channel
from geode.records.asking import Question, ask
from geode.records.checkpoint import CheckpointSave, write_checkpoint
from geode.reply.approval_cards import (
    FILE_NAME,
    MEDIA_TYPE,
    ask_about_call,
    must_attach,
    write_file,
)
from geode.session.batches import describe_open_batch
from geode.session.claims import Claim
from geode.session.shelf import Shelf
from geode.store import sessions, turns
from geode.store.approvals import NewApproval
from geode.store.database import Tx
from geode.tools.blocking import run_to_end

log = get_logger(__name__)

Redact = Callable[[str], str]
"""What is done to every text on its way out."""
HIDDEN = (
    "They hold what is or looks like a secret, which is never shown, and nobody decides on what "
    "they cannot see whole."
)
TOO_LONG = "The arguments are longer than a file may be there."
NOT_KEPT = "The arguments could not be kept for sending."


@dataclass(frozen=True, slots=True)
class PauseSave:
    """Everything that a pause stores."""

    claim: Claim
    pause: TurnPause
    questions: Sequence[Question]
    uncertain: tuple[ReceiptId, ...]
    expires_s: int | None


class Pauses:
    """Prepares the questions of a pause; what a card cannot hold is spooled before it is named."""

    def __init__(self, shelf: Shelf, channels: Mapping[str, Channel], redact: Redact) -> None:
        self._shelf = shelf
        self._channels = channels
        self._redact = redact

    async def prepare(self, claim: Claim, pause: TurnPause) -> list[Question]:
        """How each call can be shown in the claim's thread."""
        channel = self._channels.get(claim.thread.platform)
        bytes_max = channel.limits.file_bytes_max if channel is not None else 0
        return [await self._prepare(new, bytes_max) for new in pause.asks]

    async def _prepare(self, new: NewApproval, bytes_max: int) -> Question:
        content = write_file(new)
        if self._hides(new, content):
            return Question(new, why_not=HIDDEN)
        if not must_attach(new):
            return Question(new)
        if len(content) > bytes_max:
            return Question(new, why_not=TOO_LONG)
        try:
            sha256 = await run_to_end(partial(self._shelf.outgoing.put, content))
        except OSError as error:
            log.warning("question_not_spooled", reason=os.strerror(error.errno or 0))
            return Question(new, why_not=NOT_KEPT)
        return Question(new, OutboundFile(FILE_NAME, MEDIA_TYPE, len(content), sha256))

    def _hides(self, new: NewApproval, content: bytes) -> bool:
        """Whether redaction would keep a part of what would run from whoever decides on it."""
        card = ask_about_call(new, "", None).card
        shown = (new.arguments, content.decode(), card.title, card.body)
        return any(self._redact(text) != text for text in shown)


def write_pause(tx: Tx, save: PauseSave, now_us: int) -> bool:
    """Store the pause; False, and nothing is stored, when the turn was stopped meanwhile."""
    claim, pause = save.claim, save.pause
    if turns.is_stopped(tx, claim.turn_id):
        return False
    checkpoint = CheckpointSave(
        session_id=claim.session_id,
        turn_id=claim.turn_id,
        epoch=claim.epoch,
        messages=(),
        state=pause.state.to_json(),
        batch=describe_open_batch(pause.batch),
        entries=pause.entries,
        uncertain=save.uncertain,
        reply_to=claim.reply_to,
    )
    write_checkpoint(tx, checkpoint, now_us)
    for question in save.questions:
        ask(tx, question, claim.reply_to, save.expires_s, now_us)
    turns.forgive_attempts(tx, claim.turn_id)
    sessions.pause_session(tx, claim.session_id, SessionState.AWAITING_APPROVAL, now_us)
    return True
