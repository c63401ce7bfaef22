"""Posts through the real SDK: what Slack gets, what a refusal means, how a lost answer is found."""

import pytest
from fakes.slack_world import SlackWorld, make_channel, place, slack_world

from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_rules import block_texts
from geode.errors import (
    ChannelDownError,
    FormatRefusedError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnknownError,
)
from geode.messages import OutboundBody, Part


async def test_post_carries_its_key_and_neither_unfurls_nor_pings() -> None:
    async with slack_world() as world:
        where = await world.ask()

        ts = await world.channel.send(where, world.part("hi <!channel>"), "row1:0")

        (post,) = world.slack.bot_posts()
        assert post.ts == ts
        assert post.metadata == {"event_type": "geode_part", "event_payload": {"key": "row1:0"}}
        unwanted = ("unfurl_links", "unfurl_media", "link_names")
        assert [post.arguments[name] for name in unwanted] == [False, False, False]
        assert post.arguments["parse"] == "none"
        assert block_texts(post.blocks) == ["hi &lt;!channel&gt;"]


@pytest.mark.parametrize("characters", [3_001, 10_001, 151_000])
async def test_long_answer_arrives_whole_in_order_in_its_thread_sl_05(characters: int) -> None:
    async with slack_world() as world:
        where = await world.ask()
        source = "lorem ipsum " * (characters // 12) + "x" * (characters % 12)

        for number, part in enumerate(world.channel.plan(OutboundBody(source))):
            await world.channel.send(where, part, f"row1:{number}")

        posts = world.slack.bot_posts(thread_ts=where.thread.thread)
        shown = "".join(text for post in posts for text in block_texts(post.blocks))
        assert shown.replace(" ", "") == source.replace(" ", "")
        assert world.slack.counters()["refused"] == {}
        assert world.slack.counters()["text_over_advice"] == 0


async def test_lost_answer_of_a_post_is_unknown_and_found_by_its_key() -> None:
    async with slack_world() as world:
        where = await world.ask()
        world.slack.fault("drop_response", method="chat.postMessage")

        with pytest.raises(SendUnknownError):
            await world.channel.send(where, world.part("once"), "row1:0")

        (post,) = world.slack.bot_posts()
        assert await world.channel.find_sent(where, "row1:0", 0) == post.ts
        assert await world.channel.find_sent(where, "row2:0", 0) is None
        assert world.slack.api.calls["chat.postMessage"] == 1


async def test_lost_answer_in_a_direct_message_is_found_too() -> None:
    async with slack_world() as world:
        await world.slack.say("hi", channel="")
        await world.wait_for(lambda: world.intake.stored)
        top = place("", channel="D0ANA")
        below = place("", channel="D0ANA", reply_to=world.intake.stored[0].message_id)

        sent = await world.channel.send(top, world.part("top"), "row1:0")
        sent_below = await world.channel.send(below, world.part("below"), "row2:0")

        assert await world.channel.find_sent(top, "row1:0", 0) == sent
        assert await world.channel.find_sent(below, "row2:0", 0) == sent_below
        assert world.slack.bot_posts("D0ANA")[0].thread_ts == ""
        assert world.slack.bot_posts("D0ANA")[1].thread_ts == below.reply_to


async def test_post_that_never_arrived_is_unknown_and_certainly_not_found() -> None:
    async with slack_world() as world:
        where = await world.ask()
        world.slack.fault("drop_request", method="chat.postMessage")

        with pytest.raises(SendUnknownError):
            await world.channel.send(where, world.part("lost"), "row1:0")

        assert await world.channel.find_sent(where, "row1:0", 0) is None


async def test_slow_answer_is_unknown_after_the_channels_own_time_out() -> None:
    async with slack_world(call_s=0.5) as world:
        where = await world.ask()
        world.slack.fault("slow_response", method="chat.postMessage", delay_s=1.0)

        with pytest.raises(SendUnknownError):
            await world.channel.send(where, world.part("late"), "row1:0")

        assert await world.channel.find_sent(where, "row1:0", 0) is not None


async def test_rate_limit_is_passed_on_with_its_wait_and_not_retried() -> None:
    async with slack_world() as world:
        where = await world.ask()
        world.slack.fault("rate_limited", method="chat.postMessage", retry_after_s=7)

        with pytest.raises(SendRateLimitedError) as raised:
            await world.channel.send(where, world.part("wait"), "row1:0")

        assert raised.value.retry_after_s == 7
        assert world.slack.api.calls["chat.postMessage"] == 1
        assert world.slack.bot_posts() == []


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("invalid_blocks", FormatRefusedError),
        ("msg_too_long", FormatRefusedError),
        ("msg_blocks_too_long", FormatRefusedError),
        ("channel_not_found", SendRefusedError),
        ("is_archived", SendRefusedError),
        ("a_code_of_tomorrow", SendRefusedError),
        ("internal_error", SendUnknownError),
        ("fatal_error", SendUnknownError),
        ("token_revoked", ChannelDownError),
    ],
)
async def test_refusal_codes_are_told_apart(code: str, error: type[Exception]) -> None:
    async with slack_world() as world:
        where = await world.ask()
        world.slack.fault("error", method="chat.postMessage", error=code)

        with pytest.raises(error):
            await world.channel.send(where, world.part("text"), "row1:0")


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_server_error_leaves_a_post_unknown(status: int) -> None:
    async with slack_world() as world:
        where = await world.ask()
        world.slack.fault("server_error", method="chat.postMessage", status=status)

        with pytest.raises(SendUnknownError):
            await world.channel.send(where, world.part("text"), "row1:0")


async def test_unreachable_slack_certainly_sent_nothing() -> None:
    async with RehearsalSlack() as slack:
        channel = make_channel(slack, api_url="http://127.0.0.1:9/api/")
        with pytest.raises(ChannelDownError):
            await channel.send(place("1700000000.000100"), Part({}, "text"), "row1:0")
        await channel.stop()


async def test_plain_part_is_escaped_text_without_blocks() -> None:
    async with slack_world() as world:
        where = await world.ask()

        await world.channel.send(where, Part({}, "a < b & <!here>"), "row1:0")

        (post,) = world.slack.bot_posts()
        assert post.text == "a &lt; b &amp; &lt;!here&gt;"
        assert post.blocks == []
        assert post.arguments["mrkdwn"] is False


async def test_edit_replaces_text_and_keeps_the_key() -> None:
    async with slack_world() as world:
        where = await world.ask()
        ts = await world.channel.send(where, world.part("working"), "row1:0")

        await world.channel.edit(where, ts, world.part("**done**"))
        await world.channel.edit(where, ts, Part({}, "plain"))

        (post,) = world.slack.bot_posts()
        assert (post.text, post.blocks) == ("plain", [])
        assert [edit["text"] for edit in post.edits] == ["working", "*done*"]
        assert await world.channel.find_sent(where, "row1:0", 0) == ts


async def test_edit_of_a_message_that_is_gone_is_refused() -> None:
    async with slack_world() as world:
        where = await world.ask()

        with pytest.raises(SendRefusedError, match="gone"):
            await world.channel.edit(where, "1700000000.000100", world.part("text"))


async def test_working_mark_can_be_put_and_taken_away_twice() -> None:
    async with slack_world() as world:
        where = await world.ask()
        root = where.thread.thread

        await world.channel.react(where, root, is_on=True)
        await world.channel.react(where, root, is_on=True)
        assert marks(world, root) == {"eyes": ["UBOT"]}
        await world.channel.react(where, root, is_on=False)
        await world.channel.react(where, root, is_on=False)

        assert marks(world, root) == {}


def marks(world: SlackWorld, ts: str) -> dict[str, list[str]]:
    post = world.slack.workspace.find_post("C0GENERAL", ts)
    assert post is not None
    return post.reactions
