"""A process that is killed around `/compact`: the conversation is shortened once, and goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from crash.compact_and_die import SUMMARY, go_on, is_summary
from fakes.forked import run_module
from fakes.loop_fakes import find_faults
from fakes.spine_room import LEASE_S, open_room

from geode.store.tables import sessions, timeline, turns


async def run_and_die(folder: Path, point: str) -> int:
    return await run_module("crash.compact_and_die", str(folder), point)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("point", "asked_by_heir"),
    [
        ("commit.after:intake", 1),
        ("commit.before:claim", 1),
        ("commit.after:claim", 1),
        ("commit.before:batch", 1),
        ("commit.after:batch", 0),
        ("commit.before:turn.end", 0),
        ("commit.after:turn.end", 0),
    ],
)
async def test_kill_around_compact_leaves_a_conversation_that_is_shortened_once(
    tmp_path: Path, point: str, asked_by_heir: int
) -> None:
    async with open_room(tmp_path) as room:
        code = await run_and_die(tmp_path, point)
        room.clock.now_s = 5_000_000_000.0 + LEASE_S  # type: ignore[attr-defined]
        heir = room.worker("heir", [go_on] * 8)
        session_id = await room.session_id()
        await heir.runner.run_session(session_id)
        await room.say("and now?", dedupe_key="next")
        await heir.runner.run_session(session_id)

        assert code == -signal.SIGKILL
        assert sum(map(is_summary, heir.model.steps)) == asked_by_heir
        assert all(not find_faults(step.messages) for step in heir.model.steps)
        assert SUMMARY in heir.model.steps[-1].messages[0].text
        kinds = await room.rows(timeline.c.kind, order=timeline.c.seq)
        assert kinds.count("compaction") == 1
        assert await room.rows(sessions.c.state) == ["idle"]
        assert set(await room.rows(turns.c.reason, order=turns.c.number)) == {"natural"}
