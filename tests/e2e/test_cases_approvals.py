"""AG-01 to AG-03 end to end: who may approve, that it counts once, and what a restart keeps.

A real daemon, the real adapter and SDK, and the strict local Slack.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.model_town import Town, http_town, restarted
from fakes.town import answers, town_environ
from sqlalchemy import update

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Answer, text, tool_use
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Posted
from geode.reply import sentences
from geode.settings_load import InstalledChannelModels, load_settings
from geode.store.gate_tables import approvals

pytestmark = pytest.mark.timeout(60)
ALLOW, LASTING, DENY = "Allow once", "Allow in this conversation", "Deny"
ASKER, APPROVER, STRANGER = "U0ANA", "U0BEN", "U0STRANGER"
PROFILE = '[profiles.asking]\ntools = ["read_file"]\nask = ["write_file"]\n'


def config(**binding: str) -> dict[str, Any]:
    """A place whose writes ask Ben."""
    written = {"approvers": f'["{APPROVER}"]', **binding}
    lines = "\n".join(f"{key} = {value}" for key, value in written.items())
    return {"profile": "asking", "more": PROFILE, "binding": lines}


def proposal() -> list[Answer]:
    """A model that writes one file and says so."""
    call = tool_use("write_file", {"path": "note.txt", "content": "milk"})
    return [Answer([call], "tool_use"), Answer([text("it is over")])]


def cards(slack: RehearsalSlack) -> list[Posted]:
    """The bot's messages that show buttons."""
    return [post for post in slack.bot_posts() if '"actions"' in json.dumps(post.blocks)]


async def ask(town: Town) -> tuple[Posted, Posted]:
    """Ana asks, and a card stands in the thread."""
    town.server.script = list(proposal())
    post = await town.slack.say("<@UBOT> note it", user=ASKER)
    await town.wait_for(lambda: cards(town.slack))
    await town.wait_idle()
    return post, cards(town.slack)[0]


async def settle(town: Town, root: str, said: str = "it is over") -> None:
    """Wait until the thread has its answer and nothing waits."""
    await town.wait_for(lambda: said in answers(town.slack, root))
    await town.wait_idle()


def written(home: Path) -> list[str]:
    """What stands in the file, in every workspace."""
    return [path.read_text() for path in home.glob("files/*/note.txt")]


def told_alone(slack: RehearsalSlack, user: str) -> list[str]:
    """What only this person was shown."""
    return [str(e.get("text")) for e in slack.workspace.ephemerals if e.get("user") == user]


@asynccontextmanager
async def asking_town(home: Path, **binding: str) -> AsyncGenerator[Town]:
    async with http_town(home, **config(**binding)) as town:
        yield town


async def open_to_all(town: Town, home: Path) -> None:
    """From now on everyone in the channel may talk, by a reload."""
    path = home / "geode.toml"
    named = 'people = ["U0ANA", "U0BEN"]'
    path.write_text(path.read_text().replace(named, 'people = "members"', 1))
    environ = town_environ(town.slack, home)
    loaded = load_settings(path, channel_models=InstalledChannelModels(), environ=environ)
    assert await town.daemon.reload(loaded, environ)


@pytest.mark.parametrize("is_open", [False, True], ids=["named people", "open to all"])
async def test_only_the_stated_approver_resolves_a_call_ag_01(
    tmp_path: Path, *, is_open: bool
) -> None:
    async with asking_town(tmp_path) as town:
        if is_open:
            await open_to_all(town, tmp_path)
        post, card = await ask(town)

        for user in (ASKER, STRANGER):
            await town.slack.press("C0GENERAL", card.ts, ALLOW, user)
        for user in (ASKER, APPROVER):
            await town.slack.say("yes", thread_ts=post.ts, user=user)
        await town.wait_for(lambda: sentences.ONLY_APPROVERS in told_alone(town.slack, ASKER))
        if is_open:
            refused = sentences.ONLY_APPROVERS
            await town.wait_for(lambda: refused in told_alone(town.slack, STRANGER))

        assert await town.rows("approvals", "state", "decided_by") == [("pending", "")]
        assert written(tmp_path) == []
        await town.slack.press("C0GENERAL", card.ts, ALLOW, APPROVER)
        await settle(town, post.ts)
        assert written(tmp_path) == ["milk"]
        assert await town.rows("approvals", "state", "decided_by") == [("approved", "slack:U0BEN")]


async def test_without_approvers_nobody_is_asked_and_nothing_runs_ag_01(tmp_path: Path) -> None:
    async with asking_town(tmp_path, approvers="[]") as town:
        town.server.script = list(proposal())
        post = await town.slack.say("<@UBOT> note it")
        await settle(town, post.ts)

        assert cards(town.slack) == []
        assert written(tmp_path) == []
        assert "ask.no_approver" in json.dumps(town.server.requests[-1].body)


@pytest.mark.parametrize(
    ("first", "second", "runs"),
    [(ALLOW, ALLOW, {1}), (ALLOW, DENY, {0, 1}), (DENY, ALLOW, {0, 1}), (LASTING, ALLOW, {1})],
)
async def test_two_presses_at_once_decide_and_run_once_ag_02(
    tmp_path: Path, first: str, second: str, runs: set[int]
) -> None:
    async with asking_town(tmp_path) as town:
        post, card = await ask(town)

        await asyncio.gather(
            *(town.slack.press("C0GENERAL", card.ts, one, APPROVER) for one in (first, second))
        )
        await settle(town, post.ts)

        assert len(written(tmp_path)) in runs
        ((state, used),) = await town.rows("approvals", "state", "used_at_us")
        assert (state == "approved", used > 0) == (bool(written(tmp_path)),) * 2
        assert await town.rows("receipts", "state") == ["committed"] * len(written(tmp_path))
        assert answers(town.slack, post.ts).count("it is over") == 1
        assert cards(town.slack) == []


async def test_late_press_is_told_what_was_decided_ag_02(tmp_path: Path) -> None:
    async with asking_town(tmp_path) as town:
        post, card = await ask(town)
        buttons = card.blocks
        await town.slack.press("C0GENERAL", card.ts, DENY, APPROVER)
        await settle(town, post.ts)
        card.blocks = buttons  # a second device that still shows the old card

        await town.slack.press("C0GENERAL", card.ts, ALLOW, APPROVER)
        await town.wait_for(
            lambda: any("decided already" in t for t in told_alone(town.slack, APPROVER))
        )

        assert written(tmp_path) == []
        assert await town.rows("approvals", "state") == ["denied"]
        assert answers(town.slack, post.ts).count("it is over") == 1


async def test_restart_keeps_a_pending_call_and_its_button_works_once_ag_03(
    tmp_path: Path,
) -> None:
    async with RehearsalModel() as server, RehearsalSlack(ack_deadline_s=2.0) as slack:
        async with restarted(tmp_path, slack, server, **config()) as town:
            post, card = await ask(town)
            town.kill()
        buttons = card.blocks
        async with restarted(tmp_path, slack, server, **config()) as town:
            assert await town.rows("sessions", "state") == ["awaiting_approval"]
            await slack.press("C0GENERAL", card.ts, ALLOW, APPROVER)
            await settle(town, post.ts)
            card.blocks = buttons
            await slack.press("C0GENERAL", card.ts, ALLOW, APPROVER)
            await town.wait_for(
                lambda: any("decided already" in t for t in told_alone(slack, APPROVER))
            )
            await town.wait_idle()

            assert written(tmp_path) == ["milk"]
            assert await town.rows("receipts", "state") == ["committed"]
            assert await town.rows("sessions", "state") == ["idle"]
            assert answers(slack, post.ts).count("it is over") == 1
        async with restarted(tmp_path, slack, server, **config()) as town:
            await slack.press("C0GENERAL", card.ts, ALLOW, APPROVER)
            await town.wait_idle()
            assert await town.count("receipts") == 1
        assert server.refusals == []


async def test_call_that_expired_while_the_daemon_was_down_is_closed_ag_03(tmp_path: Path) -> None:
    expiring = config(approval_expires_s="600")
    async with RehearsalModel() as server, RehearsalSlack(ack_deadline_s=2.0) as slack:
        async with restarted(tmp_path, slack, server, **expiring) as town:
            post, card = await ask(town)
            past = update(approvals).values(expires_at_us=1)
            await town.daemon.store.write("test.past", lambda tx: tx.execute(past))
            town.kill()
        buttons = card.blocks
        async with restarted(tmp_path, slack, server, **expiring) as town:
            await settle(town, post.ts)

            assert await town.rows("approvals", "state") == ["expired"]
            assert await town.rows("sessions", "state") == ["idle"]
            assert "approval.expired" in json.dumps(server.requests[-1].body)
            assert cards(slack) == []
            card.blocks = buttons
            await slack.press("C0GENERAL", card.ts, ALLOW, APPROVER)
            await town.wait_for(lambda: told_alone(slack, APPROVER))
            await town.wait_idle()
            assert written(tmp_path) == []
            assert await town.rows("approvals", "state") == ["expired"]
