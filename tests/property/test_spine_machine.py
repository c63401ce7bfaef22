"""The spine under everything that can happen to it, step by step, against a model of one page.

Two workers at a time over a real database; frozen ones stay around and write when they wake.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.card_room import DID_NOT, HAPPENED
from fakes.spine_end import check_end
from fakes.spine_model import SpineModel
from fakes.spine_process import DeadError, Held, Process, World
from fakes.spine_room import LEASE_S, RoomClock, open_room, place_thread
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import Connection, select

from geode.errors import StaleEpochError
from geode.messages import InboundMessage, SessionId, Thread
from geode.session.claims import Claim
from geode.store import conversation, sessions, turns
from geode.store import outbox as outbox_store
from geode.store.leases import renew_leases
from geode.store.tables import inbox, metadata, threads, timeline
from geode.store.tables import sessions as session_rows
from geode.store.timeline import chain_hash

DEPTH = 3
EXAMPLES_MAX = {"dev": 25, "ci": 80}
GONE = "the lease was lost"
ANY = st.integers(min_value=0, max_value=1_000)
WORKER = st.integers(min_value=0, max_value=1)
THREADS = (place_thread(1), place_thread(2))
THREAD = st.sampled_from(THREADS)
SEND_FAULTS = st.sampled_from(["dropped", "unsent", "down", "limited", "refused", "format"])
EFFECT_POINTS = st.sampled_from(["", "", "effect.before:", "effect.window:", "effect.after:"])
SEND_POINTS = st.sampled_from(["", "", "send.before:", "send.after:"])
CALLS = st.lists(
    st.tuples(st.sampled_from(["parcel", "note"]), st.sampled_from("xy")), min_size=1, max_size=2
)


class SpineMachine(RuleBasedStateMachine):
    """Inbox, claims, receipts and outbox: what is accepted is answered once, whoever dies."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        self.folder = tempfile.TemporaryDirectory()
        self.world, self.clock = World(), RoomClock()
        self.model = SpineModel(DEPTH, int(LEASE_S * 1_000_000))
        self.sent: list[InboundMessage] = []
        self.late: list[InboundMessage] = []
        self.frozen: list[Process] = []
        self.grouped: dict[int, str] = {}
        self.decided: set[str] = set()
        self.count = 0

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    @initialize()
    def open(self) -> None:
        opening = open_room(
            Path(self.folder.name),
            clock=self.clock,
            tools=self.world.tools(),
            inbox_depth_session=DEPTH,
        )
        self.room = self.run(self.stack.enter_async_context(opening))
        self.workers = [self._spawn(), self._spawn()]
        for thread in THREADS:
            self.say(thread, "U1", is_late=False)

    def _spawn(self) -> Process:
        self.count += 1

        async def make() -> Process:
            return Process(self.room, f"p{self.count}")

        return self.run(make())

    def _next(self) -> int:
        self.count += 1
        return self.count

    def _session(self, thread: Thread) -> SessionId | None:
        return self.run(self.room.store.read(lambda tx: sessions.find_session(tx, thread)))

    def _dump(self) -> str:
        def look(tx: Connection) -> str:
            rows = [[tuple(row) for row in tx.execute(select(t))] for t in metadata.sorted_tables]
            return hashlib.sha256(repr(rows).encode()).hexdigest()

        return self.run(self.room.store.read(look))

    def _accept(self, event: InboundMessage) -> None:
        expected = self.model.accept(event)
        accepted = self.run(self.room.door.accept(event))
        assert (accepted.outcome, accepted.reason) == expected

    # What people and the platform do.

    @rule(thread=THREAD, sender=st.sampled_from(["U1", "U2"]), is_late=st.booleans())
    def say(self, thread: Thread, sender: str, is_late: bool) -> None:
        message = self.room.platform.message(thread, f"m{self._next()}", sender)
        if is_late and len(self.late) < 3:
            self.late.append(message)
        else:
            self.sent.append(message)
            self._accept(message)

    @precondition(lambda self: self.sent)
    @rule(which=ANY, how=st.sampled_from(["late", "again", "edit", "delete"]))
    def arrive(self, which: int, how: Any) -> None:
        """An event comes late or again, or a person changes a message."""
        if how == "late" and self.late:
            event = self.late.pop(which % len(self.late))
        else:
            event = self.sent[which % len(self.sent)]
        if how in ("edit", "delete"):
            number = self._next()
            text = f"e{number}" if how == "edit" else ""
            event = replace(event, kind=how, text=text, dedupe_key=f"event {number}")
        self.sent.append(event)
        self._accept(event)

    @rule(kind=SEND_FAULTS, mood=st.sampled_from(["lost", "unborn"]), is_send=st.booleans())
    def break_what_comes_next(self, kind: str, mood: str, is_send: bool) -> None:
        if not is_send:
            self.world.moods[:] = [mood]
        elif len(self.room.platform.faults) < 2:
            self.room.platform.faults.append(kind)

    @rule(seconds=st.sampled_from([1, LEASE_S / 2, LEASE_S + 1, LEASE_S + 1, 91]))
    def pass_time(self, seconds: float) -> None:
        self.clock.now_s += seconds

    # What workers do.

    @rule(number=WORKER, first=THREAD, is_take_over=st.booleans())
    def claim(self, number: int, first: Thread, is_take_over: bool) -> None:
        """Claim what can be claimed, as a sweep does; sometimes everyone's time is up."""
        if is_take_over:
            self.clock.now_s += LEASE_S + 1
        self._claim_all(number, first)

    def _claim_all(self, number: int, first: Thread) -> None:
        for thread in (first, *(each for each in THREADS if each != first)):
            session_id = self._session(thread)
            if session_id is not None and session_id not in self.workers[number].held:
                self._claim(self.workers[number], thread, session_id)

    def _claim(self, process: Process, thread: Thread, session_id: SessionId) -> Claim | None:
        attempt = self.model.claim(thread, self.clock.now_us())
        claim = self.run(process.claim(session_id))
        assert (claim.attempts if claim is not None else 0) == attempt
        if claim is not None:
            for other in (*self.workers, *self.frozen):
                if other is not process and session_id in other.held:
                    assert other.held[session_id].claim.epoch < claim.epoch
            stored = self.run(self._stored_history(session_id, claim.chapter))
            assert stored[: len(claim.history)] == claim.history
            taken = self.model.talk(thread).taken
            asked = next(
                m.text for m in reversed(claim.history) if m.role == "user" and "<message" in m.text
            )
            places = [asked.index(f"\n{taken[mid]}\n") for mid in sorted(taken)]
            assert places == sorted(places)
        return claim

    async def _stored_history(self, session_id: SessionId, chapter: int) -> Any:
        return await self.room.store.read(
            lambda tx: conversation.load_messages(tx, session_id, chapter)
        )

    def _pick(self, which: int) -> tuple[Process, Held] | None:
        """A turn that one of the workers believes to hold, claimed now when there is none."""
        for _ in range(2):
            found = [(process, held) for process in self.workers for held in process.held.values()]
            if found:
                return found[which % len(found)]
            self._claim_all(which % 2, THREADS[0])
        return None

    @rule(which=ANY, calls=CALLS, acts=st.booleans())
    def save(self, which: int, calls: list[tuple[str, str]], acts: bool) -> None:
        self._work(which, calls, "" if acts else None)

    @rule(which=ANY, calls=CALLS, point=EFFECT_POINTS)
    def act(self, which: int, calls: list[tuple[str, str]], point: str) -> None:
        self._work(which, calls, point)

    def _work(self, which: int, calls: list[tuple[str, str]], point: str | None) -> None:
        """Save a batch unless one waits, then run it; the process may die on the way."""
        picked = self._pick(which)
        if picked is None or picked[1].is_poisoned:
            return
        process, held = picked
        if not held.batch and self._or_stale(process, held, process.propose(held, calls)) == GONE:
            return
        if point is not None:
            self._act(process, held, point)

    def _act(self, process: Process, held: Held, point: str) -> None:
        process.trap.point = point
        try:
            # A worker whose own clock says that its lease is over begins no effect either.
            self._or_stale(process, held, process.act(held), may=held.lease.is_held())
        except DeadError:
            self._replace(process)
        process.trap.point = ""

    @rule(which=ANY, is_long=st.booleans())
    def finish(self, which: int, is_long: bool) -> None:
        picked = self._pick(which)
        if picked is None:
            return
        process, held = picked
        if held.batch:
            self._act(process, held, "")
        if held.claim.session_id in process.held:
            self._finish(process, held, is_long=is_long)

    def _finish(self, process: Process, held: Held, *, is_long: bool) -> None:
        turn = held.claim.turn_id
        answer = f"{turn} a\n---\n{turn} b" if is_long else f"{turn} a"
        more = self._or_stale(process, held, process.finish(held, answer))
        if more != GONE:
            assert more == self.model.finish(held.claim.thread)

    def _or_stale(self, process: Process, held: Held, work: Any, *, may: bool = True) -> Any:
        """Do one step of a turn; a worker that lost its lease must change nothing."""
        session_id = held.claim.session_id
        if may and self._is_current(held):
            return self.run(work)
        before = self._dump()
        with pytest.raises(StaleEpochError):
            self.run(work)
        assert self._dump() == before
        process.held.pop(session_id, None)
        return GONE

    def _is_current(self, held: Held) -> bool:
        claim = held.claim
        (row,) = self.run(
            self.room.rows(session_rows.c.state, session_rows.c.epoch, id=claim.session_id)
        )
        return row == ("running", claim.epoch)

    @rule(which=ANY, is_kept=st.booleans())
    def keep_or_hand_back(self, which: int, is_kept: bool) -> None:
        picked = self._pick(which)
        if picked is None:
            return
        process, held = picked
        if is_kept:
            self._renew(process)
        else:
            self._hand_back(process, held)

    def _renew(self, process: Process) -> None:
        held = {sid: h.claim.epoch for sid, h in process.held.items()}
        current = {sid for sid, h in process.held.items() if self._is_current(h)}
        until_us = self.clock.now_us() + int(LEASE_S * 1_000_000)
        renewed = self.run(
            self.room.store.write("renew", lambda tx: renew_leases(tx, held, until_us))
        )
        assert renewed == current
        for session_id in renewed:
            process.held[session_id].lease.until = until_us / 1_000_000
            thread = process.held[session_id].claim.thread
            self.model.talk(thread).lease_until_us = until_us

    def _hand_back(self, process: Process, held: Held) -> None:
        claim = held.claim

        def unit(tx: Connection) -> None:
            sessions.hand_back(tx, claim.session_id, claim.epoch)
            turns.count_attempt(tx, claim.turn_id, -1)

        gone = self._or_stale(process, held, self.room.store.write("hand_back", unit))
        process.held.pop(claim.session_id, None)
        if gone != GONE:
            talk = self.model.talk(claim.thread)
            talk.attempts, talk.lease_until_us = talk.attempts - 1, -1

    @rule(number=WORKER, thread=THREAD, point=SEND_POINTS)
    def deliver(self, number: int, thread: Thread, point: str) -> None:
        session_id = self._session(thread)
        if session_id is None:
            return
        process = self.workers[number]
        process.trap.point = point
        try:
            self.run(process.worker.deliver(session_id))
        except DeadError:
            self._replace(process)
        process.trap.point = ""

    @rule(which=ANY, thread=THREAD, number=WORKER)
    def doubt(self, which: int, thread: Thread, number: int) -> None:
        """An effect gives no answer, and its thread is asked: rare enough to be a rule."""
        self._claim_all(number, thread)
        self.world.moods.append("lost")
        self._work(which, [("parcel", "x")], "")
        self.finish(which, is_long=False)
        self.deliver(number, thread, "")

    @rule(which=ANY, label=st.sampled_from([HAPPENED, DID_NOT]), who=st.sampled_from(["U1", "U2"]))
    def press(self, which: int, label: str, who: str) -> None:
        """A person presses a button that a message shows; U2 may only talk."""
        shown = [post for post in self.room.platform.posted if label in post.buttons]
        if not shown:
            return
        post = shown[which % len(shown)]
        accepted = self.run(self.room.door.accept(self.room.platform.press(post, label, who)))
        if post.id in self.decided:
            assert (accepted.outcome, accepted.reason) == ("refused", "card.decided")
        elif who == "U2":
            assert (accepted.outcome, accepted.reason) == ("refused", "card.not_yours")
        else:
            assert accepted.outcome == "decided"
            self.decided.add(post.id)

    # What happens to workers.

    def _replace(self, process: Process) -> None:
        self.run(process.die())
        self.workers[self.workers.index(process)] = self._spawn()

    @rule(number=WORKER, is_alone=st.booleans())
    def crash(self, number: int, is_alone: bool) -> None:
        self._replace(self.workers[number])
        if is_alone and not self.frozen:
            self._restart_alone()

    def _restart_alone(self) -> None:
        """The state lock says that every other worker is dead."""
        for process in list(self.workers):
            self._replace(process)
        self.run(self.room.store.write("leases.expire", sessions.expire_leases))
        for talk in self.model.talks.values():
            talk.lease_until_us = -1

    @precondition(lambda self: len(self.frozen) < 3)
    @rule(which=ANY, thread=THREAD, is_sending=st.booleans())
    def freeze(self, which: int, thread: Thread, is_sending: bool) -> None:
        picked = self._pick(which)
        if picked is None:
            return
        process, _ = picked
        session_id = self._session(thread)
        if is_sending and session_id is not None:
            self.run(process.begin_frozen_send(session_id))
        self.frozen.append(process)
        self.workers[self.workers.index(process)] = self._spawn()

    @precondition(lambda self: self.frozen)
    @rule(which=ANY, is_overtaken=st.booleans())
    def thaw(self, which: int, is_overtaken: bool) -> None:
        """A worker wakes and tries everything it was about to write."""
        process = self.frozen.pop(which % len(self.frozen))
        if is_overtaken:
            self.clock.now_s += 91
            self._claim_all(0, THREADS[0])
            for session_id in filter(None, map(self._session, THREADS)):
                self.run(self.workers[0].worker.deliver(session_id))
        for held in list(process.held.values()):
            if not self._is_current(held):
                self._try_every_write(process, held)
        self._thaw_send(process)
        self.run(process.die())

    def _try_every_write(self, process: Process, held: Held) -> None:
        claim, before = held.claim, self._dump()
        held.lease.until = float("inf")  # its own clock may have stood still as well
        attempts: list[Any] = [
            process.act_anyway(held),
            process.propose(held, [("parcel", "x")]),
            process.finish(held, "from a ghost"),
            self.room.store.write(
                "back", lambda tx: sessions.hand_back(tx, claim.session_id, claim.epoch)
            ),
        ]
        for work in attempts:
            with pytest.raises(StaleEpochError):
                self.run(work)
        held_epochs = {claim.session_id: claim.epoch}
        renewing = self.room.store.write("renew", lambda tx: renew_leases(tx, held_epochs, 2**60))
        assert self.run(renewing) == set()
        assert self._dump() == before

    def _thaw_send(self, process: Process) -> None:
        def epochs(tx: Connection) -> list[tuple[str, str]]:
            return [
                tuple(row)
                for row in tx.execute(select(threads.c.session_id, threads.c.delivery_owner))
            ]

        owners = dict(self.run(self.room.store.read(epochs)))
        before = self._dump()
        is_sending = process.sending is not None
        self.run(process.thaw_send())
        if is_sending and process.name not in owners.values():
            assert self._dump() == before

    # What must hold after every step.

    @invariant()
    def nothing_happened_twice(self) -> None:
        if not hasattr(self, "room"):
            return
        assert all(count == 1 for count in self.world.done.values())
        keys = Counter(post.key for post in self.room.platform.posted)
        assert all(count == 1 for count in keys.values()), keys

    @invariant()
    def nothing_is_regrouped_and_the_chain_holds(self) -> None:
        if hasattr(self, "room"):
            self.run(self.room.store.read(self._check_rows))

    def _check_rows(self, tx: Connection) -> None:
        for row in tx.execute(select(inbox.c.id, inbox.c.turn_id).where(inbox.c.turn_id != "")):
            assert self.grouped.setdefault(row.id, row.turn_id) == row.turn_id
        last: dict[str, tuple[int, str]] = {}
        query = select(timeline).order_by(timeline.c.session_id, timeline.c.seq)
        for row in tx.execute(query):
            seq, digest = last.get(row.session_id, (0, ""))
            expected = chain_hash(digest, row.seq, row.kind, row.turn_id, row.body, row.at_us)
            assert (row.seq, row.prev_hash, row.hash) == (seq + 1, digest, expected)
            last[row.session_id] = (row.seq, row.hash)

    # After the storm: everything is drained, and everyone has an answer.

    def teardown(self) -> None:
        try:
            if hasattr(self, "room"):
                self._drain()
                self.run(
                    self.room.store.read(lambda tx: check_end(tx, self.model, self.room.platform))
                )
        finally:
            for process in (*getattr(self, "workers", ()), *self.frozen):
                self.run(process.die())
            self.run(self.stack.aclose())
            self.loop.close()
            self.folder.cleanup()

    def _drain(self) -> None:
        self.room.platform.faults.clear()
        for process in list(self.workers):
            self._replace(process)
        worker = self.workers[0]
        for _ in range(40):
            self.clock.now_s += 91
            was_busy = False
            for thread in THREADS:
                session_id = self._session(thread)
                if session_id is None:
                    continue
                self.run(worker.worker.deliver(session_id))
                if self._claim(worker, thread, session_id) is not None:
                    was_busy = True
                    self._finish(worker, worker.held[session_id], is_long=False)
            if not was_busy and not self.run(self.room.store.read(self._has_open_rows)):
                return
        raise AssertionError("the spine does not come to rest")

    def _has_open_rows(self, tx: Connection) -> bool:
        return bool(outbox_store.find_due(tx, "anyone", ["loop"], 2**60, 1))


profile = os.environ.get("HYPOTHESIS_PROFILE", "dev")
SpineMachine.TestCase.settings = settings(
    max_examples=EXAMPLES_MAX.get(profile, 1_000),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestSpine = pytest.mark.timeout(120)(SpineMachine.TestCase)
