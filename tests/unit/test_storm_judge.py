"""The judge of storms forgives what a daemon itself doubts, and nothing more."""

from __future__ import annotations

from pathlib import Path

from fakes.scripted_model import say
from fakes.spine_room import open_room
from fakes.storm_judge import StormVerdict, count_lost_copies

from geode.reply.sentences import WORKING


async def test_copy_that_never_arrived_leaves_its_first_unmarked(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        room.platform.is_searchable = False
        room.platform.faults = ["dropped", "unsent"]
        worker = room.worker(replies=[say("hello")])
        await room.say("hi")
        session_id = await room.session_id()
        await worker.runner.run_session(session_id)
        for _ in range(3):
            await worker.deliver(session_id)
            await room.clock.sleep(30)

        assert [post.text for post in room.platform.posted] == [WORKING, "hello"]
        assert count_lost_copies(tmp_path / "geode.db") == 1


def test_only_so_many_are_forgiven() -> None:
    verdict = StormVerdict(
        left_working=["slack: Working", "telegram: Working", "telegram: Working"]
    )

    assert verdict.forgive(1).faults == {"left_working": ["slack: Working", "telegram: Working"]}
    assert verdict.orphans == 1
    assert verdict.forgive(5).faults == {"left_working": ["slack: Working"]}
