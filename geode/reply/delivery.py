"""Delivery: the head of each thread's outbox, in order, journaled before every send.

A part is `prepared` before the call and settled after it. A part found `prepared` after a crash may
have been sent: the platform is asked, twice, before it is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import orjson

from geode.errors import (
    ChannelError,
    SendRateLimitedError,
    SendRefusedError,
    StaleEpochError,
    StoreError,
)
from geode.log import get_logger
from geode.messages import OutboundBody, OutboundFile, Part, Place, SessionId
from geode.ports import Channel, Clock, Failpoints, Redactor
from geode.reply import sentences
from geode.reply.cards import keep_nonces, redact_card
from geode.reply.journal import ClaimedRow, SendJournal
from geode.reply.lookup import SendLookup
from geode.reply.marks import WorkingMarks
from geode.reply.sending import (
    Doubtful,
    Outcome,
    Refused,
    Sent,
    Settled,
    Unfindable,
    Unknown,
    Wait,
    send_part,
    split_plain,
    upload_part,
)
from geode.reply.statuses import StatusBoard
from geode.store import outbox, progress_rows
from geode.store.blobs import Blobs
from geode.store.database import Store, Tx
from geode.store.dispatcher import Dispatcher
from geode.store.outbox import OutboxRow, PartRow

log = get_logger(__name__)
Value = TypeVar("Value")

SECOND_LOOK_S = 5.0
DELIVERY_LEASE_S = 90.0
"""Longer than any step between two renewals: one send, or two looks."""
SWEEP_S = 1.0
FLUSH_STEP_S = 0.02
FLUSH_DOWN_S = 3.0
"""A send that outlives it on a channel that is down is left to the next start."""
NOT_THERE = ("starting", "down", "stopped")
MARK_TIMEOUT_S = 5.0
MARK_RETRY_S = 0.5
PARALLEL_MAX = 32
SWEEP_ROWS_MAX = 200


@dataclass(frozen=True, slots=True)
class DeliveryParts:
    """What delivery is made of."""

    store: Store
    channels: Mapping[str, Channel]
    clock: Clock
    failpoints: Failpoints
    redactor: Redactor
    owner: str
    spool: Blobs
    """Where the files that rows name are kept."""
    second_look_s: float = SECOND_LOOK_S
    lease_s: float = DELIVERY_LEASE_S


class Delivery:
    """Sends what the outbox holds: a thread's rows in order, threads apart from each other."""

    def __init__(self, parts: DeliveryParts) -> None:
        self._parts = parts
        self._store = parts.store
        self._journal = SendJournal(parts.store, parts.clock, parts.owner, parts.lease_s)
        self._dispatcher = Dispatcher("delivery", self._deliver_thread, parallel_max=PARALLEL_MAX)
        self._lookup = SendLookup(parts.store, parts.clock, parts.second_look_s)
        self.statuses = StatusBoard(self._show_status, parts.clock)
        self.marks = WorkingMarks(self._mark, parts.clock)
        self._locks: dict[SessionId, asyncio.Lock] = {}
        self._riding: set[SessionId] = set()
        self._claimed: dict[SessionId, ClaimedRow] = {}
        self._sending: dict[SessionId, Channel] = {}

    def redact(self, text: str) -> str:
        """The text as it would leave."""
        return self._parts.redactor.redact(text)

    def wake(self, session_id: SessionId) -> None:
        """Something waits in this session's outbox."""
        self._dispatcher.wake(session_id)

    async def run(self) -> None:
        """Deliver until cancelled; a sweep finds rows whose wake was lost or whose wait is over."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._dispatcher.run())
            tasks.create_task(self._sweep())
            tasks.create_task(self.statuses.run())

    async def flush(self) -> None:
        """Send everything that is due now; what has to wait for its platform stays for later.

        Each row is tried once, and a channel that is down is given little time for it.
        """
        clock = self._parts.clock
        asked_at_us, patience_until = clock.now_us(), clock.monotonic() + FLUSH_DOWN_S
        while due := await self._find_due(asked_at_us):
            for session_id in due:
                self.wake(session_id)
            await clock.sleep(FLUSH_STEP_S)
            if not await self._wait_sent(patience_until):
                return
        if await self._wait_sent(patience_until):
            await self.statuses.clear_ended()

    async def _wait_sent(self, patience_until: float) -> bool:
        """Wait until nothing is being sent; False when only channels that are down have work."""
        clock = self._parts.clock
        while active := self._dispatcher.active:
            if clock.monotonic() >= patience_until and all(map(self._is_stuck, active)):
                return False
            await clock.sleep(FLUSH_STEP_S)
        return True

    def _is_stuck(self, session_id: SessionId) -> bool:
        channel = self._sending.get(session_id)
        return channel is not None and channel.status().state in NOT_THERE

    async def wait_idle(self) -> None:
        """Return when nothing is being sent."""
        await self._dispatcher.wait_idle()

    async def write_along(
        self, label: str, session_id: SessionId, unit: Callable[[Tx], Value]
    ) -> Value:
        """Run a unit that may queue rows of this thread, and claim their head in its transaction.

        Raises what the unit raises. Saves the transaction in which delivery would claim it.
        """

        def both(tx: Tx) -> tuple[Value, ClaimedRow | None]:
            return unit(tx), self._journal.claim_along(tx, session_id, self._plan_row)

        self._riding.add(session_id)
        try:
            value, claimed = await self._store.write(label, both)
            if claimed is not None:
                self._claimed[session_id] = claimed
            return value
        finally:
            self._riding.discard(session_id)
            self.wake(session_id)

    async def edit_progress(
        self, session_id: SessionId, turn_id: str, body: OutboundBody, may_edit: Callable[[], bool]
    ) -> None:
        """Show progress in the turn's progress message, if it is there; best effort.

        Shares the thread's lock with delivery and asks `may_edit` last, so that no progress
        overwrites an answer; a thread that is being delivered is left alone, not waited for.
        """
        lock = self._lock(session_id)
        if lock.locked():
            return
        async with lock:
            found = await self._store.read(
                lambda tx: progress_rows.find_live_progress(tx, session_id, turn_id)
            )
            if found is None:
                return
            place, message_id = found
            channel = self._parts.channels.get(place.thread.platform)
            if channel is not None and may_edit():
                part = self._plan(channel, body)[0]
                await send_part(channel, place, part, edits=message_id, key="")

    async def mark_working(self, place: Place, message_id: str, *, is_on: bool) -> None:
        """Show or clear the working mark on a person's message once; best effort."""
        await self._mark(place, message_id, is_on)

    async def _mark(self, place: Place, message_id: str, is_on: bool) -> float | None:
        error = await self._hint(
            place, lambda channel: channel.react(place, message_id, is_on=is_on)
        )
        if error is None or isinstance(error, SendRefusedError):
            return None
        return error.retry_after_s if isinstance(error, SendRateLimitedError) else MARK_RETRY_S

    async def _show_status(self, place: Place, line: str) -> None:
        await self._hint(place, lambda channel: channel.set_status(place, line))

    async def _hint(
        self, place: Place, call: Callable[[Channel], Awaitable[None]]
    ) -> ChannelError | TimeoutError | None:
        channel = self._parts.channels.get(place.thread.platform)
        if channel is None:
            return None
        try:
            async with asyncio.timeout(MARK_TIMEOUT_S):
                await call(channel)
        except (ChannelError, TimeoutError) as error:
            return error
        except Exception:  # boundary: delivery
            log.exception("hint_failed", channel=channel.name)
        return None

    def _lock(self, session_id: SessionId) -> asyncio.Lock:
        return self._locks.setdefault(session_id, asyncio.Lock())

    async def _sweep(self) -> None:
        while True:
            try:
                for session_id in await self._find_due(self._parts.clock.now_us()):
                    self.wake(session_id)
            except StoreError as error:
                log.warning("delivery_sweep_failed", reason=str(error))
            await self._parts.clock.sleep(SWEEP_S)

    async def _find_due(self, now_us: int) -> list[SessionId]:
        # What belongs to a channel that is not there now waits without taking anybody's place.
        platforms = tuple(self._parts.channels)
        return await self._store.read(
            lambda tx: outbox.find_due(tx, self._parts.owner, platforms, now_us, SWEEP_ROWS_MAX)
        )

    async def _deliver_thread(self, session_id: SessionId) -> None:
        lock = self._lock(session_id)
        async with lock:
            try:
                while await self._deliver_head(session_id):
                    pass
            except StaleEpochError as error:
                log.warning("delivery_taken_over", session=session_id, reason=str(error))
            except StoreError as error:
                log.warning("delivery_not_recorded", session=session_id, reason=str(error))
        if not lock.locked():
            self._locks.pop(session_id, None)

    async def _deliver_head(self, session_id: SessionId) -> bool:
        if session_id in self._riding:
            return False  # woken again when it is known what was claimed
        claimed = self._claimed.pop(session_id, None)
        if claimed is None:
            claimed = await self._journal.claim(session_id, self._plan_row)
        if claimed is None:
            return False
        channel = self._parts.channels.get(claimed.row.place.thread.platform)
        if channel is None:
            return False  # removed since; its lease ends, and the row waits for the channel
        self._sending[session_id] = channel
        try:
            return await self._deliver_parts(channel, claimed)
        finally:
            del self._sending[session_id]

    def _plan_row(self, row: OutboxRow) -> tuple[Part, ...] | None:
        channel = self._parts.channels.get(row.place.thread.platform)
        if channel is None:
            return None
        texts = self._plan(channel, _body_of(row))
        return (*texts, *(part for file in row.files for part in self._plan_file(channel, file)))

    def _plan_file(self, channel: Channel, file: OutboundFile) -> tuple[Part, ...]:
        """The file, or the words that it is too large for its platform."""
        limit = channel.limits.file_bytes_max
        name = self._parts.redactor.redact(file.name)
        if file.size_bytes <= limit:
            return (Part(payload={}, plain=name, file=replace(file, name=name)),)
        told = sentences.describe_large_file(name, limit)
        return self._plan(channel, OutboundBody(told, "notice"))

    def _plan(self, channel: Channel, body: OutboundBody) -> tuple[Part, ...]:
        redact = self._parts.redactor.redact
        card = None if body.card is None else redact_card(body.card, redact)
        clean = replace(body, markdown=redact(body.markdown), card=card)
        redact_payload = keep_nonces(card, redact)
        try:
            parts = tuple(self._redact_part(part, redact_payload) for part in channel.plan(clean))
        except Exception:  # boundary: delivery
            log.exception("plan_failed", channel=channel.name)
            parts = ()
        # Text that cannot be rendered must not stop its thread for ever.
        return parts or split_plain(clean.markdown)

    def _redact_part(self, part: Part, redact_payload: Callable[[str], str]) -> Part:
        # The exact bytes sent: a secret may have come together only in the rendered form.
        raw = orjson.dumps(part.payload).decode()
        clean = redact_payload(raw)
        payload = part.payload if clean == raw else orjson.loads(clean)
        return Part(payload, self._parts.redactor.redact(part.plain))

    async def _deliver_parts(self, channel: Channel, claimed: ClaimedRow) -> bool:
        is_unknown = claimed.is_unknown
        for part in claimed.open_parts:
            outcome = await self._apply(channel, claimed, part, is_unknown=is_unknown)
            is_unknown = False
            if isinstance(outcome, Wait):
                await self._journal.postpone(claimed, part, outcome)
                return False
            if isinstance(outcome, Doubtful):
                log.error("send_doubtful", row=claimed.row.id, reason=outcome.reason)
            if isinstance(outcome, Refused):
                log.error("send_refused", row=claimed.row.id, reason=outcome.reason)
            if part is claimed.open_parts[-1]:
                await self.marks.clear(claimed.row.place, claimed.marked)
                return await self._journal.close(claimed, part, outcome)
            await self._journal.settle(claimed, part, outcome)
        return True

    async def _apply(
        self, channel: Channel, claimed: ClaimedRow, part: PartRow, *, is_unknown: bool
    ) -> Settled | Wait:
        while True:
            if is_unknown:
                found = await self._lookup.look_twice(channel, claimed.row, part)
                if isinstance(found, Unfindable):
                    if part.error == sentences.POSSIBLY_DOUBLED:
                        return Doubtful(sentences.POSSIBLY_LOST)
                    part = replace(part, error=sentences.POSSIBLY_DOUBLED)
                elif found is not None:
                    return found
                await self._journal.mark(claimed, part.number, "prepared", error=part.error)
            outcome = await self._send(channel, claimed, part)
            is_pointer = part.part.plain in sentences.POINTERS
            if isinstance(outcome, Refused) and part.edits and not is_pointer:
                # The message to edit is gone: what it was to say becomes a message of its own.
                await self._journal.mark(claimed, part.number, "prepared", edits="")
                part = replace(part, edits="")
                is_unknown = False
                continue
            if not isinstance(outcome, Unknown):
                return outcome
            log.warning("send_unknown", row=claimed.row.id, reason=outcome.reason)
            if part.edits:
                return Wait(None, outcome.reason, is_unsent=True)
            if is_unknown:
                return Wait(None, outcome.reason, is_unsent=False)
            await self._journal.mark(claimed, part.number, "uncertain")
            is_unknown = True

    async def _send(self, channel: Channel, claimed: ClaimedRow, part: PartRow) -> Outcome:
        row = claimed.row
        self._parts.failpoints.hit(f"send.before:{row.kind}")
        claimed.require_time()
        self._parts.failpoints.hit(f"send.window:{row.kind}")
        key = f"{row.id}:{part.number}"
        shown = part
        if part.error == sentences.POSSIBLY_DOUBLED and not part.edits:
            shown = replace(part, part=channel.mark_repeated(part.part))
        outcome = await self._call(channel, row.place, shown, key)
        self._parts.failpoints.hit(f"send.after:{row.kind}")
        if isinstance(outcome, Sent):
            return outcome
        # The reason is stored with the row, and a platform may have quoted the request.
        return replace(outcome, reason=self._parts.redactor.redact(outcome.reason))

    async def _call(self, channel: Channel, place: Place, part: PartRow, key: str) -> Outcome:
        file = part.part.file
        if file is None:
            return await send_part(channel, place, part.part, edits=part.edits, key=key)
        content = await asyncio.to_thread(self._parts.spool.get, file.sha256, file.size_bytes)
        if content is None:
            return Refused(sentences.COPY_LOST)
        return await upload_part(channel, place, part.part, content, key)


def _body_of(row: OutboxRow) -> OutboundBody:
    match row.kind:
        case "progress" | "answer":
            return OutboundBody(row.body, row.kind)
        case "card" | "card_end" if row.card is not None:
            return OutboundBody(row.body, "card", row.card)
        case _:
            return OutboundBody(row.body, "notice")
