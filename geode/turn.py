"""One turn, end to end: claimed, restored, answered, verified, committed with its reply.

Read this file first. A crash anywhere leaves a running session whose lease runs out; the next claim
restores what the last commit holds and goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from geode.attended import time_limit_s
from geode.errors import (
    StaleEpochError,
    StorageBusyError,
    StorageFullError,
    StoreError,
)
from geode.log import get_logger
from geode.loop.state import TurnPause
from geode.messages import (
    DELIVERABLE,
    ReceiptId,
    SessionId,
    SessionState,
    TerminationReason,
)
from geode.ports import Channel
from geode.records.asking import RUNTIME, withdraw_questions
from geode.records.checkpoint import CheckpointSave, write_checkpoint
from geode.records.reviewing import withdraw_reviews
from geode.reply.delivery import Delivery
from geode.reply.progress import ProgressReporter, ShownTurn
from geode.session.children import FamilyRestorer
from geode.session.claims import Claim, ClaimTerms, Due, EarlierDue, claim_session
from geode.session.completion import Completion, CompletionParts, Outcome
from geode.session.downloads import Downloads
from geode.session.earlier import EarlierMessages
from geode.session.endings import FinishedTurn, TurnReview, end_without_answer, totals_of
from geode.session.histories import Place
from geode.session.leases import Lease, Leases
from geode.session.outgoing import Outgoing
from geode.session.pauses import Pauses, PauseSave, write_pause
from geode.session.requests import compose_request
from geode.session.restore import RestoredTurn
from geode.session.reviews import Reviews, ReviewSave, write_review
from geode.session.services import SharedServices
from geode.session.stops import read_again, run_unless_stopped
from geode.store import inbox, outbox, reviews, sessions, turns
from geode.store.database import Tx
from geode.store.outbox import NewOutbox
from geode.store.timeline import TimelineEntry
from geode.verify.turn_check import VerifyParts

log = get_logger(__name__)

ATTEMPTS_MAX = 3
"""A turn that was claimed so often and never ended is not resumed again."""
HAND_BACK_TIMEOUT_S = 5.0
WRITE_WAIT_S_MAX = 5.0


@dataclass(frozen=True, slots=True)
class TurnParts:
    """What turns are run with."""

    services: SharedServices
    leases: Leases
    delivery: Delivery
    channels: Mapping[str, Channel]
    verify: VerifyParts


class TurnRunner:
    """Runs the turns of woken sessions; the lanes see to it that one session runs one at a time."""

    def __init__(self, parts: TurnParts) -> None:
        self._parts = parts
        self._services = parts.services
        self._store = parts.services.store
        self._clock = parts.services.clock
        services = parts.services
        self._restorer = FamilyRestorer(
            self._store,
            services.receipts,
            services.checkpoints,
            services.toolbox,
            services.gate.approvals,
        )
        self._downloads = Downloads(
            self._store, parts.channels, parts.services.shelf, parts.services.take_out
        )
        self._earlier = EarlierMessages(
            self._store, parts.channels, self._clock, parts.services.take_out
        )
        self._pauses = Pauses(parts.services.shelf, parts.channels, parts.delivery.redact)
        self._reviews = Reviews(parts.services.shelf, parts.channels, parts.delivery.redact)
        self._outgoing = Outgoing(parts.services.shelf, parts.services.take_out)
        self._completion = Completion(
            CompletionParts(
                self._store,
                parts.verify,
                lambda: services.toolbox.by_name,
                lambda claim: time_limit_s(services.find_binding(claim.binding)),
            )
        )

    async def run_session(self, session_id: SessionId) -> bool:
        """Run the session's next turn, if there is one; True when another waits behind it."""
        claimed = await self._claim(session_id)
        if claimed is None:
            return False
        claim, since = claimed
        lease = self._parts.leases.hold(claim.session_id, claim.epoch, since, claim.turn_id)
        try:
            return await self._run_claimed(claim, lease)
        except StaleEpochError as error:
            log.warning("turn_taken_over", session=session_id, reason=str(error))
            return False
        except StoreError as error:
            # Nothing more can be recorded: the lease runs out and the turn is resumed later.
            log.warning("turn_not_recorded", session=session_id, reason=str(error))
            return False
        except asyncio.CancelledError:
            if not lease.is_lost:
                await self._hand_back(claim)
            raise
        finally:
            self._parts.leases.drop(lease)

    async def _claim(self, session_id: SessionId) -> tuple[Claim, float] | None:
        """The claim, and a moment before it from which its lease is counted."""
        while True:
            since = self._clock.monotonic()
            claiming = asyncio.ensure_future(
                self._parts.delivery.write_along(
                    "claim", session_id, lambda tx: claim_session(tx, session_id, self._terms())
                )
            )
            try:
                claimed = await asyncio.shield(claiming)
            except asyncio.CancelledError:
                await self._undo_claim(claiming)
                raise
            if claimed is None or isinstance(claimed, Claim):
                return None if claimed is None else (claimed, since)
            if isinstance(claimed, EarlierDue):
                await self._earlier.read(claimed)
            else:
                await self._downloads.fetch(claimed)

    async def _undo_claim(self, claiming: asyncio.Future[Claim | Due | None]) -> None:
        """Hand back what a claim under way still takes after its task was cancelled."""
        await asyncio.wait((claiming,), timeout=HAND_BACK_TIMEOUT_S)
        if claiming.done() and claiming.exception() is None:
            claimed = claiming.result()
            if isinstance(claimed, Claim):
                await self._hand_back(claimed)

    def _terms(self) -> ClaimTerms:
        return ClaimTerms(
            owner=self._parts.leases.owner,
            now_us=self._clock.now_us(),
            lease_us=self._parts.leases.lease_us,
            model=self._services.route.name,
            compose=compose_request,
            recall=self._services.histories.find,
        )

    async def _run_claimed(self, claim: Claim, lease: Lease) -> bool:
        uncertain: Sequence[ReceiptId] = ()
        if claim.attempts > ATTEMPTS_MAX:
            restored, uncertain = await self._restore_poisoned(claim)
            finished = end_without_answer(restored, TerminationReason.POISONED)
            return bool(await self._commit(claim, finished, uncertain))
        is_blocked = self._services.find_binding(claim.binding) is None
        is_ending = claim.is_stopped or is_blocked
        restored = await self._restorer.restore(claim, is_ending=is_ending)
        if claim.is_stopped:
            finished = end_without_answer(restored, TerminationReason.USER_CANCELLED)
        elif is_blocked:
            finished = end_without_answer(restored, TerminationReason.INPUT_BLOCKED)
        else:
            finished, uncertain = await self._answer(claim, lease, restored)
        if not isinstance(finished, FinishedTurn):
            must_go_on = await self._wait_for_people(claim, finished, uncertain)
            if must_go_on is not None:
                return must_go_on
            finished = await self._end_stopped(claim)
        has_more = await self._commit(claim, finished, uncertain)
        if has_more is None:
            has_more = await self._commit(claim, await self._end_stopped(claim), uncertain)
        return bool(has_more)

    async def _restore_poisoned(self, claim: Claim) -> tuple[RestoredTurn, Sequence[ReceiptId]]:
        """What a turn left, even when it is restoring it that fails, or kills, every time."""
        if claim.attempts > ATTEMPTS_MAX + 1:
            return await self._restorer.abandon(claim)
        try:
            return await self._restorer.restore(claim, is_ending=True), ()
        except StoreError:
            raise
        except Exception:  # boundary: turn
            log.exception("turn_not_restored", session=claim.session_id, turn=claim.turn_id)
            return await self._restorer.abandon(claim)

    async def _answer(
        self, claim: Claim, lease: Lease, restored: RestoredTurn
    ) -> tuple[Outcome, Sequence[ReceiptId]]:
        shown = ShownTurn(claim.session_id, claim.turn_id, claim.thread, claim.reply_to)
        progress = ProgressReporter(self._parts.delivery, self._clock, shown, lease.is_held)
        day_left = await self._services.read_day_left(self._services.find_binding(claim.binding))
        session = self._services.create_session(
            claim.mode, claim, lease, progress, day_left_micro_usd=day_left
        )
        reporting = asyncio.create_task(progress.run(), name=f"progress {claim.turn_id}")
        try:
            finished = await run_unless_stopped(
                self._completion.complete(claim, session, restored), lease.stop
            )
            if isinstance(finished, FinishedTurn):
                finished = await self._attach(claim, finished)
            await progress.finish()
        finally:
            reporting.cancel()
            await asyncio.wait((reporting,))
        return finished or await self._end_stopped(claim), session.uncertain

    async def _end_stopped(self, claim: Claim) -> FinishedTurn:
        """The end of a turn whose work was cancelled: what it had stored, and nothing more."""
        now = await self._store.write("turn.stop", lambda tx: read_again(tx, claim))
        restored = await self._restorer.restore(now, is_ending=True)
        return end_without_answer(restored, TerminationReason.USER_CANCELLED)

    async def _attach(self, claim: Claim, finished: FinishedTurn) -> FinishedTurn:
        """Let the files that an accepted answer links go with it."""
        if finished.end.reason not in DELIVERABLE:
            return finished
        channel = self._parts.channels.get(claim.thread.platform)
        attached = await self._outgoing.attach(claim.session_id, finished.answer, channel)
        answer, files = attached
        return replace(finished, answer=answer, files=files)

    async def _wait_for_people(
        self, claim: Claim, waiting: TurnPause | TurnReview, uncertain: Sequence[ReceiptId]
    ) -> bool | None:
        """Ask people, and let the turn wait for them without its lease.

        True when nobody could be asked, so that it goes on at once; None, and nothing is stored,
        when a person stopped it meanwhile.
        """
        if isinstance(waiting, TurnReview):
            return await self._review(claim, waiting, uncertain)
        return await self._pause(claim, waiting, uncertain)

    async def _review(
        self, claim: Claim, waiting: TurnReview, uncertain: Sequence[ReceiptId]
    ) -> bool | None:
        binding = self._services.find_binding(claim.binding)
        save = ReviewSave(claim, waiting, binding, tuple(uncertain))
        save = await self._reviews.prepare(save, self._services.settings.bindings)
        is_stored = await self._write_patiently(
            "turn.review",
            claim.session_id,
            lambda tx: write_review(tx, save, self._clock.now_us()) or None,
        )
        return None if not is_stored else False

    async def _pause(
        self, claim: Claim, pause: TurnPause, uncertain: Sequence[ReceiptId]
    ) -> bool | None:
        questions = await self._pauses.prepare(claim, pause)
        binding = self._services.find_binding(claim.binding)
        expires_s = binding.approval_expires_s if binding is not None else None
        save = PauseSave(claim, pause, questions, tuple(uncertain), expires_s)
        is_paused = await self._write_patiently(
            "turn.pause",
            claim.session_id,
            lambda tx: write_pause(tx, save, self._clock.now_us()) or None,
        )
        return None if not is_paused else not any(each.is_showable for each in questions)

    async def _commit(
        self, claim: Claim, finished: FinishedTurn, uncertain: Sequence[ReceiptId]
    ) -> bool | None:
        """Checkpoint, turn, inbox, reply and session state in one transaction.

        True when another turn waits; None, and nothing is stored, when there is an answer to a turn
        that a person stopped meanwhile.
        """
        end = finished.end
        entry = TimelineEntry(
            "turn_ended",
            {
                "reason": end.reason.value,
                "verification": finished.verification,
                "completed": end.reason in DELIVERABLE,
            },
            claim.turn_id,
        )
        save = CheckpointSave(
            session_id=claim.session_id,
            turn_id=claim.turn_id,
            epoch=claim.epoch,
            messages=end.unsaved,
            state=end.state.to_json(),
            batch=None,
            entries=(*end.entries, entry),
            uncertain=tuple(uncertain),
            reply_to=claim.reply_to,
        )
        answer = NewOutbox(
            kind="answer",
            episode=claim.turn_id,
            body=finished.answer,
            reply_to=claim.reply_to,
            turn_id=claim.turn_id,
            files=finished.files,
        )

        def unit(tx: Tx) -> bool | None:
            if end.reason in DELIVERABLE and turns.is_stopped(tx, claim.turn_id):
                return None
            now_us = self._clock.now_us()
            write_checkpoint(tx, save, now_us)
            withdraw_questions(tx, claim.turn_id, RUNTIME, "The turn ended.", now_us)
            withdraw_reviews(tx, claim.turn_id, RUNTIME, "The turn ended.", now_us)
            reviews.mark_applied(tx, claim.turn_id, now_us)
            turns.end_turn(tx, claim.turn_id, totals_of(finished), now_us)
            inbox.finish_rows(tx, claim.turn_id)
            outbox.add_outbox(tx, claim.session_id, answer, now_us)
            sessions.release_session(tx, claim.session_id, SessionState.IDLE, now_us)
            return inbox.has_queued(tx, claim.session_id)

        has_more = await self._write_patiently("turn.end", claim.session_id, unit)
        if has_more is not None and finished.history:
            stored = claim.position + len(finished.history) - len(claim.history)
            place = Place(claim.session_id, claim.chapter, stored)
            self._services.histories.keep(place, finished.history)
        return has_more

    async def _write_patiently(
        self, label: str, session_id: SessionId, unit: Callable[[Tx], bool | None]
    ) -> bool | None:
        """Try a turn's last write until it is stored or the lease is lost: the work is done."""
        wait_s = 0.5
        while True:
            try:
                return await self._parts.delivery.write_along(label, session_id, unit)
            except (StorageFullError, StorageBusyError) as error:
                log.warning("write_waits", session=session_id, reason=str(error))
                await self._clock.sleep(wait_s)
                wait_s = min(WRITE_WAIT_S_MAX, wait_s * 2)

    async def _hand_back(self, claim: Claim) -> None:
        """An orderly drain: the next claim resumes at once and does not count as a failed try."""

        def unit(tx: Tx) -> None:
            sessions.hand_back(tx, claim.session_id, claim.epoch)
            turns.count_attempt(tx, claim.turn_id, -1)

        try:
            async with asyncio.timeout(HAND_BACK_TIMEOUT_S):
                await asyncio.shield(self._store.write("turn.hand_back", unit))
        except (StoreError, TimeoutError) as error:
            log.warning("turn_not_handed_back", session=claim.session_id, reason=str(error))
