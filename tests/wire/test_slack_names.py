"""Display names: looked up beside the acknowledgement, kept, and never waited for."""

import asyncio

from fakes.slack_world import slack_world


async def test_names_of_people_are_known_from_their_second_message_on() -> None:
    async with slack_world() as world:
        await world.slack.say("one", user="U0BEN")
        await world.wait_for(lambda: world.slack.api.calls["users.info"] == 1)
        await world.wait_for(lambda: world.intake.stored)
        root = world.intake.stored[0].thread

        async with asyncio.timeout(8):
            while True:
                await world.slack.say("more", user="U0BEN", thread_ts=root.thread)
                await world.wait_for(lambda: len(world.intake.stored) >= 2)
                if world.intake.stored[-1].sender.name == "ben":
                    break

        assert world.intake.stored[0].sender.name == ""
        assert world.slack.api.calls["users.info"] == 1


async def test_app_that_may_not_ask_for_names_asks_once_and_serves_all_the_same() -> None:
    async with slack_world() as world:
        world.slack.fault("error", method="users.info", error="missing_scope", times=0)
        await world.slack.say("one", user="U0BEN")
        await world.wait_for(lambda: world.slack.api.calls["users.info"] == 1)

        await world.slack.say("two", user="U0ANA")
        await world.wait_for(lambda: len(world.intake.stored) == 2)

        assert {m.sender.id: m.sender.name for m in world.intake.stored} == {
            "U0BEN": "",
            "U0ANA": "",
        }


async def test_earlier_messages_carry_the_names_of_their_authors() -> None:
    async with slack_world() as world:
        root = await world.slack.say("first", user="U0BEN")
        await world.slack.say("second", user="U0ANA", thread_ts=root.ts)
        where = await world.ask("<@UBOT> now you", thread_ts=root.ts)

        before = world.intake.stored[-1].message_id
        quotes = await world.channel.read_earlier(where.thread, before)

        assert [quote.sender.name for quote in quotes] == ["ben", "ana"]
