"""Posts through the real client: what Discord gets, what a refusal means, one copy only."""

import pytest
from fakes.discord_world import DiscordWorld, discord_world, make_channel, place

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import BOT, GENERAL, GUILD, Posted
from geode.errors import (
    ChannelDownError,
    FormatRefusedError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnknownError,
)
from geode.messages import OutboundBody, Part, Place, Thread


def answers(world: DiscordWorld, where: Place) -> list[Posted]:
    return world.discord.bot_posts(where.thread.thread or where.thread.channel)


def now_us(world: DiscordWorld) -> int:
    return world.channel._context.clock.now_us()


async def test_mention_in_a_channel_is_answered_in_the_thread_of_that_message() -> None:
    async with discord_world() as world:
        where = await world.ask(f"<@{BOT}> what is the plan?\nsecond line")

        first = await world.channel.send(where, world.part("one"), "row1:0")
        await world.channel.send(where, world.part("two"), "row1:1")

        assert [post.text for post in answers(world, where)] == ["one", "two"]
        assert answers(world, where)[0].id == first
        thread = world.discord.world.rooms[where.thread.thread]
        assert (thread.parent, thread.name) == (GENERAL, "what is the plan?")
        assert world.discord.api.calls["thread.create"] == 1


async def test_thread_that_was_opened_before_a_crash_is_used_again() -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.fault("drop_response", method="thread.create")

        with pytest.raises(ChannelDownError):
            await world.channel.send(where, world.part("once"), "row1:0")
        world.channel._threads._known.clear()
        world.channel._spots.use(None)
        await world.channel.send(where, world.part("once"), "row1:0")

        assert [post.text for post in answers(world, where)] == ["once"]
        assert world.discord.api.refused == {"160004": 1}
        assert world.discord.methods.counters["threads_opened"] == 1


async def test_no_path_lets_the_model_ping_anybody_dc_04() -> None:
    async with discord_world() as world:
        where = await world.ask()
        wicked = "@everyone and <@&123> and <@910000000000000011> and @here"

        sent = await world.channel.send(where, world.part(wicked), "row1:0")
        await world.channel.edit(where, sent, world.part(wicked))
        await world.channel.send(where, Part({}, wicked), "row2:0")
        await world.channel.edit(where, sent, Part({}, wicked))

        bodies = [
            call["body"]
            for call in world.discord.api.log
            if call["name"] in ("message.create", "message.edit")
        ]
        assert len(bodies) == 4
        assert all(body["allowed_mentions"]["parse"] == [] for body in bodies)
        assert world.discord.methods.counters["pinging"] == 0
        assert all("\\@everyone and \\<@&123>" in body["content"] for body in bodies)
        assert all("\u200b" not in body["content"] for body in bodies)


async def test_post_unfolds_no_links_and_an_edit_keeps_them_folded() -> None:
    async with discord_world() as world:
        where = await world.ask()

        sent = await world.channel.send(where, world.part("https://example.org"), "row1:0")
        await world.channel.edit(where, sent, world.part("https://example.org/2"))

        (post,) = answers(world, where)
        assert post.flags == 4
        assert post.text == "https://example.org/2"


async def test_lost_answer_is_sent_again_under_its_nonce_and_stays_one_copy() -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.fault("drop_response", method="message.create")

        with pytest.raises(SendUnknownError):
            await world.channel.send(where, world.part("once"), "row1:0")
        assert await world.channel.find_sent(where, "row1:0", now_us(world)) is None
        again = await world.channel.send(where, world.part("once"), "row1:0")

        assert [post.id for post in answers(world, where)] == [again]
        assert world.discord.methods.counters["nonce_repeats"] == 1
        assert 1 <= len(answers(world, where)[0].nonce) <= 25


async def test_old_send_of_unknown_outcome_is_found_by_its_words() -> None:
    async with discord_world(nonce_s=0) as world:
        where, since_us = await world.ask(), now_us(world)
        world.discord.fault("drop_response", method="message.create")
        part = world.part("**once** @everyone")

        with pytest.raises(SendUnknownError):
            await world.channel.send(where, part, "row1:0")
        world.discord.world.forget_nonces()
        other = world.part("something else")

        (post,) = answers(world, where)
        assert await world.channel.find_sent(where, "row1:0", since_us, part) == post.id
        assert await world.channel.find_sent(where, "row2:0", since_us, other) is None


async def test_words_of_other_people_are_not_ours() -> None:
    async with discord_world(nonce_s=0) as world:
        where, since_us = await world.ask(), now_us(world)
        await world.channel.send(where, world.part("hi"), "row1:0")
        await world.discord.say("once", channel=where.thread.thread)

        assert await world.channel.find_sent(where, "r:0", since_us, world.part("once")) is None


async def test_thread_that_does_not_stand_holds_nothing_of_ours() -> None:
    async with discord_world(nonce_s=0) as world:
        where = await world.ask()

        assert await world.channel.find_sent(where, "row1:0", 0, world.part("once")) is None


async def test_direct_message_is_answered_where_it_was_said() -> None:
    async with discord_world() as world:
        where = await world.ask("hi", channel="")

        await world.channel.send(where, world.part("hello"), "row1:0")

        assert where.thread.workspace == "dm"
        assert [post.text for post in answers(world, where)] == ["hello"]
        assert world.discord.api.calls["thread.create"] == 0


async def test_equal_keys_in_two_threads_are_two_messages() -> None:
    async with discord_world() as world:
        one, two = await world.ask(), await world.ask()

        await world.channel.send(one, world.part("a"), "row1:0")
        await world.channel.send(two, world.part("b"), "row1:0")

        assert answers(world, one)[0].nonce != answers(world, two)[0].nonce


async def test_short_rate_limit_is_waited_out_by_the_library() -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.fault("rate_limited", method="message.create", retry_after_s=1)

        await world.channel.send(where, world.part("wait"), "row1:0")

        assert world.discord.api.calls["message.create"] == 2
        assert len(answers(world, where)) == 1


async def test_long_rate_limit_is_passed_on_with_its_wait() -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.fault("rate_limited", method="message.create", retry_after_s=90)

        with pytest.raises(SendRateLimitedError) as raised:
            await world.channel.send(where, world.part("wait"), "row1:0")

        assert raised.value.retry_after_s == 90


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("50035", FormatRefusedError, "formatting"),
        ("50006", FormatRefusedError, "formatting"),
        ("50001", SendRefusedError, "View Channel"),
        ("50013", SendRefusedError, "Send Messages"),
        ("10003", SendRefusedError, "gone"),
        ("160005", SendRefusedError, "locked"),
        ("99999", SendRefusedError, "99999"),
    ],
)
async def test_refusal_codes_are_said_in_plain_words(
    code: str, error: type[Exception], words: str
) -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.fault("error", method="message.create", error=code)

        with pytest.raises(error, match=words):
            await world.channel.send(where, world.part("text"), "row1:0")


async def test_thread_that_may_not_be_opened_names_the_permission() -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.fault("error", method="thread.create", error="50013")

        with pytest.raises(SendRefusedError, match="Create Public Threads"):
            await world.channel.send(where, world.part("text"), "row1:0")


async def test_server_error_leaves_a_post_unknown() -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.fault("server_error", method="message.create", status=503)

        with pytest.raises(SendUnknownError):
            await world.channel.send(where, world.part("text"), "row1:0")


async def test_slow_answer_is_unknown_after_the_channels_own_time_out() -> None:
    async with discord_world(call_s=0.5) as world:
        where = await world.ask()
        world.discord.fault("slow_response", method="message.create", delay_s=1.0)

        with pytest.raises(SendUnknownError):
            await world.channel.send(where, world.part("late"), "row1:0")


async def test_channel_that_is_not_connected_certainly_sent_nothing() -> None:
    async with RehearsalDiscord() as discord:
        channel = make_channel(discord)

        with pytest.raises(ChannelDownError):
            await channel.send(place("1"), Part({"content": "x"}, "x"), "row1:0")


async def test_mark_goes_on_and_off_and_typing_shows_beside_it() -> None:
    async with discord_world() as world:
        where = await world.ask("hi", channel="")
        (message,) = world.intake.stored

        await world.channel.react(where, message.message_id, is_on=True)
        post = world.discord.find(where.thread.channel, message.message_id)
        assert post.reactions == {"👀": [BOT]}
        assert world.discord.api.calls["typing"] == 1

        await world.channel.react(where, message.message_id, is_on=False)
        assert post.reactions == {"👀": []}


async def test_mark_finds_the_first_message_of_a_forum_post() -> None:
    async with discord_world() as world:
        post = await world.discord.open_post(f"<@{BOT}> help me")
        await world.wait_for(lambda: world.intake.stored)
        (message,) = world.intake.stored

        await world.channel.react(Place(message.thread), message.message_id, is_on=True)

        assert post.reactions == {"👀": [BOT]}


async def test_long_code_answer_arrives_whole_dc_01() -> None:
    async with discord_world() as world:
        where = await world.ask()
        lines = [f"value_{number:03} = {number:012}" for number in range(300)]
        source = "twenty characters.. \n```py\n" + "\n".join(lines) + "\n```\nDone."

        for number, part in enumerate(world.channel.plan(OutboundBody(source))):
            await world.channel.send(where, part, f"row1:{number}")

        texts = [post.text for post in answers(world, where)]
        assert all(len(text) <= 2000 and text.count("```") % 2 == 0 for text in texts)
        assert all(text.startswith("```py\n") for text in texts[1:])
        inner = [line for text in texts for line in text.split("\n") if line[:3] != "```"]
        assert inner == ["twenty characters.. ", *lines, "Done."]
        references = [post.arguments.get("message_reference") for post in answers(world, where)]
        assert references == [None] * len(texts)


def test_nonce_is_made_of_the_place_and_the_key() -> None:
    from channels.discord.adapter import nonce_of

    one = Thread("discord", GUILD, GENERAL, "1")
    assert nonce_of(one, "row1:0") == nonce_of(one, "row1:0")
    assert nonce_of(one, "row1:0") != nonce_of(one, "row1:1")
