"""Five kills of the real `geode serve`, each at a moment that can be seen from outside."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.geode_command import serving
from fakes.town import answers, town_environ, write_config

from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Posted

pytestmark = pytest.mark.timeout(90)
ASKED = "<@UBOT> slow 2, then write the file plan.md: Ship on Friday."
Moment = Callable[[RehearsalSlack, Posted, Path], bool]


def has_row(query: str) -> Moment:
    """The database shows a row."""

    def look(slack: RehearsalSlack, post: Posted, home: Path) -> bool:
        with sqlite3.connect(home / "geode.db") as db:
            return db.execute(query).fetchone() is not None

    return look


def is_at_work(slack: RehearsalSlack, post: Posted, home: Path) -> bool:
    """The thread shows that the agent works."""
    return bool(slack.bot_posts("C0GENERAL", post.ts))


def is_accepted(slack: RehearsalSlack, post: Posted, home: Path) -> bool:
    """Slack shows the answer, and may not have said so yet."""
    return bool(answers(slack, post.ts))


MOMENTS: dict[str, Moment] = {
    "stored": has_row("SELECT 1 FROM inbox"),
    "working": is_at_work,
    "effect_recorded": has_row("SELECT 1 FROM receipts"),
    "answer_recorded": has_row("SELECT 1 FROM outbox WHERE kind = 'answer'"),
    "answer_shown": is_accepted,
}


@pytest.mark.parametrize("moment", list(MOMENTS))
async def test_serve_killed_in_the_middle_answers_once_after_its_restart(
    moment: str, tmp_path: Path
) -> None:
    async with RehearsalSlack(ack_deadline_s=1.0) as slack:
        write_config(tmp_path, slack.base_url)
        environ = town_environ(slack, tmp_path)
        if moment == "answer_shown":
            slack.fault("slow_response", method="chat.update", delay_s=1.0, times=0)
        async with serving(environ, is_started=True) as first:
            await first.wait_line("slack is up")
            post = await slack.say(ASKED)
            await slack.wait_for(lambda: MOMENTS[moment](slack, post, tmp_path))
            first.send(signal.SIGKILL)
            await first.wait_end()
        slack.faults.clear()

        async with serving(environ) as second:
            await second.wait_line("slack is up")
            await slack.wait_for(lambda: answers(slack, post.ts), timeout_s=20)
            await slack.wait_for(has_settled(tmp_path), timeout_s=20)
            second.send(signal.SIGTERM)
            assert await second.wait_end() == 0

    assert len(slack.bot_posts("C0GENERAL", post.ts)) == 1
    told = answers(slack, post.ts)[0]
    is_written = any((tmp_path / "files").glob("*/plan.md"))
    assert is_written == ("plan.md" in told or "did happen" in told)
    assert is_written != ("did not happen" in told)
    with sqlite3.connect(tmp_path / "geode.db") as db:
        states = [row[0] for row in db.execute("SELECT state FROM receipts")]
    assert len(states) == 1
    assert states[0] in ("committed", "reconciled")


def has_settled(home: Path) -> Callable[[], bool]:
    """Nothing is left to deliver or to answer."""

    def look() -> bool:
        with sqlite3.connect(home / "geode.db") as db:
            left = db.execute(
                "SELECT (SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending'))"
                " + (SELECT count(*) FROM sessions WHERE state != 'idle')"
            ).fetchone()
        return left == (0,)

    return look
