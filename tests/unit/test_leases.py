"""A lease lasts as long as the store says, never longer, however slow its claim was."""

from __future__ import annotations

from pathlib import Path

from fakes.gate_room import make_tool
from fakes.scripted_model import call, say
from fakes.spine_room import LEASE_S, RoomClock, open_room

from geode.messages import SessionId
from geode.session.leases import Leases
from geode.steps import Effect


class SlowCommit:
    """Time passes between a claim's transaction and the moment its worker hears of it."""

    def __init__(self, clock: RoomClock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds

    def hit(self, name: str) -> None:
        if name == "commit.after:claim":
            self._clock.now_s += self._seconds


async def test_lease_is_counted_from_before_its_claim(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        leases = Leases(room.store, room.clock, "one", LEASE_S)
        since = room.clock.monotonic()
        await room.clock.sleep(LEASE_S - 1)

        lease = leases.hold(SessionId("s1"), 1, since)

        assert lease.is_held()
        await room.clock.sleep(1)
        assert not lease.is_held()


async def test_worker_whose_claim_outlasted_its_lease_begins_no_effect(tmp_path: Path) -> None:
    counted = make_tool("act", Effect.MUTATE)
    clock = RoomClock()
    points = SlowCommit(clock, LEASE_S + 1)
    async with open_room(tmp_path, clock=clock, failpoints=points, tools=(counted.tool,)) as room:
        await room.say("act once")
        worker = room.worker(replies=[call(("act", {"text": "x"})), say("acted")])

        await worker.runner.run_session(await room.session_id())

        assert counted.entered == []
        assert await room.said("answer") == []
