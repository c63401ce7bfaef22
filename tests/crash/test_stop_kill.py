"""A process that is killed around a stop: the turn ends with one sentence, or goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fakes.commanding import give
from fakes.forked import run_module
from fakes.scripted_model import say
from fakes.spine_room import LEASE_S, open_room

from geode.loop.termination import describe_end
from geode.messages import TerminationReason
from geode.store.tables import inbox, sessions

STOPPED = describe_end(TerminationReason.USER_CANCELLED)


async def run_and_die(folder: Path, point: str) -> int:
    return await run_module("crash.stop_and_die", str(folder), point)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("point", "answer"),
    [
        ("commit.before:intake", "resumed"),
        ("commit.after:intake", STOPPED),
        ("commit.before:turn.stop", STOPPED),
        ("commit.after:turn.stop", STOPPED),
        ("commit.before:turn.end", STOPPED),
        ("commit.after:turn.end", STOPPED),
    ],
)
async def test_kill_around_a_stop_leaves_one_sentence_and_a_session_that_answers(
    tmp_path: Path, point: str, answer: str
) -> None:
    async with open_room(tmp_path) as room:
        code = await run_and_die(tmp_path, point)
        room.clock.now_s = 5_000_000_000.0 + LEASE_S  # type: ignore[attr-defined]
        heir = room.worker("heir", [say("resumed")] if answer == "resumed" else [])
        session_id = await room.session_id()
        await heir.runner.run_session(session_id)
        again = await give(room, "stop")

        assert code == -signal.SIGKILL
        assert await room.said("answer") == [answer]
        assert again.outcome == ("answered" if answer == "resumed" else "duplicate")
        assert await room.rows(sessions.c.state) == ["idle"]
        assert await room.rows(inbox.c.state) == ["done"]
        heir.model.add(say("the next answer"))
        await room.say("next", dedupe_key="next")
        await heir.runner.run_session(session_id)
        assert await room.said("answer") == [answer, "the next answer"]
