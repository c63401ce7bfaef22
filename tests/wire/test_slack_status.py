"""The working state and live progress, by what the workspace accepts; refusals are remembered."""

import logging

import pytest
from fakes.slack_world import SlackWorld, place, slack_world

from geode.messages import OutboundBody, ProgressStep

SESSIONS, THREADS = "agents.sessions.setStatus", "assistant.threads.setStatus"


def states(world: SlackWorld) -> list[tuple[object, object]]:
    return [(call["method"], call["status"]) for call in world.slack.writes.statuses]


async def test_agent_view_gets_its_own_words_and_each_once() -> None:
    async with slack_world() as world:
        where = await world.ask()

        for line in ("reading", "thinking", "writing"):
            await world.channel.set_status(where, line)
        await world.channel.set_status(where, "")

        assert states(world) == [(SESSIONS, "processing"), (SESSIONS, "active")]
        shown = world.slack.writes.statuses[0]
        assert (shown["channel_id"], shown["thread_ts"]) == ("C0GENERAL", where.thread.thread)


@pytest.mark.parametrize("code", ["not_authorized", "unknown_method", "missing_scope"])
async def test_older_method_shows_the_line_where_the_agent_view_is_refused(
    code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "channels.slack.status")
    async with slack_world() as world:
        where = await world.ask()
        world.slack.fault("error", method=SESSIONS, error=code, times=0)

        for line in ("reading", "reading", "thinking", ""):
            await world.channel.set_status(where, line)

        assert states(world) == [(THREADS, "reading"), (THREADS, "thinking"), (THREADS, "")]
        assert world.slack.api.calls[SESSIONS] == 1
        refusals = [r for r in caplog.records if "slack_status_refused" in r.getMessage()]
        assert len(refusals) == 1
        assert f"code={code}" in refusals[0].getMessage()


async def test_workspace_that_refuses_both_is_asked_once_each() -> None:
    async with slack_world() as world:
        where = await world.ask()
        for method in (SESSIONS, THREADS):
            world.slack.fault("error", method=method, error="not_authorized", times=0)

        for line in ("reading", "thinking", ""):
            await world.channel.set_status(where, line)

        assert (world.slack.api.calls[SESSIONS], world.slack.api.calls[THREADS]) == (1, 1)
        assert states(world) == []


async def test_refusal_of_one_place_is_not_one_of_the_workspace() -> None:
    async with slack_world() as world:
        where = await world.ask()

        await world.channel.set_status(place("1700000000.000100"), "reading")
        await world.channel.set_status(where, "reading")

        assert world.slack.counters()["refused"] == {"thread_not_found": 1}
        assert states(world) == [(SESSIONS, "processing")]


@pytest.mark.parametrize("kind", ["rate_limited", "server_error", "drop_response"])
async def test_trouble_on_the_way_disturbs_nobody(kind: str) -> None:
    async with slack_world() as world:
        where = await world.ask()
        world.slack.fault(kind, method=SESSIONS)

        await world.channel.set_status(where, "reading")

        assert world.slack.api.calls[THREADS] == 0


async def test_direct_message_without_a_thread_has_no_state() -> None:
    async with slack_world() as world:
        await world.channel.set_status(place("", channel="D0ANA"), "reading")

        assert world.slack.api.calls[SESSIONS] == 0


STEPS = (ProgressStep("read_file", "done"), ProgressStep("web_fetch"))


async def test_progress_is_a_plan_where_the_workspace_takes_it() -> None:
    async with slack_world() as world:
        where = await world.ask()
        (part,) = world.channel.plan(OutboundBody("Working on it", "progress", None, STEPS))

        ts = await world.channel.send(where, part, "row1:0")
        await world.channel.edit(where, ts, part)

        (post,) = world.slack.bot_posts()
        assert "task_card" in str(post.blocks)
        assert world.slack.counters()["refused"] == {}


async def test_refused_plan_becomes_its_line_and_is_not_offered_again() -> None:
    async with slack_world() as world:
        world.slack.writes.takes_plans = False
        where = await world.ask()
        (part,) = world.channel.plan(OutboundBody("Working on it", "progress", None, STEPS))

        ts = await world.channel.send(where, part, "row1:0")
        await world.channel.edit(where, ts, part)
        await world.channel.edit(where, ts, part)

        (post,) = world.slack.bot_posts()
        assert post.text == "Working on it"
        assert "task_card" not in str(post.blocks)
        assert await world.channel.find_sent(where, "row1:0", 0) == ts
        assert world.slack.counters()["refused"] == {"invalid_blocks": 1}
