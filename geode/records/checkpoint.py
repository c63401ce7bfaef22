"""The session checkpoint: saved before any tool of a batch runs, and again with its results."""

from __future__ import annotations

from dataclasses import dataclass

from geode.messages import JsonObject, Message, ReceiptId, SessionId, TurnId
from geode.ports import Clock
from geode.records.settling import ask_people
from geode.store import conversation
from geode.store.conversation import Checkpoint
from geode.store.database import Store, Tx
from geode.store.leases import require_epoch
from geode.store.timeline import TimelineEntry, append_entries


@dataclass(frozen=True, slots=True)
class CheckpointSave:
    """One durable step of a turn."""

    session_id: SessionId
    turn_id: TurnId
    epoch: int
    messages: tuple[Message, ...]
    """Not stored yet, in order."""
    state: JsonObject
    batch: JsonObject | None
    """The calls that have no stored results yet; None when every call has its result."""
    entries: tuple[TimelineEntry, ...] = ()
    uncertain: tuple[ReceiptId, ...] = ()
    """Effects whose outcome nobody knows: the thread is asked about each, once."""
    reply_to: str = ""
    """The message under which it is asked, in a thread that has none."""


def write_checkpoint(tx: Tx, save: CheckpointSave, now_us: int) -> None:
    """Write the step in the caller's transaction; raises `StaleEpochError` from a lost lease."""
    require_epoch(tx, save.session_id, save.epoch)
    conversation.append_messages(tx, save.session_id, save.turn_id, save.messages)
    checkpoint = Checkpoint(save.turn_id, save.state, save.batch)
    conversation.save_checkpoint(tx, save.session_id, checkpoint, epoch=save.epoch, now_us=now_us)
    append_entries(tx, save.session_id, save.entries, now_us)
    for receipt_id in save.uncertain:
        ask_people(tx, receipt_id, save.reply_to, now_us)


class SessionCheckpoint:
    """Commits a turn's steps; what is restored from them is the conversation and nothing else."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def save(self, label: str, save: CheckpointSave) -> None:
        """Commit one step; raises a `StoreError` when nothing of it was stored."""
        await self._store.write(label, lambda tx: write_checkpoint(tx, save, self._clock.now_us()))
