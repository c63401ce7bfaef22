"""Catch-up on the wire: what was handed over is confirmed, and nothing else."""

from __future__ import annotations

import pytest
from fakes.slack_intake import MemoryIntake
from fakes.slack_world import SlackWorld, make_channel, place, slack_world

from channels.rehearsal.slack_state import Posted
from channels.slack.backlog import CALLS_MAX
from channels.slack.stamps import ts_to_us
from geode.errors import ChannelError, SendRateLimitedError, StorageFullError
from geode.messages import Thread
from geode.ports import CatchUpDirects, CatchUpPlan, CatchUpRoot, CatchUpThread

TEAM = "T0REHEARSAL"
ROOM = "C0GENERAL"
ROOTS = Thread("slack", TEAM, ROOM, "")


def post(world: SlackWorld, text: str, thread_ts: str = "", user: str = "U0ANA") -> str:
    """Somebody writes while nobody listens; the message's time stamp."""
    workspace = world.slack.workspace
    made = Posted(ROOM, workspace.next_ts(), user, text, thread_ts=thread_ts)
    return workspace.add_post(made).ts


def plan_of(after: str, *threads: CatchUpThread) -> CatchUpPlan:
    return CatchUpPlan((CatchUpRoot(TEAM, ROOM, after),), threads)


def confirmed(intake: MemoryIntake, where: Thread = ROOTS) -> str:
    """How far a place was confirmed."""
    return next((ts for at, ts in reversed(intake.confirmed) if at == where), "")


async def catch_up_until_done(world: SlackWorld, after: str, missed: MemoryIntake) -> int:
    """Run again from what was confirmed, as the core does; how many runs it took."""
    for run in range(1, 30):
        try:
            await world.channel.catch_up(plan_of(confirmed(missed) or after), missed)
        except ChannelError:
            continue
        return run
    raise AssertionError("the catch-up makes no progress")


async def test_place_is_confirmed_up_to_the_newest_message_whoever_wrote_it() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        post(world, "missed")
        newest = await world.channel.send(place(""), world.part("ours"), "row1:0")
        missed = MemoryIntake()

        await world.channel.catch_up(plan_of(first), missed)

        assert missed.texts == ["missed"]
        assert confirmed(missed) == newest


async def test_second_catch_up_reads_nothing_again() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        for number in range(30):
            post(world, "reply", thread_ts=post(world, f"{number}"))
        missed = MemoryIntake()
        await world.channel.catch_up(plan_of(first), missed)
        before = dict(world.slack.api.calls)

        await world.channel.catch_up(plan_of(confirmed(missed)), missed)

        calls = world.slack.api.calls
        assert calls["conversations.replies"] - before["conversations.replies"] <= 1
        assert calls["conversations.history"] - before["conversations.history"] <= 2


@pytest.mark.parametrize("error", ["not_in_channel", "missing_scope", "channel_not_found"])
async def test_place_that_slack_refuses_is_not_confirmed(error: str) -> None:
    async with slack_world() as world:
        first = post(world, "start")
        post(world, "missed")
        missed = MemoryIntake()

        world.slack.fault("error", method="conversations.history", error=error)
        await world.channel.catch_up(plan_of(first), missed)

        assert (missed.stored, missed.confirmed) == ([], [])


async def test_place_is_not_confirmed_past_what_could_not_be_stored() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        post(world, "missed")
        missed = MemoryIntake()
        missed.refusals = 1

        with pytest.raises(StorageFullError):
            await world.channel.catch_up(plan_of(first), missed)

        assert missed.confirmed == []


async def test_history_of_any_length_is_read_whole() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        for number in range(2_050):
            last = post(world, f"{number}")
        missed = MemoryIntake()

        await world.channel.catch_up(plan_of(first), missed)

        assert missed.texts == [str(number) for number in range(2_050)]
        assert confirmed(missed) == last


class Hurried(MemoryIntake):
    """After the first root of a run that it confirmed, Slack makes us wait for too long."""

    world: SlackWorld | None = None

    async def confirm_read(self, place: Thread, order_key: str, message_id: str) -> None:
        await super().confirm_read(place, order_key, message_id)
        if self.world is not None and place == ROOTS:
            self.world.slack.fault(
                "rate_limited", method="conversations.replies", retry_after_s=600
            )


async def test_catch_up_cut_short_by_the_rate_limit_goes_on_where_it_stopped() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        for number in range(6):
            post(world, f"reply {number}", thread_ts=post(world, f"root {number}"))
        missed = Hurried()
        missed.world = world

        for number in range(5):
            with pytest.raises(SendRateLimitedError):
                await world.channel.catch_up(plan_of(confirmed(missed) or first), missed)
            assert missed.texts[: 2 * number + 2][-2:] == [f"root {number}", f"reply {number}"]
        await world.channel.catch_up(plan_of(confirmed(missed)), missed)

        assert len(missed.texts) == len(set(missed.texts)) == 12


async def test_place_with_more_threads_than_one_run_reads_is_read_by_the_next_ones() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        for number in range(CALLS_MAX + 50):
            post(world, f"reply {number}", thread_ts=post(world, f"root {number}"))
        missed = MemoryIntake()

        runs = await catch_up_until_done(world, first, missed)

        assert runs == 2
        assert len(missed.stored) == 2 * (CALLS_MAX + 50)


async def test_root_is_confirmed_only_with_its_replies() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        post(world, "one")
        root = post(world, "two")
        post(world, "reply", thread_ts=root)
        missed = MemoryIntake()
        world.slack.fault("rate_limited", method="conversations.replies", retry_after_s=600)

        with pytest.raises(SendRateLimitedError):
            await world.channel.catch_up(plan_of(first), missed)

        assert missed.texts == ["one", "two"]
        assert confirmed(missed) == ""


async def test_first_mention_below_a_root_that_was_confirmed_before_is_found() -> None:
    async with slack_world() as world:
        root = post(world, "let us plan")
        post(world, "yes", thread_ts=root)
        newest = post(world, "something else")
        post(world, "<@UBOT> and you?", thread_ts=root)
        missed = MemoryIntake()

        await world.channel.catch_up(plan_of(newest), missed)

        assert [message.is_addressed for message in missed.stored] == [True]
        assert confirmed(missed, Thread("slack", TEAM, ROOM, root)) == ""


async def test_followed_thread_is_confirmed_from_its_own_floor() -> None:
    async with slack_world() as world:
        root = post(world, "<@UBOT> !help")
        post(world, "missed long ago", thread_ts=root)
        newest = post(world, "something else")
        last = post(world, "missed today", thread_ts=root)
        missed = MemoryIntake()
        followed = Thread("slack", TEAM, ROOM, root)

        await world.channel.catch_up(plan_of(newest, CatchUpThread(followed, root)), missed)

        assert missed.texts == ["missed long ago", "missed today"]
        assert confirmed(missed, followed) == last


async def test_root_that_was_deleted_meanwhile_stops_nothing() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        root = post(world, "gone soon")
        post(world, "reply", thread_ts=root)
        last = post(world, "missed")
        missed = MemoryIntake()
        world.slack.fault("error", method="conversations.replies", error="thread_not_found")

        await world.channel.catch_up(plan_of(first), missed)

        assert missed.texts == ["gone soon", "missed"]
        assert confirmed(missed) == last


async def test_nothing_is_confirmed_before_slack_said_who_we_are() -> None:
    async with slack_world() as world:
        channel, missed = make_channel(world.slack), MemoryIntake()

        with pytest.raises(ChannelError):
            await channel.catch_up(plan_of("1.000100"), missed)

        await channel.stop()
        assert missed.confirmed == []


async def test_first_direct_message_of_a_listed_person_is_found() -> None:
    async with slack_world() as world:
        workspace = world.slack.workspace
        begun = workspace.next_ts()
        for user in ("U0ANA", "U0BEN", "U0STRANGER"):
            room = workspace.direct_room(user)
            workspace.add_post(Posted(room.id, workspace.next_ts(), user, f"hello from {user}"))
        missed = MemoryIntake()
        known = CatchUpRoot(TEAM, "D0BEN", workspace.next_ts())
        directs = CatchUpDirects(TEAM, ("U0ANA", "U0BEN"), ts_to_us(begun))

        await world.channel.catch_up(CatchUpPlan((known,), (), (directs,)), missed)

        assert missed.texts == ["hello from U0ANA"]
        assert missed.stored[0].is_direct


async def test_direct_messages_that_cannot_be_listed_stop_nothing() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        post(world, "missed")
        missed = MemoryIntake()
        world.slack.fault("error", method="conversations.list", error="missing_scope")
        directs = CatchUpDirects(TEAM, ("U0ANA",), ts_to_us(first))

        await world.channel.catch_up(CatchUpPlan(plan_of(first).roots, (), (directs,)), missed)

        assert missed.texts == ["missed"]


async def test_history_says_which_messages_were_edited() -> None:
    async with slack_world() as world:
        first = post(world, "start")
        post(world, "as it was")
        await world.slack.edit(ROOM, post(world, "draft"), "final")
        missed = MemoryIntake()

        await world.channel.catch_up(plan_of(first), missed)

        assert [(m.text, m.is_edited) for m in missed.stored] == [
            ("as it was", False),
            ("final", True),
        ]
