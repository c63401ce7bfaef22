"""What each platform's places and people look like to whoever writes a configuration."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
from fakes import discord_world, slack_world, telegram_world
from fakes.discord_world import trusting

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import ANA, FORUM, GENERAL, GUILD, OTHER
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Room
from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import ANA as TELEGRAM_ANA
from channels.rehearsal.telegram_state import BEN, BOT_ID, CLUB, TOPIC_WORK
from channels.rehearsal.telegram_state import FORUM as TELEGRAM_FORUM
from channels.rehearsal.telegram_updates import Webhook
from channels.telegram.claim import TokenClaim
from geode.errors import ChannelDownError, ChannelError
from geode.guides import FoundPlace
from geode.messages import OutboundBody, Person, Place, Thread
from geode.ports import Channel

DEAD_URL = "http://127.0.0.1:9/"


async def places_of(channel: Channel, wait_s: float = 0.0) -> dict[str, FoundPlace]:
    return {found.where: found for found in await channel.discover(wait_s)}


@pytest.fixture
async def slack() -> AsyncIterator[RehearsalSlack]:
    async with RehearsalSlack() as server:
        yield server


@pytest.fixture
async def discord() -> AsyncIterator[RehearsalDiscord]:
    async with RehearsalDiscord() as server:
        with trusting(server):
            yield server


@pytest.fixture
async def telegram() -> AsyncIterator[RehearsalTelegram]:
    async with RehearsalTelegram() as server:
        yield server


async def test_slack_finds_the_channels_it_is_in_with_people_and_no_bots(
    slack: RehearsalSlack,
) -> None:
    found = await places_of(slack_world.make_channel(slack))

    assert set(found) == {"T0REHEARSAL/C0GENERAL", "T0REHEARSAL/dm"}
    assert found["T0REHEARSAL/C0GENERAL"].name == "#general"
    people = (Person("U0ANA", "ana"), Person("U0BEN", "ben"), Person("U0STRANGER", "stranger"))
    assert found["T0REHEARSAL/C0GENERAL"].people == people == found["T0REHEARSAL/dm"].people


async def test_slack_reads_every_page_of_its_channels(slack: RehearsalSlack) -> None:
    for number in range(230):
        slack.workspace.add_room(Room(f"C0N{number}", f"n{number}", {"UBOT", "U0ANA"}))
    found = await places_of(slack_world.make_channel(slack))

    assert len(found) == 232
    assert slack.api.calls["conversations.members"] <= 20
    assert slack.api.calls["users.info"] <= 60


async def test_slack_finds_nothing_where_the_bot_is_in_no_channel(slack: RehearsalSlack) -> None:
    slack.workspace.rooms["C0GENERAL"].members.remove("UBOT")
    channel = slack_world.make_channel(slack)

    assert await channel.discover(0.0) == ()
    assert "/invite" in channel.guide().when_nothing


@pytest.mark.parametrize("scope", ["channels:read", "groups:read"])
async def test_slack_names_the_scope_that_listing_needs(slack: RehearsalSlack, scope: str) -> None:
    slack.api.scopes.remove(scope)

    with pytest.raises(ChannelDownError, match=scope):
        await slack_world.make_channel(slack).discover(0.0)


async def test_slack_keeps_people_whose_names_it_may_not_read(slack: RehearsalSlack) -> None:
    slack.api.scopes.remove("users:read")
    found = await places_of(slack_world.make_channel(slack))

    assert Person("U0ANA") in found["T0REHEARSAL/C0GENERAL"].people


async def test_slack_that_is_not_there_is_a_channel_error(slack: RehearsalSlack) -> None:
    channel = slack_world.make_channel(slack, api_url=f"{DEAD_URL}api/")

    with pytest.raises(ChannelDownError, match="cannot be reached"):
        await channel.discover(0.0)


async def test_discord_finds_what_it_sees_with_the_owner_and_who_talks(
    discord: RehearsalDiscord,
) -> None:
    discord.world.rooms[OTHER].refusal = 50001
    await discord.say("hello", channel=GENERAL, user=discord_ben(discord))
    found = await places_of(discord_world.make_channel(discord))

    assert set(found) == {f"{GUILD}/{GENERAL}", f"{GUILD}/{FORUM}", "dm/dm"}
    assert found[f"{GUILD}/{GENERAL}"].name == "#general of town"
    names = [person.name for person in found[f"{GUILD}/{GENERAL}"].people]
    assert names == ["Ana", "Ben"]
    assert found["dm/dm"].people[0] == Person(ANA, "Ana")


def discord_ben(discord: RehearsalDiscord) -> str:
    return next(p.id for p in discord.world.people.values() if p.name == "ben")


async def test_discord_lists_members_where_the_intent_allows(discord: RehearsalDiscord) -> None:
    discord.world.has_members_intent = True
    found = await places_of(discord_world.make_channel(discord))

    names = {person.name for person in found[f"{GUILD}/{GENERAL}"].people}
    assert names == {"Ana", "Ben", "Stranger"}


async def test_discord_finds_nothing_without_a_server(discord: RehearsalDiscord) -> None:
    discord.gateway.is_invited = False

    assert await discord_world.make_channel(discord).discover(0.0) == ()


async def test_discord_refuses_a_wrong_token_in_a_sentence(discord: RehearsalDiscord) -> None:
    with pytest.raises(ChannelError, match="refused the token"):
        await discord_world.make_channel(discord, token="stale").discover(0.0)


async def test_discord_opens_no_gateway_session_for_a_test_message(
    discord: RehearsalDiscord,
) -> None:
    channel = discord_world.make_channel(discord)
    (part,) = channel.plan(OutboundBody("hello"))
    sent = await channel.send(Place(Thread("discord", GUILD, GENERAL, "")), part, "setup")

    assert [post.id for post in discord.bot_posts(GENERAL)] == [sent]
    assert discord.gateway.counters["identifies"] == 0


async def test_telegram_finds_chats_topics_and_people_and_confirms_nothing(
    telegram: RehearsalTelegram,
) -> None:
    telegram.say("hi", chat=0)
    telegram.say("hi", chat=CLUB, user=BEN)
    telegram.say("hi", chat=TELEGRAM_FORUM, topic=TOPIC_WORK)
    found = await places_of(telegram_world.make_channel(telegram))

    club, topic = f"{BOT_ID}/{CLUB}", f"{BOT_ID}/{TELEGRAM_FORUM}/{TOPIC_WORK}"
    assert set(found) == {club, topic, f"{BOT_ID}/{TELEGRAM_FORUM}", f"{BOT_ID}/dm"}
    assert found[club].people == (Person(str(BEN), "Ben"),)
    assert found[club].name == "club"
    assert {p.id for p in found[f"{BOT_ID}/dm"].people} == {str(BEN), str(TELEGRAM_ANA)}
    assert len(telegram.queue.waiting) == 3
    assert telegram.queue.confirmed_below == 0


async def test_telegram_waits_for_somebody_to_write(telegram: RehearsalTelegram) -> None:
    async def write_later() -> None:
        await telegram.wait_for(lambda: telegram.api.calls["getUpdates"])
        telegram.say("hi", chat=CLUB)

    import asyncio

    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(telegram_world.make_channel(telegram).discover(8.0))
        tasks.create_task(write_later())

    assert [found.where for found in looking.result()] == [f"{BOT_ID}/{CLUB}", f"{BOT_ID}/dm"]


async def test_telegram_leaves_a_running_daemon_its_updates(telegram: RehearsalTelegram) -> None:
    claim = TokenClaim(telegram.base_url, telegram.bot_token)
    assert claim.take() == ""
    try:
        with pytest.raises(ChannelDownError, match=str(os.getpid())):
            await telegram_world.make_channel(telegram).discover(0.0)
    finally:
        claim.release()

    assert telegram.api.calls["getUpdates"] == 0


async def test_telegram_says_that_a_webhook_is_in_the_way(telegram: RehearsalTelegram) -> None:
    telegram.queue.webhook = Webhook("https://example.org", "s")

    with pytest.raises(ChannelDownError, match="/whoami"):
        await telegram_world.make_channel(telegram).discover(0.0)

    assert telegram.api.calls["getUpdates"] == 0
    assert telegram.queue.webhook is not None


async def test_telegram_offers_no_bot_and_no_anonymous_author(telegram: RehearsalTelegram) -> None:
    telegram.say("hi", chat=CLUB, sender_chat={"id": CLUB, "type": "supergroup", "title": "club"})

    assert await telegram_world.make_channel(telegram).discover(0.0) == ()
