"""ST-04: a full disk under a real `geode serve`; nothing is lost and no restart is needed.

The disk is full for the daemon alone: its limit on the size of files is set to nothing.
"""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from fakes.geode_command import Serving, run_geode, serving
from fakes.town import answers, is_progress, town_environ, write_config

from channels.rehearsal.slack import RehearsalSlack

pytestmark = pytest.mark.timeout(60)
CHANNEL = "C0GENERAL"


def fill_disk(daemon: Serving) -> None:
    """Let every write to a file fail from now on."""
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def free_disk(daemon: Serving) -> None:
    """Let writes through again."""
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, unlimited)


def said(daemon: Serving, part: str) -> list[str]:
    return [line for line in daemon.errors if part in line]


async def warmed_up(slack: RehearsalSlack, daemon: Serving) -> str:
    """A thread in which the daemon answered once."""
    await daemon.wait_line("slack is up")
    post = await slack.say("<@UBOT> what is 1 + 1?")
    await slack.wait_for(lambda: answers(slack, post.ts), 20)
    await slack.wait_for(lambda: slack.counters()["unacked"] == 0)
    return post.ts


def check_database(path: Path, texts: list[str]) -> None:
    """The file is whole and holds every message once."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute("SELECT text, state FROM inbox ORDER BY order_key").fetchall()
    assert rows == [(text, "done") for text in texts]


@pytest.mark.parametrize("is_given_up", [False, True], ids=["redelivery", "catch-up"])
async def test_message_on_a_full_disk_is_not_acknowledged_and_answered_once_space_is_free_st_04(
    tmp_path: Path, is_given_up: bool
) -> None:
    async with RehearsalSlack(ack_deadline_s=0.4 if is_given_up else 1.5) as slack:
        write_config(tmp_path, slack.base_url)
        environ = town_environ(slack, tmp_path)
        async with serving(environ) as daemon:
            root = await warmed_up(slack, daemon)
            fill_disk(daemon)
            post = await slack.say("<@UBOT> what is 20 + 3?", order="A")
            envelope = slack.hub.envelopes[-1]
            reply = await slack.say("what is 40 + 2?", thread_ts=root)
            await slack.wait_for(lambda: said(daemon, "slack_event_not_stored"))
            if is_given_up:
                await slack.wait_for(lambda: slack.hub.counters["given_up"] >= 2, 20)
            status = await run_geode(environ, "status")

            assert "The disk refused the write" in said(daemon, "slack_event_not_stored")[0]
            assert not envelope.is_acked
            assert slack.bot_posts(CHANNEL, post.ts) == []
            assert status.out.startswith("geode is running\n")

            free_disk(daemon)
            await slack.wait_for(lambda: answers(slack, post.ts), 25)
            await slack.wait_for(lambda: len(answers(slack, root)) == 2, 25)

            assert "20 + 3 = 23" in answers(slack, post.ts)[0]
            assert "40 + 2 = 42" in answers(slack, root)[1]
            assert len(slack.bot_posts(CHANNEL, post.ts)) == 1
            assert len(slack.bot_posts(CHANNEL, root)) == 2
            assert reply.thread_ts == root
    check_database(tmp_path / "geode.db", ["what is 1 + 1?", "what is 20 + 3?", "what is 40 + 2?"])


async def test_turn_that_ends_on_a_full_disk_is_answered_once_when_space_is_free_st_04(
    tmp_path: Path,
) -> None:
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url, limits="lease_s = 1")
        async with serving(town_environ(slack, tmp_path)) as daemon:
            await warmed_up(slack, daemon)
            post = await slack.say("<@UBOT> slow 1, then what is 20 + 3?")
            await slack.wait_for(lambda: slack.bot_posts(CHANNEL, post.ts))
            await slack.wait_for(lambda: slack.counters()["unacked"] == 0)
            fill_disk(daemon)
            await slack.wait_for(lambda: said(daemon, "write_waits"), 20)
            await slack.wait_for(lambda: said(daemon, "lease_not_renewed"), 20)
            assert all(is_progress(p) for p in slack.bot_posts(CHANNEL, post.ts))

            free_disk(daemon)
            await slack.wait_for(lambda: answers(slack, post.ts), 20)

            assert "20 + 3 = 23" in answers(slack, post.ts)[0]
            assert len(slack.bot_posts(CHANNEL, post.ts)) == 1
    check_database(tmp_path / "geode.db", ["what is 1 + 1?", "slow 1, then what is 20 + 3?"])


async def test_tool_that_finds_the_disk_full_leaves_no_half_file_st_04(tmp_path: Path) -> None:
    """The batch cannot be recorded, so the effect does not begin; it happens once, later."""
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url, limits="lease_s = 1")
        async with serving(town_environ(slack, tmp_path)) as daemon:
            await warmed_up(slack, daemon)
            post = await slack.say("<@UBOT> slow 1 write notes.txt: buy milk")
            await slack.wait_for(lambda: slack.bot_posts(CHANNEL, post.ts))
            fill_disk(daemon)
            await slack.wait_for(lambda: said(daemon, "turn_not_recorded"), 20)
            assert [p for p in (tmp_path / "files").rglob("*") if p.is_file()] == []

            free_disk(daemon)
            await slack.wait_for(lambda: answers(slack, post.ts), 25)

            found = [p for p in (tmp_path / "files").rglob("*") if p.is_file()]
            assert [p.read_text() for p in found] == ["buy milk"]
            assert len(answers(slack, post.ts)) == 1
