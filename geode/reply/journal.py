"""The journal of sends: every step of a part is committed under the thread's delivery epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from geode.errors import StaleEpochError
from geode.messages import Part, SessionId
from geode.ports import Clock
from geode.reply import sentences
from geode.reply.approval_cards import KIND, show_decided
from geode.reply.cards import say_card
from geode.reply.sending import Doubtful, Refused, Settled, Wait
from geode.store import approvals, cards, inbox, outbox, progress_rows
from geode.store.approvals import Word
from geode.store.database import Store, Tx
from geode.store.outbox import DeliveryLease, NewOutbox, OutboxRow, PartRow, PlannedPart

EDIT_AGE_US_MAX = 60_000_000
"""Edits notify nobody: after this much work the answer is a new message."""
BACKOFF_S_MAX = 60.0
OPEN_PART_STATES = ("planned", "prepared", "uncertain")


@dataclass(slots=True)
class ClaimedRow:
    """A row whose first open part is `prepared`; `is_unknown`: it may have been sent before."""

    row: OutboxRow
    epoch: int
    open_parts: tuple[PartRow, ...]
    marked: tuple[str, ...]
    """The messages that an answer takes the working mark from."""
    is_unknown: bool
    clock: Clock
    until: float
    """Monotonic seconds up to which the lease certainly holds, without asking the store."""

    def require_time(self) -> None:
        """The last look before a send: a worker that was frozen since its commit sends nothing."""
        if self.clock.monotonic() >= self.until:
            raise StaleEpochError(self.row.session_id, self.epoch)


Plan = Callable[[OutboxRow], Sequence[Part] | None]
"""The parts of a row, by a pure function; None while its channel is not there."""


class SendJournal:
    """Writes what delivery does, before and after it does it."""

    def __init__(self, store: Store, clock: Clock, owner: str, lease_s: float) -> None:
        self._store = store
        self._clock = clock
        self._lease_s = lease_s
        self._lease_us = int(lease_s * 1_000_000)
        self.owner = owner

    async def claim(self, session_id: SessionId, plan: Plan) -> ClaimedRow | None:
        """Take the thread's lease, fix the head's parts once, and prepare the first open one.

        None when nothing is due or another worker delivers this thread; then nothing is written.
        """
        until = self._clock.monotonic() + self._lease_s
        return await self._store.write(
            "delivery.claim", lambda tx: self._claim(tx, session_id, plan, until)
        )

    def claim_along(self, tx: Tx, session_id: SessionId, plan: Plan) -> ClaimedRow | None:
        """The same within a unit that queued something; None while anyone delivers the thread."""
        until = self._clock.monotonic() + self._lease_s
        return self._claim(tx, session_id, plan, until, is_along=True)

    async def mark(self, claimed: ClaimedRow, number: int, state: str, **values: str) -> None:
        """Move a part to a state; raises `StaleEpochError` once the lease is lost."""

        def unit(tx: Tx) -> None:
            now_us = self._renew(tx, claimed)
            outbox.set_part(tx, claimed.row.id, number, state, at_us=now_us, **values)

        await self._write(claimed, "delivery.mark", unit)

    async def settle(self, claimed: ClaimedRow, part: PartRow, outcome: Settled) -> None:
        """Record what a part came to, and prepare the next one."""

        def unit(tx: Tx) -> None:
            now_us = self._renew(tx, claimed)
            _record(tx, claimed.row.id, part.number, outcome)
            _tell_refused_file(tx, claimed.row, part, outcome, now_us)
            outbox.set_part(tx, claimed.row.id, part.number + 1, "prepared", at_us=now_us)

        await self._write(claimed, "delivery.settle", unit)

    async def close(self, claimed: ClaimedRow, part: PartRow, outcome: Settled) -> bool:
        """Record what the last part came to and end the row; True when another row waits."""
        row = claimed.row

        def unit(tx: Tx) -> bool:
            outbox.give_back_delivery(tx, row.session_id, claimed.epoch)
            _record(tx, row.id, part.number, outcome)
            _tell_refused_file(tx, row, part, outcome, self._clock.now_us())
            now_us = self._clock.now_us()
            state, _ = outbox.end_from_parts(tx, row.id, now_us)
            if row.kind == "card":
                _note_refused_card(tx, row, now_us, is_unseen=state == "not_applied")
            return outbox.has_open(tx, row.session_id)

        return await self._store.write("delivery.settle", unit)

    async def postpone(self, claimed: ClaimedRow, part: PartRow, wait: Wait) -> None:
        """Give the thread back until the wait is over."""
        row = claimed.row
        backoff_s = min(BACKOFF_S_MAX, 2.0 ** min(row.attempts, 6))
        seconds = backoff_s if wait.seconds is None else wait.seconds

        def unit(tx: Tx) -> None:
            now_us = self._clock.now_us()
            outbox.give_back_delivery(tx, row.session_id, claimed.epoch)
            outbox.set_part(
                tx, row.id, part.number, "planned" if wait.is_unsent else "uncertain", at_us=now_us
            )
            outbox.postpone_row(tx, row.id, now_us + int(seconds * 1_000_000), wait.reason)

        await self._store.write("delivery.postpone", unit)

    async def _write(self, claimed: ClaimedRow, label: str, unit: Callable[[Tx], None]) -> None:
        until = self._clock.monotonic() + self._lease_s
        await self._store.write(label, unit)
        claimed.until = until

    def _renew(self, tx: Tx, claimed: ClaimedRow) -> int:
        now_us = self._clock.now_us()
        outbox.require_delivery(tx, claimed.row.session_id, claimed.epoch, now_us + self._lease_us)
        return now_us

    def _claim(
        self, tx: Tx, session_id: SessionId, plan: Plan, until: float, *, is_along: bool = False
    ) -> ClaimedRow | None:
        now_us = self._clock.now_us()
        row = outbox.read_head(tx, session_id)
        if row is None or row.due_at_us > now_us:
            return None
        rendered = plan(row)
        if rendered is None:
            return None
        lease = DeliveryLease(self.owner, now_us + self._lease_us, is_renewed=not is_along)
        epoch = outbox.take_delivery(tx, session_id, lease, now_us)
        if epoch is None:
            return None
        if overtaken := _find_overtaken(tx, row):
            outbox.end_row(tx, row.id, "not_applied", now_us, overtaken)
            return self._claim(tx, session_id, plan, until)
        if not row.parts:
            planned = _place_parts(tx, row, rendered, now_us)
            row = replace(row, parts=outbox.plan_parts(tx, row.id, planned))
        open_parts = tuple(part for part in row.parts if part.state in OPEN_PART_STATES)
        first = open_parts[0]
        if first.state == "planned":
            outbox.set_part(tx, row.id, first.number, "prepared", at_us=now_us)
        is_unknown = first.state != "planned" and not first.edits
        is_answer = row.kind == "answer"
        marked = tuple(inbox.list_turn_messages(tx, row.turn_id)) if is_answer else ()
        return ClaimedRow(row, epoch, open_parts, marked, is_unknown, self._clock, until)


def _note_refused_card(tx: Tx, row: OutboxRow, now_us: int, *, is_unseen: bool) -> None:
    """A card that a part of is missing is not decided on; what there is of it says so."""
    why = outbox.find_refused(tx, row.id)
    if why is None:
        return
    if is_unseen:
        cards.note_undelivered(tx, row.session_id, row.episode, why, now_us)
        return
    card = cards.read_card(tx, row.episode)
    approval = approvals.find_approval(tx, card.subject) if card.kind == KIND else None
    if approval is None or not approval.is_pending:
        return
    cards.note_undelivered(tx, row.session_id, row.episode, why, now_us)
    shown = show_decided(approval, Word(approvals.UNDELIVERABLE, "runtime", why), "", now_us)
    cards.end_card(tx, card, shown, say_card(shown), now_us)


def _find_overtaken(tx: Tx, row: OutboxRow) -> str:
    """Why a row of which nothing was sent is not to be sent any more; empty: it is."""
    if row.kind == "progress" and not row.parts and progress_rows.is_answered(tx, row.turn_id):
        return "answered first"
    is_unsent = all(part.state == "planned" for part in row.parts)
    if row.kind == "card" and is_unsent and not cards.is_open(tx, row.episode):
        return "decided first"
    return ""


def _place_parts(tx: Tx, row: OutboxRow, parts: Sequence[Part], now_us: int) -> list[PlannedPart]:
    if row.kind == "card_end":
        return _replace(parts, cards.list_messages(tx, row.session_id, row.episode))
    message_id, created_at_us = (
        progress_rows.find_progress(tx, row.turn_id) if row.kind == "answer" else ("", 0)
    )
    if not message_id:
        return [PlannedPart(part) for part in parts]
    if now_us - created_at_us <= EDIT_AGE_US_MAX:
        first, *rest = parts
        return [PlannedPart(first, edits=message_id), *(PlannedPart(part) for part in rest)]
    below = PlannedPart(Part(payload={}, plain=sentences.ANSWERED_BELOW), edits=message_id)
    return [below, *(PlannedPart(part) for part in parts)]


def _replace(parts: Sequence[Part], message_ids: Sequence[str]) -> list[PlannedPart]:
    """Edit these messages in order; what has no message yet is posted, what is over says so."""
    edits = (*message_ids, *("" for _ in parts[len(message_ids) :]))
    above = Part(payload={}, plain=sentences.DECIDED_ABOVE)
    shown = (*parts, *(above for _ in message_ids[len(parts) :]))
    return [PlannedPart(part, edits=edit) for part, edit in zip(shown, edits, strict=True)]


def _tell_refused_file(
    tx: Tx, row: OutboxRow, part: PartRow, outcome: Settled, now_us: int
) -> None:
    """A file that will never arrive is said to be missing, once, by a message of its own."""
    if part.part.file is None or not isinstance(outcome, Refused):
        return
    told = sentences.describe_refused_file(part.part.file.name, outcome.reason)
    episode = f"{row.id}:{part.number}"
    notice = NewOutbox("file_refused", episode, told, row.place.reply_to, row.turn_id)
    outbox.add_outbox(tx, row.session_id, notice, now_us)


def _record(tx: Tx, row_id: int, number: int, outcome: Settled) -> None:
    if isinstance(outcome, Doubtful):
        outbox.set_part(tx, row_id, number, "uncertain", error=outcome.reason)
    elif isinstance(outcome, Refused):
        outbox.set_part(tx, row_id, number, "not_applied", error=outcome.reason)
    elif outcome.was_found:
        outbox.set_part(tx, row_id, number, "reconciled", message_id=outcome.message_id)
    else:
        outbox.set_part(tx, row_id, number, "committed", message_id=outcome.message_id)
