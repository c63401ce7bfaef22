"""The socket under a real client: outages, refused upgrades, deaf sockets, fresh addresses."""

import time
from dataclasses import replace

import pytest
from fakes.slack_intake import MemoryIntake
from fakes.slack_world import QUICK, SlackWorld, make_channel, running, slack_world

from channels.rehearsal.slack import RehearsalSlack

DEAD_TICKETS = ("used_ticket", "unknown_ticket")


def assert_each_address_used_once(world: SlackWorld) -> None:
    counters = world.slack.hub.counters
    assert all(counters[name] == 0 for name in DEAD_TICKETS)
    refused = counters["upgrade_refused"]
    assert counters["opens"] == counters["connections"] + refused
    assert world.slack.api.calls["apps.connections.open"] == counters["opens"]


async def test_socket_cut_without_a_close_frame_is_replaced_sl_08_a() -> None:
    async with slack_world() as world:
        world.slack.hub.kill_all()
        await world.wait_for(lambda: world.socket("connections") == 2)
        await world.wait_state("up")

        await world.slack.say("still there?")
        await world.wait_for(lambda: world.intake.texts == ["still there?"])
        assert_each_address_used_once(world)
        assert world.intake.catch_ups == ["slack", "slack"]


async def test_status_says_down_while_the_socket_is_down_sl_08_a() -> None:
    async with slack_world() as world:
        world.slack.fault("error", method="apps.connections.open", error="internal_error", times=3)
        world.slack.hub.kill_all()

        await world.wait_for(lambda: "internal_error" in world.channel.status().reason)
        assert world.channel.status().state == "down"

        await world.wait_state("up")


async def test_refresh_with_an_event_unacknowledged_accepts_it_once_sl_08_b() -> None:
    async with slack_world(ack_deadline_s=5) as world:
        world.intake.open.clear()
        await world.slack.say("in the middle")
        await world.wait_for(lambda: world.intake.asked)

        await world.slack.hub.disconnect_all("refresh_requested")
        await world.wait_for(lambda: world.socket("redeliveries") >= 1)
        world.intake.open.set()

        await world.wait_for(lambda: world.slack.counters()["unacked"] == 0)
        assert world.intake.texts == ["in the middle"]
        await world.wait_for(lambda: world.slack.counters()["connections_now"] == 1)
        assert_each_address_used_once(world)


async def test_refresh_leaves_no_gap_sl_08_b() -> None:
    async with slack_world() as world:
        await world.slack.hub.disconnect_all("warning")
        await world.wait_for(lambda: world.socket("connections") == 2)

        assert world.channel.status().state == "up"
        assert world.intake.catch_ups == ["slack"]
        await world.wait_for(lambda: world.slack.counters()["connections_now"] == 1)


async def test_socket_that_died_before_its_successor_stood_left_a_gap_sl_08_b() -> None:
    async with slack_world() as world:
        world.slack.fault("slow_response", method="apps.connections.open", delay_s=0.6)
        await world.slack.hub.disconnect_all("warning")
        await world.wait_for(lambda: world.slack.api.calls["apps.connections.open"] == 2)
        world.slack.hub.kill_all()
        await world.wait_for(lambda: world.socket("connections") == 2)

        await world.wait_for(lambda: world.intake.catch_ups == ["slack", "slack"])
        assert world.channel.status().state == "up"


async def test_unreachable_slack_is_waited_out_with_a_bounded_backoff_sl_08_c() -> None:
    async with RehearsalSlack() as slack:
        port = slack.base_url
        channel = make_channel(slack)
        intake = MemoryIntake()
    again = RehearsalSlack(port=int(port.split(":")[2].split("/")[0]))
    world = SlackWorld(again, channel, intake)
    async with running(channel, intake):
        await world.wait_state("down")
        assert "cannot be reached" in channel.status().reason

        async with again:
            await world.wait_state("up")
            await again.say("back")
            await world.wait_for(lambda: intake.texts == ["back"])


async def test_address_outage_is_down_and_every_attempt_asks_for_a_fresh_one_sl_08_c() -> None:
    async with slack_world() as world:
        world.slack.fault("drop_request", method="apps.connections.open", times=4)
        world.slack.hub.kill_all()

        await world.wait_state("down")
        await world.wait_state("up")
        assert world.slack.api.calls["apps.connections.open"] == 6
        assert world.socket("opens") == 2


async def test_socket_without_hello_is_given_up_for_a_fresh_one_sl_08_d() -> None:
    async with slack_world() as world:
        world.slack.fault("no_hello", times=2)
        world.slack.hub.kill_all()

        await world.wait_for(lambda: "hello" in world.channel.status().reason)
        assert world.channel.status().state == "down"
        await world.wait_state("up")
        assert world.socket("connections") == 4
        assert_each_address_used_once(world)


async def test_refused_upgrade_never_reuses_the_burnt_address() -> None:
    async with slack_world() as world:
        world.slack.fault("refuse_upgrade", times=3)
        world.slack.hub.kill_all()

        await world.wait_for(lambda: "refused the socket" in world.channel.status().reason)
        await world.wait_state("up")
        assert world.socket("upgrade_refused") == 3
        assert_each_address_used_once(world)


async def test_frozen_socket_is_noticed_by_its_unanswered_pings() -> None:
    async with slack_world(replace(QUICK, ping_s=0.4)) as world:
        world.slack.hub.freeze_all()

        await world.wait_for(lambda: world.socket("connections") == 2)
        await world.wait_state("up")
        assert_each_address_used_once(world)


async def test_deaf_socket_is_replaced_and_its_event_arrives_once() -> None:
    async with slack_world(replace(QUICK, quiet_s=0.5), ack_deadline_s=0.4) as world:
        world.slack.hub.deafen_all()
        await world.slack.say("can you hear me?")

        await world.wait_for(lambda: world.intake.texts)
        assert world.socket("unheard") >= 1
        assert world.intake.texts == ["can you hear me?"]
        assert len(world.intake.catch_ups) >= 2
        assert_each_address_used_once(world)


async def test_lively_socket_is_not_replaced() -> None:
    async with slack_world(replace(QUICK, quiet_s=1.2)) as world:
        ends_at = time.monotonic() + 1.8
        while time.monotonic() < ends_at:
            said = await world.slack.say("still talking")
            await world.wait_for(
                lambda ts=said.ts: any(m.message_id == ts for m in world.intake.stored[-1:])
            )

        assert world.socket("connections") == 1


async def test_rate_limited_address_is_waited_for() -> None:
    async with slack_world() as world:
        world.slack.fault("rate_limited", method="apps.connections.open", retry_after_s=1)
        world.slack.hub.kill_all()

        await world.wait_state("down")
        await world.wait_state("up")
        assert world.slack.api.calls["apps.connections.open"] == 3


@pytest.mark.parametrize(
    ("method", "key"), [("auth.test", "bot_token"), ("apps.connections.open", "app_token")]
)
async def test_refused_token_is_degraded_by_name_and_never_shown(method: str, key: str) -> None:
    async with RehearsalSlack() as slack:
        slack.fault("error", method=method, error="invalid_auth", times=2)
        world = SlackWorld(slack, make_channel(slack))
        async with running(world.channel, world.intake):
            await world.wait_state("degraded")
            reason = world.channel.status().reason
            assert "invalid_auth" in reason
            assert f"channels.slack.{key} (env:SLACK_{key.upper()})" in reason
            assert slack.bot_token not in reason
            assert slack.app_token not in reason

            await world.wait_state("up")
        assert slack.api.calls[method] == 3


async def test_swapped_tokens_are_reported_as_a_token_problem() -> None:
    async with RehearsalSlack() as slack:
        slack.bot_token, slack.app_token = slack.app_token, slack.bot_token
        world = SlackWorld(slack, make_channel(slack))
        async with running(world.channel, world.intake):
            await world.wait_state("degraded")
            assert "not_allowed_token_type" in world.channel.status().reason


async def test_missing_token_ends_the_start_with_its_name() -> None:
    async with RehearsalSlack() as slack:
        slack.app_token = ""
        channel = make_channel(slack)

        await channel.start(MemoryIntake())

        assert channel.status().state == "degraded"
        assert "env:SLACK_APP_TOKEN" in channel.status().reason
        await channel.stop()


async def test_switched_off_socket_mode_is_said_in_words() -> None:
    async with slack_world() as world:
        world.slack.fault("refuse_upgrade", times=0)
        await world.slack.hub.disconnect_all("link_disabled")

        await world.wait_for(lambda: "Socket Mode" in world.channel.status().reason)


async def test_many_outages_leave_one_connection_and_none_after_stop() -> None:
    async with slack_world(replace(QUICK, stable_s=0.0)) as world:
        for round_number in range(2, 8):
            if round_number % 2:
                await world.slack.hub.disconnect_all("refresh_requested")
            else:
                world.slack.hub.kill_all()
            await world.wait_for(
                lambda round_number=round_number: world.socket("connections") == round_number
            )
            await world.wait_for(lambda: world.slack.counters()["connections_now"] == 1)
        assert_each_address_used_once(world)
        await world.channel.stop()
        await world.channel.stop()
        await world.wait_for(lambda: world.slack.counters()["connections_now"] == 0)
        assert world.channel.status().state == "stopped"
