"""What Slack's history gives back: earlier messages of a thread, and what was missed."""

import pytest
from fakes.slack_intake import MemoryIntake
from fakes.slack_world import make_channel, place, slack_world

from channels.rehearsal.slack import RehearsalSlack
from channels.slack.stamps import ts_to_us
from geode.errors import ChannelDownError, SendRateLimitedError
from geode.ports import CatchUpPlan, CatchUpRoot, CatchUpThread

TEAM = "T0REHEARSAL"


async def test_earlier_messages_of_people_are_read_oldest_first() -> None:
    async with slack_world() as world:
        root = await world.slack.say("we should plan")
        await world.slack.say("on friday &amp; saturday", user="U0BEN", thread_ts=root.ts)
        await world.channel.send(place(root.ts), world.part("a bot's words"), "row1:0")
        mention = await world.slack.say("<@UBOT> which day?", thread_ts=root.ts)

        earlier = await world.channel.read_earlier(place(root.ts).thread, mention.ts)

        assert [(quote.sender.id, quote.text) for quote in earlier] == [
            ("U0ANA", "we should plan"),
            ("U0BEN", "on friday & saturday"),
        ]


async def test_earlier_messages_stop_at_fifty_and_twenty_kilobytes() -> None:
    async with slack_world() as world:
        root = await world.slack.say("root")
        for number in range(70):
            await world.slack.say(f"message {number}", thread_ts=root.ts)
        many = await world.channel.read_earlier(place(root.ts).thread, "9999999999.000000")
        long = await world.slack.say("other root")
        for _ in range(30):
            await world.slack.say("x" * 1000, thread_ts=long.ts)
        wide = await world.channel.read_earlier(place(long.ts).thread, "9999999999.000000")

        assert [quote.text for quote in many] == [f"message {n}" for n in range(20, 70)]
        assert len(wide) == 20


async def test_catch_up_reads_roots_and_threads_since_the_cursor_once() -> None:
    async with slack_world() as world:
        before = await world.slack.say("<@UBOT> before the outage")
        other = await world.slack.say("an older thread")
        await world.wait_for(lambda: len(world.intake.stored) == 2)
        missed = MemoryIntake()

        root = await world.slack.say("<@UBOT> missed root")
        await world.slack.say("missed reply to it", thread_ts=root.ts)
        await world.slack.say("missed reply to the old one", thread_ts=before.ts)
        await world.channel.send(place(root.ts), world.part("ours"), "row1:0")
        plan = CatchUpPlan(
            (CatchUpRoot(TEAM, "C0GENERAL", other.ts),),
            (
                CatchUpThread(place(before.ts).thread, before.ts),
                CatchUpThread(place(root.ts).thread, other.ts),
            ),
        )
        await world.channel.catch_up(plan, missed)

        assert missed.texts == ["missed reply to the old one", "missed root", "missed reply to it"]
        assert all(message.is_catch_up for message in missed.stored)
        live = {message.dedupe_key for message in world.intake.stored}
        assert {message.dedupe_key for message in missed.stored} <= live
        assert missed.stored[2].thread == place(root.ts).thread


async def test_catch_up_of_a_direct_message_keeps_it_one_thread() -> None:
    async with slack_world() as world:
        first = await world.slack.say("hello", channel="")
        await world.slack.say("missed", channel="")
        missed = MemoryIntake()

        await world.channel.catch_up(CatchUpPlan((CatchUpRoot(TEAM, "D0ANA", first.ts),)), missed)

        assert missed.texts == ["missed"]
        assert missed.stored[0].is_direct
        assert missed.stored[0].thread.thread == ""


async def test_place_without_a_cursor_is_read_since_it_is_served() -> None:
    async with slack_world() as world:
        await world.slack.say("long before")
        begin = await world.slack.say("just before")
        await world.slack.say("missed")
        missed = MemoryIntake()
        roots = (
            CatchUpRoot(TEAM, "C0GENERAL", "", ts_to_us(begin.ts)),
            CatchUpRoot(TEAM, "C0GENERAL", ""),
        )

        await world.channel.catch_up(CatchUpPlan(roots), missed)

        assert missed.texts == ["missed"]


async def test_catch_up_pages_through_a_long_outage_in_order() -> None:
    async with slack_world() as world:
        first = await world.slack.say("start")
        for number in range(450):
            await world.slack.say(f"{number}")
        missed = MemoryIntake()

        await world.channel.catch_up(
            CatchUpPlan((CatchUpRoot(TEAM, "C0GENERAL", first.ts),)), missed
        )

        assert missed.texts == [str(number) for number in range(450)]


async def test_catch_up_waits_for_a_short_rate_limit_and_gives_up_on_a_long_one() -> None:
    async with slack_world() as world:
        first = await world.slack.say("start")
        await world.slack.say("missed")
        plan = CatchUpPlan((CatchUpRoot(TEAM, "C0GENERAL", first.ts),))
        missed = MemoryIntake()

        world.slack.fault("rate_limited", method="conversations.history", retry_after_s=1)
        await world.channel.catch_up(plan, missed)
        world.slack.fault("rate_limited", method="conversations.history", retry_after_s=600)
        with pytest.raises(SendRateLimitedError):
            await world.channel.catch_up(plan, missed)

        assert missed.texts == ["missed"]


async def test_place_that_slack_refuses_does_not_stop_the_others() -> None:
    async with slack_world() as world:
        first = await world.slack.say("start")
        await world.slack.say("missed")
        missed = MemoryIntake()
        roots = (
            CatchUpRoot(TEAM, "C0GONE", "9999999999.000100"),
            CatchUpRoot(TEAM, "C0OTHER", "9999999998.000100"),
            CatchUpRoot(TEAM, "C0GENERAL", first.ts),
        )

        await world.channel.catch_up(CatchUpPlan(roots), missed)

        assert missed.texts == ["missed"]


async def test_place_the_bot_has_no_scope_for_does_not_stop_the_others() -> None:
    async with slack_world() as world:
        first = await world.slack.say("start")
        await world.slack.say("missed")
        missed = MemoryIntake()
        newer = CatchUpRoot(TEAM, "C0SECOND", "9999999999.000100")
        plan = CatchUpPlan((newer, CatchUpRoot(TEAM, "C0GENERAL", first.ts)))

        world.slack.fault("error", method="conversations.history", error="missing_scope")
        await world.channel.catch_up(plan, missed)
        world.slack.fault("error", method="conversations.history", error="token_revoked")
        with pytest.raises(ChannelDownError):
            await world.channel.catch_up(plan, MemoryIntake())

        assert missed.texts == ["missed"]


async def test_history_is_not_read_before_slack_said_who_we_are() -> None:
    async with RehearsalSlack() as slack:
        channel = make_channel(slack)
        with pytest.raises(ChannelDownError):
            await channel.read_earlier(place("1.000100").thread, "2.000100")
        await channel.stop()
