"""A kill of the daemon under an open `geode chat`: it waits, and shows the answer once."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from pathlib import Path

import pytest
from fakes.geode_command import serving
from fakes.terminal_person import at_terminal

pytestmark = pytest.mark.timeout(120)
ASKED = "slow 3, then list the files"
ANSWER = "The workspace is empty."


def count_rows(home: Path, query: str) -> int:
    with sqlite3.connect(home / "geode.db") as db:
        return int(db.execute(query).fetchone()[0])


async def test_daemon_killed_in_mid_turn_is_waited_for_and_answers_once(tmp_path: Path) -> None:
    (tmp_path / "geode.toml").write_text('[channels.web]\nlisten = "127.0.0.1:0"\n')
    environ = {"GEODE_HOME": str(tmp_path)}
    async with serving(environ) as first:
        await first.wait_line("ready:")
        with at_terminal(tmp_path) as person:
            await asyncio.to_thread(person.is_asked)
            person.types(ASKED)
            await asyncio.to_thread(person.reads, "Working on it")
            first.send(signal.SIGKILL)
            await first.wait_end()
            await asyncio.to_thread(person.reads, "connection to the daemon is lost")
            async with serving(environ) as second:
                await second.wait_line("ready:")
                await asyncio.to_thread(person.reads, "Connected again")
                await asyncio.to_thread(person.reads, ANSWER)
                await asyncio.to_thread(person.is_asked)
                person.presses("d")
                assert await asyncio.to_thread(person.ends) == 0
                shown = person.raw

    assert shown.count(ANSWER) == 1
    assert count_rows(tmp_path, "SELECT count(*) FROM inbox") == 1
    answers = "SELECT count(*) FROM room_messages WHERE author_id = ''"
    assert count_rows(tmp_path, answers) == 1
