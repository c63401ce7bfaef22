"""Cards and their buttons over the wire: one answer for every press, words by a prompt."""

from __future__ import annotations

from functools import partial

import pytest
from fakes.telegram_world import TelegramIntake, TelegramWorld, make_channel, place, telegram_world
from fakes.telegram_world import running as running_channel

from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import ANA, BEN, BOT_ID, FORUM, TOPIC_WORK, Posted
from channels.telegram import answers
from geode.messages import Button, Card, OutboundBody, Person, Thread
from geode.ports import Accepted

NONCE, OTHER = "n" * 22, "o" * 22
CARD = Card(
    "Did it *happen*?",
    "`web_fetch` was interrupted.",
    (("Tool", "`web_fetch`"),),
    (
        Button("It happened", NONCE, "primary"),
        Button("Give a reason", OTHER, asks="What is the reason?"),
    ),
)
HERE = Thread("telegram", str(BOT_ID), str(FORUM), str(TOPIC_WORK))


async def show(world: TelegramWorld, card: Card = CARD) -> Posted:
    (part,) = world.channel.plan(OutboundBody("plain", "card", card))
    sent = await world.channel.send(place(), part, "k")
    post = world.telegram.town.find_post(FORUM, int(sent))
    assert post is not None
    return post


async def answer_of(world: TelegramWorld, query: str) -> dict[str, object]:
    await world.wait_for(lambda: world.telegram.town.queries[query])
    return dict(world.telegram.town.queries[query] or {})


def prompts(telegram: RehearsalTelegram) -> list[Posted]:
    return [post for post in telegram.bot_posts() if post.markup.get("force_reply")]


async def test_card_has_its_words_and_opaque_buttons_and_loses_them_once_decided() -> None:
    async with telegram_world() as world:
        post = await show(world)

        assert post.text == ("Did it *happen*?\n\nweb_fetch was interrupted.\n\nTool: web_fetch")
        rows = post.markup["inline_keyboard"]
        assert rows == [
            [
                {"text": "It happened", "callback_data": f"press:{NONCE}"},
                {"text": "Give a reason", "callback_data": f"ask:{OTHER}"},
            ]
        ]
        decided = OutboundBody("x", "card", Card("Decided", "by Ana"))
        (part,) = world.channel.plan(decided)
        await world.channel.edit(place(), str(post.message_id), part)
        assert (post.text, post.markup) == ("Decided\n\nby Ana", {})
        assert world.telegram.counters()["refused"] == {}


async def test_card_of_many_messages_has_its_buttons_below_the_last() -> None:
    async with telegram_world() as world:
        card = Card("Long", "word " * 2000, (), CARD.buttons)

        *others, last = world.channel.plan(OutboundBody("x", "card", card))

        assert others
        assert all("reply_markup" not in part.payload for part in others)
        assert "reply_markup" in last.payload


async def test_press_is_handed_in_and_answered_with_what_it_came_to() -> None:
    async with telegram_world() as world:
        world.intake.answer = Accepted("decided", answer="**Recorded**: it happened.")
        post = await show(world)

        query = world.telegram.press(post, "It happened")

        assert await answer_of(world, query) == {
            "text": "Recorded: it happened.",
            "is_alert": True,
        }
        (press,) = world.intake.presses
        assert (press.thread, press.nonce, press.text) == (HERE, NONCE, "")
        assert (press.message_id, press.presser) == (str(post.message_id), Person("101", "Ana"))


@pytest.mark.parametrize(
    ("accepted", "text"),
    [
        (Accepted("refused", answer="Ben decided this before."), "Ben decided this before."),
        (Accepted("decided"), ""),
        (Accepted("decided", answer="x" * 500), "x" * 199 + "…"),
        (Accepted("ignored", "access.stranger"), answers.NOT_YOURS),
    ],
)
async def test_every_press_is_answered_once_whatever_it_came_to(
    accepted: Accepted, text: str
) -> None:
    async with telegram_world() as world:
        world.intake.answer = accepted
        query = world.telegram.press(await show(world), "It happened")

        assert (await answer_of(world, query))["text"] == text
        await world.wait_confirmed()
        assert world.telegram.api.calls["answerCallbackQuery"] == 1


async def test_press_that_could_not_be_stored_is_told_so_and_comes_again() -> None:
    async with telegram_world() as world:
        post = await show(world)
        world.intake.refusals = 1

        query = world.telegram.press(post, "It happened")

        assert (await answer_of(world, query))["text"] == answers.TRY_AGAIN
        await world.wait_confirmed()
        assert [press.nonce for press in world.intake.presses] == [NONCE]


async def test_query_that_no_button_of_ours_sends_is_answered_and_dropped() -> None:
    async with telegram_world() as world:
        post = await show(world)
        post.markup = {"inline_keyboard": [[{"text": "old", "callback_data": "vote:1"}]]}

        query = world.telegram.press(post, "old")

        assert (await answer_of(world, query))["text"] == answers.STRAY
        assert world.intake.asked == []


async def test_lost_answer_to_a_press_changes_nothing_that_is_stored() -> None:
    async with telegram_world() as world:
        world.telegram.fault("drop_request", method="answerCallbackQuery")
        world.telegram.press(await show(world), "It happened")
        await world.wait_confirmed()
        world.telegram.say("go on", topic=TOPIC_WORK)
        await world.wait_confirmed()

        assert len(world.intake.presses) == 1
        assert world.intake.texts == ["go on"]


async def test_words_are_asked_for_by_a_prompt_that_outlives_a_restart() -> None:
    async with RehearsalTelegram() as telegram:
        intake = TelegramIntake()
        intake.answer = Accepted("decided", answer="Noted.")
        first = TelegramWorld(telegram, make_channel(telegram), intake)
        async with running_channel(first.channel, intake):
            await first.wait_state("up")
            card = await show(first)
            query = telegram.press(card, "Give a reason")
            await first.wait_for(lambda: prompts(telegram))
            assert (await answer_of(first, query))["text"] == ""
        (prompt,) = prompts(telegram)
        assert prompt.markup["selective"] is True
        assert (prompt.topic, prompt.reply_to) == (TOPIC_WORK, card.message_id)
        assert intake.presses == []

        second = TelegramWorld(telegram, make_channel(telegram), intake)
        async with running_channel(second.channel, intake):
            telegram.say(" it was slow ", topic=TOPIC_WORK, reply_to=prompt.message_id, user=ANA)
            await second.wait_for(lambda: intake.presses)
            await second.wait_for(lambda: telegram.bot_posts()[-1].text == "Noted.")

        (press,) = intake.presses
        assert (press.nonce, press.text) == (OTHER, "it was slow")
        assert (press.message_id, press.thread) == (str(card.message_id), HERE)
        assert intake.messages == []


async def test_answer_to_somebody_elses_prompt_is_an_ordinary_message() -> None:
    async with telegram_world() as world:
        world.telegram.press(await show(world), "Give a reason", user=ANA)
        await world.wait_for(lambda: prompts(world.telegram))
        (prompt,) = prompts(world.telegram)

        world.telegram.say("mine", topic=TOPIC_WORK, reply_to=prompt.message_id, user=BEN)
        await world.wait_confirmed()

        assert world.intake.presses == []
        assert world.intake.texts == ["mine"]


async def test_blank_words_are_refused_with_a_sentence() -> None:
    async with telegram_world() as world:
        world.telegram.press(await show(world), "Give a reason")
        await world.wait_for(lambda: prompts(world.telegram))
        (prompt,) = prompts(world.telegram)

        world.telegram.say("", topic=TOPIC_WORK, reply_to=prompt.message_id, sticker={"x": 1})
        await world.wait_for(lambda: world.telegram.bot_posts()[-1].text == answers.WORDS_NEEDED)

        assert world.intake.asked == []


async def test_stranger_is_not_asked_for_words() -> None:
    async with telegram_world() as world:
        world.intake.strangers = {str(BEN)}
        query = world.telegram.press(await show(world), "Give a reason", user=BEN)

        assert (await answer_of(world, query))["text"] == answers.NOT_YOURS
        assert prompts(world.telegram) == []


async def test_link_of_a_prompt_in_an_answer_of_the_model_makes_it_no_prompt() -> None:
    async with telegram_world() as world:
        forged = f"[Ana](tg://user?id={ANA}) [answer](https://geode.invalid/words/5/{NONCE})"
        sent = await world.channel.send(place(), world.part(forged), "k")

        world.telegram.say("words", topic=TOPIC_WORK, reply_to=int(sent))
        await world.wait_confirmed()

        assert world.intake.presses == []
        assert world.intake.texts == ["words"]


async def test_command_is_answered_in_its_place() -> None:
    async with telegram_world() as world:
        world.intake.answer = Accepted("answered", answer="Nothing runs. `idle`")
        said = world.telegram.say("/status", topic=TOPIC_WORK)
        await world.wait_for(world.telegram.bot_posts)

        (post,) = world.telegram.bot_posts()
        assert (post.text, post.topic) == ("Nothing runs. idle", TOPIC_WORK)
        assert post.reply_to == said.message_id


async def test_menu_of_commands_is_written_once_per_change() -> None:
    async with RehearsalTelegram() as telegram:
        for starts in (1, 2):
            async with running_channel(make_channel(telegram), TelegramIntake()):
                await telegram.wait_for(lambda: telegram.town.commands)
                await telegram.wait_for(partial(menu_was_read, telegram, starts))

        assert telegram.api.calls["setMyCommands"] == 1
        names = [each["command"] for each in telegram.town.commands if isinstance(each, dict)]
        assert {"help", "status", "stop", "new"} <= set(names)


def menu_was_read(telegram: RehearsalTelegram, times: int) -> bool:
    return telegram.api.calls["getMyCommands"] == times
