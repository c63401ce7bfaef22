"""Lanes run a session's turns one at a time, all sessions under one limit, and forget nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from fakes.spine_room import SpineRoom, open_room, place_thread, until

from geode.messages import SessionId
from geode.ports import SystemClock
from geode.session.claims import Claim, claim_session
from geode.session.lanes import LaneQueue
from geode.session.leases import Leases
from geode.store import inbox, sessions
from geode.store.dispatcher import Dispatcher
from geode.store.tables import sessions as session_rows

LEASE_S = 0.6


class Runs:
    """Handlers under way and their order; each ends when a test says so."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.now: set[str] = set()
        self.most = 0
        self.overlaps = 0
        self.gates: dict[str, asyncio.Event] = {}

    def gate(self, session_id: str) -> asyncio.Event:
        return self.gates.setdefault(session_id, asyncio.Event())

    async def handle(self, session_id: SessionId) -> None:
        self.overlaps += session_id in self.now
        self.began.append(session_id)
        self.now.add(session_id)
        self.most = max(self.most, len(self.now))
        try:
            await self.gate(session_id).wait()
        finally:
            self.now.discard(session_id)


@asynccontextmanager
async def running(work: object) -> AsyncGenerator[None]:
    task = asyncio.create_task(work.run())  # type: ignore[attr-defined]
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def ids(*names: str) -> list[SessionId]:
    return [SessionId(name) for name in names]


async def test_dispatcher_starts_in_the_order_of_wakes_and_no_more_than_allowed() -> None:
    runs = Runs()
    dispatcher = Dispatcher("turns", runs.handle, parallel_max=2)
    async with running(dispatcher):
        for session_id in ids("a", "b", "c", "d"):
            dispatcher.wake(session_id)
        await until(lambda: len(runs.now) == 2)

        runs.gate("a").set()
        await until(lambda: runs.began == ["a", "b", "c"])
        for name in "bcd":
            runs.gate(name).set()
        await until(lambda: runs.began == ["a", "b", "c", "d"] and not runs.now)

    assert runs.most == 2


async def test_dispatcher_never_runs_a_session_twice_at_once_and_runs_it_again_after() -> None:
    runs = Runs()
    dispatcher = Dispatcher("turns", runs.handle, parallel_max=4)
    async with running(dispatcher):
        dispatcher.wake(SessionId("a"))
        await until(lambda: runs.now)
        for _ in range(5):
            dispatcher.wake(SessionId("a"))
        runs.gate("a").set()
        await until(lambda: runs.began == ["a", "a"] and not dispatcher.active)

    assert (runs.began, runs.overlaps) == (["a", "a"], 0)


async def test_dispatcher_goes_on_when_a_handler_fails() -> None:
    seen: list[str] = []

    async def handle(session_id: SessionId) -> None:
        seen.append(session_id)
        if session_id == "bad":
            raise RuntimeError("a bug in a turn")

    dispatcher = Dispatcher("turns", handle, parallel_max=1)
    async with running(dispatcher):
        for session_id in ids("bad", "good"):
            dispatcher.wake(session_id)
        await until(lambda: seen == ["bad", "good"])


async def test_dispatcher_in_drain_starts_nothing_more_and_is_idle_after_the_last() -> None:
    runs = Runs()
    dispatcher = Dispatcher("turns", runs.handle, parallel_max=1)
    async with running(dispatcher):
        dispatcher.wake(SessionId("a"))
        await until(lambda: runs.now)
        dispatcher.begin_drain()
        dispatcher.wake(SessionId("b"))
        idle = asyncio.create_task(dispatcher.wait_idle())
        await asyncio.sleep(0)
        assert not idle.done()

        runs.gate("a").set()
        async with asyncio.timeout(2):
            await idle

    assert runs.began == ["a"]


async def test_dispatcher_is_not_idle_while_a_wake_waits_to_be_started() -> None:
    runs = Runs()
    dispatcher = Dispatcher("delivery", runs.handle, parallel_max=1)
    async with running(dispatcher):
        await asyncio.sleep(0)
        dispatcher.wake(SessionId("a"))
        idle = asyncio.create_task(dispatcher.wait_idle())
        runs.gate("a").set()
        async with asyncio.timeout(2):
            await idle
        assert runs.began == ["a"]


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path, clock=SystemClock(), lease_s=LEASE_S) as opened:
        yield opened


def make_lanes(room: SpineRoom, runs: Runs, *, parallel: int = 4) -> LaneQueue:
    leases = Leases(room.store, room.clock, "one", LEASE_S)
    return LaneQueue(room.store, room.clock, leases, runs.handle, turns_parallel=parallel)


async def test_sweep_finds_a_message_whose_wake_was_lost(room: SpineRoom) -> None:
    runs = Runs()
    async with running(make_lanes(room, runs)):
        await room.say("nobody was woken for this")
        session_id = await room.session_id()

        await until(lambda: runs.began == [session_id])


async def test_sweep_finds_a_session_whose_worker_is_gone(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    terms = room.terms("dead", lease_s=0.1)
    await room.store.write("claim", lambda tx: claim_session(tx, session_id, terms))
    runs = Runs()

    async with running(make_lanes(room, runs)):
        await until(lambda: runs.began == [session_id])


async def test_sweep_leaves_a_session_alone_that_another_worker_holds(room: SpineRoom) -> None:
    held, free = place_thread(1), place_thread(2)
    await room.say("held", thread=held)
    terms = room.terms("other", lease_s=60)
    held_id, runs = await room.session_id(held), Runs()
    await room.store.write("claim", lambda tx: claim_session(tx, held_id, terms))
    await room.say("free", thread=free)

    async with running(make_lanes(room, runs)):
        free_id = await room.session_id(free)
        await until(lambda: runs.began == [free_id])

    assert held_id not in runs.began


async def test_leases_are_renewed_while_a_turn_runs(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    leases = Leases(room.store, room.clock, "one", LEASE_S)
    terms = room.terms("one", lease_s=LEASE_S)
    since = room.clock.monotonic()
    claim = await room.store.write("claim", lambda tx: claim_session(tx, session_id, terms))
    assert isinstance(claim, Claim)
    lease = leases.hold(session_id, claim.epoch, since)
    first_until = lease.until

    keeping = asyncio.create_task(leases.keep())
    try:
        await until(lambda: lease.until > first_until + LEASE_S)
        assert await room.claim(session_id, "two") is None
        assert lease.is_held()
        (stored,) = await room.rows(session_rows.c.lease_until_us)
        assert stored > terms.now_us + terms.lease_us
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


async def test_lost_lease_stops_the_turn_that_held_it(room: SpineRoom) -> None:
    await room.say("hi")
    session_id = await room.session_id()
    leases = Leases(room.store, room.clock, "one", LEASE_S)
    since = room.clock.monotonic()
    claim = await room.claim(session_id, "one")
    assert isinstance(claim, Claim)
    ended: list[str] = []

    async def turn() -> None:
        lease = leases.hold(session_id, claim.epoch, since)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("stopped" if lease.is_lost else "cancelled")
            raise

    working = asyncio.create_task(turn())
    await asyncio.sleep(0)
    # The lease is lost before it is renewed: a renewal in between would take it back.
    await room.store.write("leases.expire", sessions.expire_leases)
    assert isinstance(await room.claim(session_id, "two"), Claim)
    assert not working.done()
    keeping = asyncio.create_task(leases.keep())
    try:
        await asyncio.wait((working,), timeout=5)
        assert ended == ["stopped"]
    finally:
        for task in (keeping, working):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_one_sessions_messages_do_not_hold_up_another_session(room: SpineRoom) -> None:
    runs = Runs()
    lanes = make_lanes(room, runs)
    async with running(lanes):
        await room.say("slow", thread=place_thread(1))
        slow = await room.session_id(place_thread(1))
        lanes.wake(slow)
        await until(lambda: slow in runs.now)
        await room.say("quick", thread=place_thread(2))
        quick = await room.session_id(place_thread(2))
        lanes.wake(quick)

        await until(lambda: runs.now == {slow, quick})
    taken = await room.store.read(lambda tx: inbox.has_queued(tx, slow))
    assert taken
