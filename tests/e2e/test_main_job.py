"""A person writes in a Slack thread; the agent works with tools and answers there, once."""

from __future__ import annotations

from pathlib import Path

from fakes.town import answers, running_daemon

from channels.rehearsal.slack import RehearsalSlack


async def test_mention_is_answered_once_in_its_thread(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack, running_daemon(slack, tmp_path):
        post = await slack.say("<@UBOT> hello there")

        await slack.wait_for(lambda: answers(slack, post.ts))

        assert len(slack.bot_posts("C0GENERAL", post.ts)) == 1
        assert "hello there" in answers(slack, post.ts)[0]
        assert slack.counters()["refused"] == {}


async def test_tool_work_shows_in_the_answer(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack, running_daemon(slack, tmp_path):
        post = await slack.say("<@UBOT> write notes.txt: buy milk")
        await slack.wait_for(lambda: answers(slack, post.ts))

        await slack.say("list files", thread_ts=post.ts)
        await slack.wait_for(lambda: len(answers(slack, post.ts)) == 2)

        assert "notes.txt" in answers(slack, post.ts)[1]
        assert slack.counters()["refused"] == {}
