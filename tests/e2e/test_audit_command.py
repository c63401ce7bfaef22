"""`geode audit verify` tells of a timeline that holds, and of one that does not."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from fakes.geode_command import Ended, run_geode
from fakes.scripted_model import say
from fakes.terminal_world import open_terminal

pytestmark = pytest.mark.timeout(90)


async def audit(folder: Path, *arguments: str) -> Ended:
    environ = {"GEODE_HOME": str(folder)}
    return await run_geode(environ, "audit", "verify", *arguments, cwd=folder.parent)


async def test_altered_byte_is_named_with_its_row_and_the_exit_code_says_so(
    tmp_path: Path,
) -> None:
    empty = await audit(tmp_path / "nothing")
    async with open_terminal(tmp_path, [say("hello")]) as world:
        said = await world.say("hello")
        await world.settle(said["id"])
        beside = await audit(tmp_path)
    holds = await audit(tmp_path)
    as_json = await audit(tmp_path, "--json")
    with sqlite3.connect(tmp_path / "geode.db") as connection:
        (session, seq) = connection.execute(
            "SELECT session_id, seq FROM timeline WHERE kind = 'turn_ended'"
        ).fetchone()
        connection.execute("UPDATE timeline SET body = body || ' ' WHERE kind = 'turn_ended'")
    connection.close()
    broken = await audit(tmp_path)
    unknown = await audit(tmp_path, "--session", "s0")

    assert (empty.code, empty.out) == (
        0,
        "The timeline holds: 0 rows of 0 sessions are as they were written.\n",
    )
    for each in (beside, holds):
        assert each.code == 0, each.err
        assert "of 1 sessions are as they were written" in each.out
    assert json.loads(as_json.out)["faults"] == []
    assert broken.code == 1
    assert "does not hold" in broken.out
    for word in (session, str(seq), "altered", "turn_ended", "is not what was written"):
        assert word in broken.out
    assert (unknown.code, unknown.sentences) == (1, ["geode: There is no session 's0'."])
