"""What people said while nothing ran is answered once it runs again."""

from __future__ import annotations

from pathlib import Path

from fakes.town import answers, running_daemon

from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Posted


async def test_first_direct_message_of_a_person_in_an_outage_is_answered(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        async with running_daemon(slack, tmp_path):
            pass
        await slack.say("hello, are you there?", channel="")

        async with running_daemon(slack, tmp_path):
            await slack.wait_for(lambda: answers(slack, "", "D0ANA"), timeout_s=20)


async def test_mention_in_an_outage_below_an_older_root_is_answered_once(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        async with running_daemon(slack, tmp_path):
            root = await slack.say("what about friday?")
            await slack.say("fine with me", user="U0BEN", thread_ts=root.ts)
            later = await slack.say("<@UBOT> something else")
            await slack.wait_for(lambda: answers(slack, later.ts), timeout_s=20)
        workspace = slack.workspace
        workspace.add_post(Posted("C0GENERAL", workspace.next_ts(), "U0BEN", "unrelated"))
        await slack.say("<@UBOT> can you?", thread_ts=root.ts)

        for _ in range(2):
            async with running_daemon(slack, tmp_path):
                await slack.wait_for(lambda: answers(slack, root.ts), timeout_s=20)

        assert len(answers(slack, root.ts)) == 1
