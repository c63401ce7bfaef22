"""The gateway under the real client: identify, resume, invalid sessions, fatal closes, outages."""

from dataclasses import replace

import pytest
from fakes.discord_world import QUICK, DiscordWorld, discord_world, make_channel, running, trusting
from fakes.slack_intake import MemoryIntake

from channels.rehearsal.discord import RehearsalDiscord


def gateway(world: DiscordWorld, name: str) -> int:
    return world.discord.gateway.counters[name]


async def test_channel_comes_up_through_the_proxy_by_name() -> None:
    async with discord_world() as world:
        asked = world.discord.proxy.counters

        assert set(asked) == {"discord.com", "gateway.discord.gg"}
        assert gateway(world, "identifies") == 1
        assert world.intake.catch_ups == ["discord"]


async def test_event_while_the_socket_is_replaced_is_replayed_by_the_resume() -> None:
    async with discord_world() as world:
        world.discord.gateway.kill_all()
        await world.discord.say("in the gap")
        await world.wait_for(lambda: world.intake.texts == ["in the gap"])
        await world.wait_state("up")

        assert gateway(world, "resumes") == 1
        assert gateway(world, "identifies") == 1
        assert world.intake.catch_ups == ["discord"]


async def test_op_7_is_followed_by_a_resume_and_no_gap() -> None:
    async with discord_world() as world:
        await world.discord.gateway.ask_reconnect()
        await world.wait_for(lambda: gateway(world, "resumes") == 1)
        await world.wait_state("up")

        await world.discord.say("after")
        await world.wait_for(lambda: world.intake.texts == ["after"])
        assert world.intake.catch_ups == ["discord"]


async def test_invalid_session_is_identified_anew_and_read_back() -> None:
    async with discord_world() as world:
        await world.discord.gateway.invalidate(is_resumable=False)
        await world.wait_for(lambda: gateway(world, "identifies") == 2, timeout_s=14)

        await world.wait_for(lambda: world.intake.catch_ups == ["discord", "discord"])
        await world.wait_state("up")


@pytest.mark.parametrize("is_abrupt", [False, True])
@pytest.mark.parametrize(("code", "words"), [(4014, "content intent"), (4004, "token")])
async def test_fatal_close_ends_this_channel_without_a_reconnect_dc_02(
    code: int, words: str, is_abrupt: bool
) -> None:
    async with discord_world() as world:
        world.discord.gateway.is_abrupt = is_abrupt
        world.discord.gateway.identify_close = code
        world.discord.gateway.sessions.clear()
        await world.discord.gateway.close_all(code)

        await world.wait_state("degraded")
        assert words in world.channel.status().reason
        await world.wait_for(lambda: not world.discord.gateway.connections)
        assert world.channel._client is None
        assert gateway(world, "connections") == 1


@pytest.mark.parametrize("is_abrupt", [False, True])
async def test_intent_that_is_off_is_named_and_ends_this_channel_dc_02(is_abrupt: bool) -> None:
    async with RehearsalDiscord() as discord:
        discord.world.has_content_intent = False
        discord.gateway.is_abrupt = is_abrupt
        channel = make_channel(discord)
        with trusting(discord):
            async with running(channel, MemoryIntake()):
                await discord.wait_for(lambda: discord.gateway.counters["refused_4014"])
                await discord.wait_for(lambda: not discord.gateway.connections)
                await discord.wait_for(
                    lambda: channel._client is None and channel.status().state == "degraded"
                )

                assert "message content intent" in channel.status().reason

        assert discord.gateway.counters["connections"] == 1


async def test_refused_token_is_named_and_not_tried_again() -> None:
    async with RehearsalDiscord() as discord:
        channel = make_channel(discord, token="wrong")
        with trusting(discord):
            async with running(channel, MemoryIntake()):
                await discord.wait_for(lambda: channel.status().state == "degraded")
                assert "channels.discord.token" in channel.status().reason

        assert discord.api.calls["me.read"] == 1


async def test_missing_token_is_named_and_nothing_is_asked() -> None:
    async with RehearsalDiscord() as discord:
        channel = make_channel(discord)
        channel._context.secrets.clear()
        async with running(channel, MemoryIntake()):
            await discord.wait_for(lambda: channel.status().state == "degraded")
            assert "missing" in channel.status().reason

        assert discord.api.calls == {}


async def test_outage_at_the_login_is_waited_out() -> None:
    async with RehearsalDiscord() as discord:
        discord.fault("server_error", method="me.read", status=503, times=3)
        channel, intake = make_channel(discord), MemoryIntake()
        with trusting(discord):
            async with running(channel, intake):
                await discord.wait_for(lambda: channel.status().state == "down")
                await discord.wait_for(lambda: channel.status().state == "up")

        assert discord.api.calls["me.read"] == 4
        assert channel.status().state == "stopped"


async def test_authority_that_is_not_trusted_is_not_spoken_to() -> None:
    async with RehearsalDiscord() as discord:
        channel = make_channel(discord)
        async with running(channel, MemoryIntake()):
            await discord.wait_for(lambda: channel.status().state == "down")

            assert "certificate" in channel.status().reason
            assert discord.api.calls == {}


async def test_socket_that_cannot_be_replaced_is_given_up_with_its_login() -> None:
    async with RehearsalDiscord() as discord:
        channel = make_channel(discord, connection=replace(QUICK, down_s=0.5))
        with trusting(discord):
            async with running(channel, MemoryIntake()):
                await discord.wait_for(lambda: channel.status().state == "up")
                discord.fault("refuse_upgrade", times=0)
                discord.gateway.kill_all()
                await discord.wait_for(lambda: discord.api.calls["me.read"] == 2)
                assert channel.status().state == "down"
                discord.faults.clear()
                await discord.wait_for(lambda: channel.status().state == "up")

        assert discord.gateway.counters["identifies"] == 2


async def test_bot_in_no_server_says_so_until_it_is_invited() -> None:
    async with RehearsalDiscord() as discord:
        discord.gateway.is_invited = False
        channel = make_channel(discord)
        with trusting(discord):
            async with running(channel, MemoryIntake()):
                await discord.wait_for(lambda: "in no server" in channel.status().reason)

                await discord.gateway.invite()
                await discord.wait_for(lambda: channel.status().reason == "")
                assert channel.status().state == "up"


async def test_three_resumes_that_fail_are_followed_by_a_new_session() -> None:
    async with discord_world() as world:
        world.discord.gateway.resume_close = 4000
        world.discord.gateway.kill_all()
        await world.wait_for(lambda: gateway(world, "identifies") == 2, timeout_s=14)
        await world.wait_state("up")

        assert gateway(world, "resumes_closed") >= 3
        assert world.intake.catch_ups == ["discord", "discord"]


async def test_refused_upgrade_is_tried_again() -> None:
    async with RehearsalDiscord() as discord:
        discord.fault("refuse_upgrade")
        channel = make_channel(discord)
        with trusting(discord):
            async with running(channel, MemoryIntake()):
                await discord.wait_for(lambda: channel.status().state == "up")

        assert discord.gateway.counters["connections"] == 2


async def test_stop_is_quick_and_may_come_twice_or_before_the_start() -> None:
    async with RehearsalDiscord() as discord:
        channel = make_channel(discord)
        await channel.stop()
        async with discord_world() as world:
            await world.channel.stop()
            await world.channel.stop()

            assert world.channel.status().state == "stopped"
            await world.wait_for(lambda: not world.discord.gateway.connections)
