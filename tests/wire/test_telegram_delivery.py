"""Posts through the real Bot client: entities, limits, refusals, lost answers, waits per chat."""

from __future__ import annotations

import pytest
from fakes.telegram_world import TelegramWorld, make_channel, place, telegram_world

from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import CLUB, FORUM, TOPIC_WORK
from channels.text import utf16_length
from geode.errors import (
    ChannelDownError,
    ChannelError,
    FormatRefusedError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnfindableError,
    SendUnknownError,
)
from geode.messages import OutboundBody, Part
from geode.ports import SystemClock
from geode.reply.sending import Sent, send_part

TG_01 = "Sure! Step 1 - done. (ok) ![alt](http://x.test/a_b.png) a_b_c"


class TurnedClock(SystemClock):
    """Real time and as much more as the test adds."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


async def test_post_has_entities_no_parse_mode_and_no_preview() -> None:
    async with telegram_world() as world:
        await world.channel.send(place(), world.part("😀 **bold** `code` @ana_smith"), "k")

        (post,) = world.telegram.bot_posts(FORUM, TOPIC_WORK)
        assert post.text == "😀 bold code @\u2060ana_smith"
        assert post.entities == [
            {"type": "bold", "offset": 3, "length": 4},
            {"type": "code", "offset": 8, "length": 4},
        ]
        assert post.arguments["link_preview_options"] == {"is_disabled": True}
        assert "parse_mode" not in post.arguments


async def test_refused_formatting_is_sent_once_more_as_its_source_tg_01() -> None:
    async with telegram_world() as world:
        first, second = world.channel.plan(OutboundBody(f"{'a' * 4000}\n\n{TG_01}" + " b" * 100))
        refusal = "Bad Request: can't parse entities: unexpected end"
        world.telegram.fault("error", method="sendMessage", error=refusal, contains="Step 1")

        for part in (first, second):
            outcome = await send_part(world.channel, place(), part, edits="", key="k")
            assert isinstance(outcome, Sent)

        posts = world.telegram.bot_posts()
        assert [post.text for post in posts] == ["a" * 4000, TG_01 + " b" * 100]
        assert "entities" not in posts[1].arguments
        assert "parse_mode" not in posts[1].arguments
        assert world.telegram.api.calls["sendMessage"] == 3


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("!" * 4096, id="4096 marks"),
        pytest.param("😀" * 5000, id="5000 emoji"),
        pytest.param("a" * 4095 + "😀", id="4095 letters and an emoji"),
        pytest.param("😀" * 2045 + " " + "😀" * 500, id="space just before the limit"),
    ],
)
async def test_long_text_arrives_whole_within_utf16_units_tg_02(source: str) -> None:
    async with telegram_world() as world:
        parts = world.channel.plan(OutboundBody(source))
        for number, part in enumerate(parts):
            await world.channel.send(place(), part, f"row:{number}")

        texts = [post.text for post in world.telegram.bot_posts()]
        assert "".join(texts).replace(" ", "") == source.replace(" ", "")
        assert all(utf16_length(text) <= 4096 for text in texts)
        assert all(text.encode() for text in texts)
        assert world.telegram.counters()["refused"] == {}


async def test_deleted_topic_is_reported_and_nobody_is_written_to_instead_tg_04() -> None:
    async with telegram_world() as world:
        del world.telegram.town.chats[FORUM].topics[TOPIC_WORK]

        with pytest.raises(SendRefusedError, match="The topic is gone"):
            await world.channel.send(place(), world.part("text"), "k")

        assert all(not world.telegram.bot_posts(chat) for chat in world.telegram.town.chats)


async def test_wait_of_one_chat_is_kept_and_delays_no_other_tg_06() -> None:
    clock = TurnedClock()
    async with telegram_world(clock=clock) as world:
        sent = await world.channel.send(place(), world.part("working"), "k")
        limit_chat(world, "editMessageText", 33)
        with pytest.raises(SendRateLimitedError) as raised:
            await world.channel.edit(place(), sent, world.part("one"))
        assert raised.value.retry_after_s == 33
        calls = world.telegram.api.calls.total()

        for what in ("edit", "send", "react"):
            with pytest.raises(SendRateLimitedError):
                await attempt(world, what, sent)
        assert await world.channel.send(place("", CLUB), world.part("other chat"), "k")

        assert world.telegram.api.calls["editMessageText"] == 1
        assert world.telegram.api.calls["setMessageReaction"] == 0
        assert world.telegram.api.calls["sendMessage"] == 2
        assert world.telegram.api.calls.total() >= calls

        clock.ahead_s = 34
        limit_chat(world, "sendMessage", 35)
        with pytest.raises(SendRateLimitedError):
            await world.channel.send(place(), world.part("final"), "k")
        clock.ahead_s = 70
        await world.channel.send(place(), world.part("final"), "k")

        assert [p.text for p in world.telegram.bot_posts(FORUM)] == ["working", "final"]


def limit_chat(world: TelegramWorld, method: str, seconds: int) -> None:
    world.telegram.fault("rate_limited", method=method, retry_after_s=seconds, place=str(FORUM))


async def attempt(world: TelegramWorld, what: str, sent: str) -> None:
    match what:
        case "edit":
            await world.channel.edit(place(), sent, world.part("two"))
        case "send":
            await world.channel.send(place(), world.part("three"), "k")
        case _:
            await world.channel.react(place(), sent, is_on=True)


@pytest.mark.parametrize(("kind", "copies"), [("drop_response", 1), ("drop_request", 0)])
async def test_lost_answer_of_a_post_is_unknown_and_cannot_be_looked_for(
    kind: str, copies: int
) -> None:
    async with telegram_world() as world:
        world.telegram.fault(kind, method="sendMessage")

        with pytest.raises(SendUnknownError):
            await world.channel.send(place(), world.part("once"), "k")

        assert len(world.telegram.bot_posts()) == copies
        assert world.telegram.api.calls["sendMessage"] == 1
        with pytest.raises(SendUnfindableError):
            await world.channel.find_sent(place(), "k", 0)


async def test_slow_answer_is_unknown_after_the_channels_own_time_out() -> None:
    async with telegram_world(call_s=0.5) as world:
        world.telegram.fault("slow_response", method="sendMessage", delay_s=1.0)

        with pytest.raises(SendUnknownError):
            await world.channel.send(place(), world.part("late"), "k")


@pytest.mark.parametrize(
    ("description", "error"),
    [
        ("Bad Request: can't parse entities: x", FormatRefusedError),
        ("Bad Request: message is too long", FormatRefusedError),
        ("Bad Request: chat not found", SendRefusedError),
        ("Bad Request: TOPIC_CLOSED", SendRefusedError),
        ("Bad Request: words of tomorrow", SendRefusedError),
        ("Forbidden: bot was blocked by the user", SendRefusedError),
        ("Internal Server Error", SendUnknownError),
        ("Unauthorized", ChannelDownError),
        ("Too Many Requests: no number", SendRateLimitedError),
    ],
)
async def test_refusals_are_told_apart(description: str, error: type[Exception]) -> None:
    async with telegram_world() as world:
        world.telegram.fault("error", method="sendMessage", error=description)

        with pytest.raises(error) as raised:
            await world.channel.send(place(), world.part("text"), "k")

        assert isinstance(raised.value, ChannelError)
        assert world.telegram.bot_token not in str(raised.value)


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_server_error_leaves_a_post_unknown(status: int) -> None:
    async with telegram_world() as world:
        world.telegram.fault("server_error", method="sendMessage", status=status)

        with pytest.raises(SendUnknownError):
            await world.channel.send(place(), world.part("text"), "k")


async def test_unreachable_telegram_certainly_sent_nothing() -> None:
    async with RehearsalTelegram() as telegram:
        channel = make_channel(telegram, api_url="http://127.0.0.1:9")
        with pytest.raises(ChannelDownError):
            await channel.send(place(), Part({}, "text"), "k")
        await channel.stop()


async def test_edit_is_repeatable_and_a_message_that_is_gone_is_refused() -> None:
    async with telegram_world() as world:
        sent = await world.channel.send(place(), world.part("working"), "k")

        await world.channel.edit(place(), sent, world.part("**done**"))
        await world.channel.edit(place(), sent, world.part("**done**"))

        (post,) = world.telegram.bot_posts()
        assert (post.text, post.edits) == ("done", ["working"])
        assert world.telegram.api.calls["editMessageText"] == 2
        with pytest.raises(SendRefusedError, match="gone"):
            await world.channel.edit(place(), "4711", world.part("text"))


async def test_plain_part_pings_nobody_and_fits() -> None:
    async with telegram_world() as world:
        await world.channel.send(place(), Part({}, "ask @ana_smith at a@b.test"), "k")
        await world.channel.send(place(), Part({}, "@ana_smith " * 400), "k")

        first, second = world.telegram.bot_posts()
        assert first.text == "ask @\u2060ana_smith at a@b.test"
        assert utf16_length(second.text) <= 4096
        assert "@ana" not in second.text


async def test_working_mark_can_be_put_and_taken_away_twice() -> None:
    async with telegram_world() as world:
        post = world.telegram.say("hi", topic=TOPIC_WORK)
        bot = world.telegram.town.bot.id
        for is_on, shown in ((True, ["👀"]), (True, ["👀"]), (False, []), (False, [])):
            await world.channel.react(place(), str(post.message_id), is_on=is_on)
            assert post.reactions[bot] == shown


async def test_bot_reads_no_history() -> None:
    async with telegram_world() as world:
        world.telegram.say("before", topic=TOPIC_WORK)

        assert await world.channel.read_earlier(place().thread, "99") == ()
