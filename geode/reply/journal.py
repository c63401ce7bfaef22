"""The journal of sends: every step of a part is committed under the thread's delivery epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from geode.errors import StaleEpochError
from geode.messages import Part
from geode.ports import Clock
from geode.reply import sentences
from geode.reply.sending import Refused, Sent, Wait
from geode.store import outbox
from geode.store.database import Store, Tx
from geode.store.outbox import OutboxRow, PartRow, PlannedPart

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
    is_unknown: bool
    clock: Clock
    until: float
    """Monotonic seconds up to which the lease certainly holds, without asking the store."""

    def require_time(self) -> None:
        """The last look before a send: a worker that was frozen since its commit sends nothing."""
        if self.clock.monotonic() >= self.until:
            raise StaleEpochError(self.row.session_id, self.epoch)


class SendJournal:
    """Writes what delivery does, before and after it does it."""

    def __init__(self, store: Store, clock: Clock, owner: str, lease_s: float) -> None:
        self._store = store
        self._clock = clock
        self._lease_s = lease_s
        self._lease_us = int(lease_s * 1_000_000)
        self.owner = owner

    async def claim(self, head: OutboxRow, parts: Sequence[Part]) -> ClaimedRow | None:
        """Take the thread's lease, fix the row's parts once, and prepare the first open one.

        None when another worker delivers this thread or the row is no longer its head.
        """
        until = self._clock.monotonic() + self._lease_s
        return await self._store.write(
            "delivery.claim", lambda tx: self._claim(tx, head, parts, until)
        )

    async def mark(self, claimed: ClaimedRow, number: int, state: str, **values: str) -> None:
        """Move a part to a state; raises `StaleEpochError` once the lease is lost."""

        def unit(tx: Tx) -> None:
            now_us = self._renew(tx, claimed)
            outbox.set_part(tx, claimed.row.id, number, state, at_us=now_us, **values)

        await self._write(claimed, "delivery.mark", unit)

    async def settle(self, claimed: ClaimedRow, part: PartRow, outcome: Sent | Refused) -> None:
        """Record what a part came to and prepare the next one, or close the row after the last."""
        is_last = part.number == claimed.open_parts[-1].number

        def unit(tx: Tx) -> None:
            now_us = self._renew(tx, claimed)
            _record(tx, claimed.row.id, part.number, outcome)
            if is_last:
                outbox.end_from_parts(tx, claimed.row.id, now_us)
                outbox.release_delivery(tx, claimed.row.session_id)
            else:
                outbox.set_part(tx, claimed.row.id, part.number + 1, "prepared", at_us=now_us)

        await self._write(claimed, "delivery.settle", unit)

    async def postpone(self, claimed: ClaimedRow, part: PartRow, wait: Wait) -> None:
        """Give the thread back until the wait is over."""
        row = claimed.row
        backoff_s = min(BACKOFF_S_MAX, 2.0 ** min(row.attempts, 6))
        seconds = backoff_s if wait.seconds is None else wait.seconds

        def unit(tx: Tx) -> None:
            now_us = self._renew(tx, claimed)
            outbox.set_part(
                tx, row.id, part.number, "planned" if wait.is_unsent else "uncertain", at_us=now_us
            )
            outbox.postpone_row(tx, row.id, now_us + int(seconds * 1_000_000), wait.reason)
            outbox.release_delivery(tx, row.session_id)

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
        self, tx: Tx, head: OutboxRow, parts: Sequence[Part], until: float
    ) -> ClaimedRow | None:
        now_us = self._clock.now_us()
        epoch = outbox.take_delivery(
            tx,
            head.session_id,
            owner=self.owner,
            now_us=now_us,
            until_us=now_us + self._lease_us,
        )
        if epoch is None:
            return None
        row = outbox.read_head(tx, head.session_id)
        if row is None or row.id != head.id:
            outbox.release_delivery(tx, head.session_id)
            return None
        if not row.parts:
            if row.kind == "progress" and outbox.is_answered(tx, row.turn_id):
                outbox.end_row(tx, row.id, "not_applied", now_us, "answered first")
                outbox.release_delivery(tx, row.session_id)
                return None
            outbox.plan_parts(tx, row.id, _place_parts(tx, row, parts, now_us))
        return self._prepare_first(tx, row, epoch, until)

    def _prepare_first(self, tx: Tx, row: OutboxRow, epoch: int, until: float) -> ClaimedRow:
        open_parts = tuple(
            part for part in outbox.read_parts(tx, row.id) if part.state in OPEN_PART_STATES
        )
        first = open_parts[0]
        is_unknown = first.state != "planned" and not first.edits
        if first.state == "planned":
            now_us = self._clock.now_us()
            outbox.set_part(tx, row.id, first.number, "prepared", at_us=now_us)
        return ClaimedRow(row, epoch, open_parts, is_unknown, self._clock, until)


def _place_parts(tx: Tx, row: OutboxRow, parts: Sequence[Part], now_us: int) -> list[PlannedPart]:
    message_id, created_at_us = (
        outbox.find_progress(tx, row.turn_id) if row.kind == "answer" else ("", 0)
    )
    if not message_id:
        return [PlannedPart(part) for part in parts]
    if now_us - created_at_us <= EDIT_AGE_US_MAX:
        first, *rest = parts
        return [PlannedPart(first, edits=message_id), *(PlannedPart(part) for part in rest)]
    below = PlannedPart(Part(payload={}, plain=sentences.ANSWERED_BELOW), edits=message_id)
    return [below, *(PlannedPart(part) for part in parts)]


def _record(tx: Tx, row_id: int, number: int, outcome: Sent | Refused) -> None:
    if isinstance(outcome, Refused):
        outbox.set_part(tx, row_id, number, "not_applied", error=outcome.reason)
    elif outcome.was_found:
        outbox.set_part(tx, row_id, number, "reconciled", message_id=outcome.message_id)
    else:
        outbox.set_part(tx, row_id, number, "committed", message_id=outcome.message_id)
