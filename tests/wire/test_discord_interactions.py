"""Buttons, forms and slash commands through the real client: once, in time, and in private."""

import asyncio

import pytest
from fakes.discord_cards import CARD, NO, WHY, YES, MovedClock, post_card
from fakes.discord_world import DiscordWorld, discord_world

from channels.rehearsal.discord_interactions import Asked
from channels.rehearsal.discord_state import ANA, BEN, CATEGORY, GENERAL, GUILD
from geode.messages import COMMANDS, Card, OutboundBody, Place, Thread
from geode.ports import Accepted

PRESS_YES, PRESS_NO, ASK_WHY = f"press:{YES}", f"press:{NO}", f"ask:{WHY}:Why not?"


async def told(world: DiscordWorld, asked: Asked) -> list[str]:
    await world.wait_for(lambda: asked.texts)
    return asked.texts


def public(world: DiscordWorld, where: Place) -> list[str]:
    return [post.text for post in world.discord.bot_posts(where.thread.thread)]


async def test_card_is_words_and_one_row_of_buttons() -> None:
    async with discord_world() as world:
        _, post = await post_card(world)

        assert post.text == (
            "**Run \\*this\\*?**\n\nIt writes `a.txt`.\n\n**Tool:** write_file\n**By:** \\<@1>"
        )
        (row,) = post.shown["components"]
        assert [
            (button["label"], button["custom_id"], button["style"]) for button in row["components"]
        ] == [
            ("Allow", PRESS_YES, 1),
            ("Deny", PRESS_NO, 4),
            ("Deny because", ASK_WHY, 2),
        ]


async def test_long_card_has_its_buttons_under_the_last_part() -> None:
    async with discord_world() as world:
        where, last = await post_card(world, Card("Plan", "word " * 900, (), CARD.buttons))

        posts = world.discord.bot_posts(where.thread.thread)
        assert all(len(post.text) <= 2000 for post in posts)
        assert [bool(post.shown) for post in posts] == [False] * (len(posts) - 1) + [True]
        assert len(posts) > 2
        assert last is posts[-1]


async def test_edit_to_a_decided_card_takes_the_buttons_away() -> None:
    async with discord_world() as world:
        where, post = await post_card(world)

        decided = Card("Run *this*?", "Allowed by Ana.")
        (part,) = world.channel.plan(OutboundBody("", "card", decided))
        await world.channel.edit(where, post.id, part)

        assert post.shown["components"] == []


async def test_press_reaches_the_core_once_and_is_answered_in_private_dc_05() -> None:
    async with discord_world() as world:
        where, post = await post_card(world)
        world.discord.world.people[ANA].nick = "Annie"

        asked = await world.discord.press(post, PRESS_YES)

        assert await told(world, asked) == ["Done so."]
        (press,) = world.intake.presses
        assert (press.thread, press.nonce, press.message_id) == (where.thread, YES, post.id)
        assert (press.presser.id, press.presser.name, press.text) == (ANA, "Annie", "")
        assert (press.category, press.is_direct) == (CATEGORY, False)
        assert asked.whispers[0]["flags"] == 64 | 4
        assert len(public(world, where)) == 1


async def test_deferral_leaves_before_any_work_dc_05() -> None:
    async with discord_world() as world:
        _, post = await post_card(world)
        world.intake.open.clear()

        asked = await world.discord.press(post, PRESS_YES)
        await world.wait_for(lambda: asked.answered)

        assert asked.answered == 6
        assert world.intake.presses == []
        world.intake.open.set()
        assert await told(world, asked) == ["Done so."]


async def test_refused_deferral_still_applies_and_is_answered_in_the_thread_dc_05() -> None:
    async with discord_world() as world:
        where, post = await post_card(world)
        world.discord.book.are_deaf = True

        await world.discord.press(post, PRESS_YES)
        await world.wait_for(lambda: len(public(world, where)) == 2)

        assert len(world.intake.presses) == 1
        assert public(world, where)[-1] == "Done so."
        assert world.discord.api.refused == {"10062": 1}
        assert world.discord.api.calls["followup.create"] == 0


@pytest.mark.parametrize("verb", ["", "status"])
async def test_answer_after_sixteen_minutes_is_a_plain_message_dc_05(verb: str) -> None:
    clock = MovedClock()
    async with discord_world(clock=clock) as world:
        where, post = await post_card(world)
        world.intake.open.clear()
        if verb:
            asked = await world.discord.command(verb, channel=where.thread.thread)
        else:
            asked = await world.discord.press(post, PRESS_YES)
        await world.wait_for(lambda: asked.answered and world.intake.asked)
        clock.ahead_s = 16 * 60
        world.intake.open.set()
        await world.wait_for(lambda: len(public(world, where)) == 2)

        assert public(world, where)[-1] == "Done so."
        assert asked.texts == []
        calls = world.discord.api.calls
        assert calls["followup.create"] + calls["followup.edit"] == 0


async def test_token_that_died_early_is_answered_in_the_thread_dc_05() -> None:
    async with discord_world() as world:
        where, post = await post_card(world)
        world.intake.open.clear()
        asked = await world.discord.press(post, PRESS_YES)
        await world.wait_for(lambda: asked.answered)
        asked.is_over = True
        world.intake.open.set()

        await world.wait_for(lambda: len(public(world, where)) == 2)
        assert world.discord.api.refused == {"50027": 1}
        assert world.channel.status().state == "up"


async def test_interaction_that_comes_again_is_acknowledged_once() -> None:
    async with discord_world() as world:
        _, post = await post_card(world)
        asked = await world.discord.press(post, PRESS_YES)
        await told(world, asked)

        await world.discord.gateway.replay(1)
        again = await world.discord.press(post, PRESS_NO)
        await told(world, again)

        assert world.discord.api.calls["interaction"] == 2
        assert world.discord.api.refused == {}
        assert len(world.intake.presses) == 2


async def test_lost_answer_of_the_deferral_loses_no_press() -> None:
    async with discord_world(call_s=2.0) as world:
        _, post = await post_card(world)
        world.discord.fault("drop_response", method="interaction")

        asked = await world.discord.press(post, PRESS_YES)

        assert await told(world, asked) == ["Done so."]
        assert len(world.intake.presses) == 1
        assert set(world.discord.api.refused) <= {"40060"}


async def test_press_that_could_not_be_stored_may_be_pressed_again() -> None:
    async with discord_world() as world:
        _, post = await post_card(world)
        world.intake.refusals = 1

        first = await world.discord.press(post, PRESS_YES)
        assert "try again" in (await told(world, first))[0]
        second = await world.discord.press(post, PRESS_YES)

        assert await told(world, second) == ["Done so."]
        assert len(world.intake.presses) == 1


async def test_button_that_asks_opens_a_form_whose_words_are_the_press() -> None:
    async with discord_world() as world:
        where, post = await post_card(world)

        opened = await world.discord.press(post, ASK_WHY)
        await world.wait_for(lambda: opened.form)
        assert world.intake.presses == []
        assert (opened.form["title"], opened.form["custom_id"]) == ("Deny because", f"ask:{WHY}")
        assert opened.form["components"][0]["label"] == "Why not?"
        sent = await world.discord.submit(opened, "  too risky ")

        assert await told(world, sent) == ["Done so."]
        (press,) = world.intake.presses
        assert (press.nonce, press.text, press.thread) == (WHY, "too risky", where.thread)
        assert press.message_id == post.id


async def test_button_that_asks_opens_no_form_for_somebody_who_may_not_decide_here() -> None:
    async with discord_world() as world:
        _, post = await post_card(world)
        world.intake.strangers.add(BEN)
        world.intake.reply = Accepted("ignored", "access.stranger")

        asked = await world.discord.press(post, ASK_WHY, user=BEN)

        assert await told(world, asked) == ["You cannot use this here."]
        assert asked.form == {}
        assert asked.answered == 6


async def test_button_of_somebody_else_is_no_press() -> None:
    async with discord_world() as world:
        _, post = await post_card(world)
        post.shown["components"][0]["components"][0]["custom_id"] = "other:1"

        await world.discord.press(post, "other:1")
        await told(world, await world.discord.press(post, PRESS_NO))

        assert [press.nonce for press in world.intake.presses] == [NO]


async def test_slow_interactions_do_not_hold_another_one_up() -> None:
    async with discord_world() as world:
        _, post = await post_card(world)
        world.intake.open.clear()
        pressed = [await world.discord.press(post, PRESS_YES, user=u) for u in (ANA, BEN)]

        await world.wait_for(lambda: all(asked.answered for asked in pressed))
        world.intake.open.set()
        await asyncio.gather(*(told(world, asked) for asked in pressed))


async def test_slash_command_is_answered_to_the_caller_alone() -> None:
    async with discord_world() as world:
        where = await world.ask()
        await world.channel.send(where, world.part("hi"), "row1:0")
        world.intake.reply = Accepted("answered", answer="All **quiet**.")

        asked = await world.discord.command("status", "now", channel=where.thread.thread)

        assert await told(world, asked) == ["All **quiet**."]
        assert asked.answered == 5
        assert len(asked.whispers) == 1
        assert asked.whispers[0]["flags"] & 64
        (command,) = world.intake.commands
        assert (command.verb, command.argument, command.is_private) == ("status", "now", True)
        assert command.thread == where.thread
        assert public(world, where) == ["hi"]


async def test_slash_command_in_a_channel_names_no_thread_and_in_private_the_conversation() -> None:
    async with discord_world() as world:
        await told(world, await world.discord.command("help"))
        await told(world, await world.discord.command("help", channel=""))

        first, second = world.intake.commands
        assert first.thread == Thread("discord", GUILD, GENERAL, "")
        room = world.discord.world.direct_room(ANA)
        assert second.thread == Thread("discord", "dm", room.id, "")
        assert second.is_direct


async def test_long_answer_of_a_command_comes_in_parts_of_its_own() -> None:
    async with discord_world() as world:
        world.intake.reply = Accepted("answered", answer="word " * 900)

        asked = await world.discord.command("usage")
        await world.wait_for(lambda: len(asked.texts) == 3)

        assert all(whisper["flags"] & 64 for whisper in asked.whispers)


@pytest.mark.parametrize("outcome", ["ignored", "refused"])
async def test_stranger_is_refused_in_private_and_never_in_the_channel(outcome: str) -> None:
    clock = MovedClock()
    async with discord_world(clock=clock) as world:
        world.intake.reply = Accepted(outcome)
        asked = await world.discord.command("status")
        assert await told(world, asked) == ["You cannot use this here."]

        world.discord.book.are_deaf = True
        await world.discord.command("status")
        await world.wait_for(lambda: len(world.intake.commands) == 2)
        world.discord.book.are_deaf = False
        await told(world, await world.discord.command("status"))

        assert world.discord.bot_posts(GENERAL) == []


async def test_commands_are_registered_once_and_again_only_when_they_changed() -> None:
    async with discord_world() as world:
        counters = world.discord.methods.counters
        await world.wait_for(lambda: counters["commands_registered"] == 1)
        assert [command["name"] for command in world.discord.world.commands] == list(COMMANDS)

        lists = world.discord.api.calls["commands.list"]
        await world.discord.gateway.invalidate(is_resumable=False)
        await world.wait_for(
            lambda: world.discord.api.calls["commands.list"] == lists + 1, timeout_s=14
        )
        world.discord.world.commands[0]["description"] = "of an earlier version"
        await world.discord.gateway.invalidate(is_resumable=False)
        await world.wait_for(lambda: counters["commands_registered"] == 2, timeout_s=14)


@pytest.mark.parametrize(
    ("text", "verb", "argument"),
    [
        ("!status", "status", ""),
        ("<@910000000000000002> !stop", "stop", ""),
        ("!why x", "why", "x"),
    ],
)
async def test_command_written_as_a_message_is_answered_below_it(
    text: str, verb: str, argument: str
) -> None:
    async with discord_world() as world:
        world.intake.reply = Accepted("answered", answer="Nothing runs.")

        said = await world.discord.say(text)
        await world.wait_for(lambda: world.discord.bot_posts(GENERAL))

        (command,) = world.intake.commands
        assert (command.verb, command.argument, command.is_private) == (verb, argument, False)
        assert (command.message_id, command.category) == (said.id, CATEGORY)
        assert world.intake.stored == []
        (answer,) = world.discord.bot_posts(GENERAL)
        assert answer.arguments["message_reference"]["message_id"] == said.id
        assert said.id not in world.discord.world.rooms
