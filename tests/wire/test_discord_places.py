"""Places that refuse: permissions in plain words, archives, locks, and who speaks first."""

import pytest
from fakes.discord_cards import CARD, WHY, YES, post_card, spoken_bodies
from fakes.discord_world import discord_world

from channels.rehearsal.discord_state import ANA, BEN, BOT, GENERAL, Person
from geode.errors import SendRefusedError
from geode.messages import Card, OutboundBody, Part, ProgressStep
from geode.ports import Accepted, CatchUpDirects, CatchUpPlan, CatchUpRoot

WICKED = "@everyone and <@&123> and <@910000000000000011> and @here"


async def test_every_path_forbids_every_mention_dc_04() -> None:

    async with discord_world() as world:
        world.intake.reply = Accepted("answered", answer=f"{WICKED} " * 40)
        where, post = await post_card(
            world, Card(WICKED, WICKED, ((WICKED, WICKED),), CARD.buttons)
        )
        await world.channel.edit(where, post.id, world.part(WICKED))
        await world.channel.edit(where, post.id, Part({}, WICKED))
        await world.channel.send(where, Part({}, WICKED), "row2:0")
        _, post = await post_card(world)
        pressed = await world.discord.press(post, f"press:{YES}")
        slash = await world.discord.command("status", WICKED)
        opened = await world.discord.press(post, f"ask:{WHY}:Why not?")
        await world.wait_for(lambda: opened.form and slash.texts and pressed.texts)
        await world.discord.submit(opened, WICKED)
        await world.discord.say("!status")
        await world.wait_for(lambda: world.discord.bot_posts(GENERAL))
        world.discord.book.are_deaf = True
        await world.discord.press(post, f"press:{YES}")
        await world.wait_for(lambda: len(world.intake.presses) == 3)
        await world.ask("end")

        bodies = spoken_bodies(world)
        assert len(bodies) >= 12
        assert all(body["allowed_mentions"]["parse"] == [] for body in bodies)
        assert world.discord.methods.counters["pinging"] == 0
        assert all("\u200b" not in body.get("content", "") for body in bodies)


async def test_archived_thread_is_opened_again_by_speaking_and_for_an_edit() -> None:
    async with discord_world() as world:
        where = await world.ask()
        sent = await world.channel.send(where, world.part("one"), "row1:0")
        thread = world.discord.world.rooms[where.thread.thread]

        thread.is_archived = True
        await world.channel.edit(where, sent, world.part("two"))
        assert not thread.is_archived
        thread.is_archived = True
        await world.channel.send(where, world.part("three"), "row2:0")

        assert not thread.is_archived
        texts = [post.text for post in world.discord.bot_posts(thread.id)]
        assert texts == ["two", "three"]


async def test_locked_thread_says_what_to_do() -> None:
    async with discord_world() as world:
        where = await world.ask()
        sent = await world.channel.send(where, world.part("one"), "row1:0")
        thread = world.discord.world.rooms[where.thread.thread]
        thread.is_archived = thread.is_locked = True

        with pytest.raises(SendRefusedError, match="unlock it, or give"):
            await world.channel.send(where, world.part("two"), "row2:0")
        with pytest.raises(SendRefusedError, match="unlock it, or give"):
            await world.channel.edit(where, sent, world.part("two"))


@pytest.mark.parametrize(
    ("call", "words"),
    [("message.create", "Send Messages in Threads"), ("thread.create", "Create Public Threads")],
)
async def test_missing_permission_names_what_the_call_needs(call: str, words: str) -> None:
    async with discord_world() as world:
        where = await world.ask()
        rooms = world.discord.world.rooms
        if call == "message.create":
            await world.channel.send(where, world.part("one"), "row1:0")
            rooms[where.thread.thread].denied.add(call)
        else:
            rooms[GENERAL].denied.add(call)

        with pytest.raises(SendRefusedError, match=f"50013.*{words}"):
            await world.channel.send(where, world.part("two"), "row2:0")


async def test_missing_permission_for_the_mark_is_named() -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.world.rooms[GENERAL].denied.add("reaction.add")

        with pytest.raises(SendRefusedError, match="Add Reactions"):
            await world.channel.react(where, where.thread.thread, is_on=True)


async def test_status_is_typing_only_where_something_can_be_said() -> None:
    async with discord_world() as world:
        where = await world.ask()
        await world.channel.set_status(where, "thinking")
        assert world.discord.api.calls["typing"] == 0
        await world.channel.send(where, world.part("one"), "row1:0")

        await world.channel.set_status(where, "thinking")
        await world.channel.set_status(where, "")
        world.discord.fault("error", method="typing", error="50013")
        await world.channel.set_status(where, "thinking")

        assert world.discord.api.calls["typing"] == 2


async def test_progress_lists_its_steps_below_its_line() -> None:
    async with discord_world() as world:
        where = await world.ask()
        steps = (ProgressStep("read_file", "done"), ProgressStep("web_fetch"))
        (part,) = world.channel.plan(OutboundBody("Working on it", "progress", steps=steps))

        await world.channel.send(where, part, "row1:0")

        (post,) = world.discord.bot_posts(where.thread.thread)
        assert post.text == "Working on it\n✓ read\\_file\n… web\\_fetch"


async def test_first_direct_message_of_an_outage_is_read_back_once() -> None:
    async with discord_world() as world:
        begin = world.channel._context.clock.now_us()
        early = await world.discord.say("known", user=BEN, channel="")
        await world.wait_for(lambda: world.intake.texts == ["known"])
        await world.discord.say("first words", user=ANA, channel="", is_heard=False)
        plan = CatchUpPlan(
            (CatchUpRoot("dm", early.room, early.id),),
            (),
            (CatchUpDirects("dm", (ANA, BEN, "910000000000000099"), begin - 1_000_000),),
        )

        await world.channel.catch_up(plan, world.intake)
        await world.channel.catch_up(plan, world.intake)

        assert world.intake.texts == ["known", "first words"]
        (message,) = [m for m in world.intake.stored if m.is_catch_up]
        assert message.thread.channel == world.discord.world.direct_room(ANA).id
        assert (message.thread.workspace, message.is_direct) == ("dm", True)
        assert world.discord.api.calls["direct.open"] == 4
        confirmed = {place.channel for place, _ in world.intake.confirmed}
        assert message.thread.channel in confirmed


async def test_command_that_was_missed_is_read_back_once() -> None:
    async with discord_world() as world:
        first = await world.discord.say("before")
        await world.wait_for(lambda: world.intake.stored)
        await world.discord.say(f"<@{BOT}> !status", is_heard=False)
        guild = world.discord.guild
        plan = CatchUpPlan((CatchUpRoot(guild, GENERAL, first.id),))

        await world.channel.catch_up(plan, world.intake)
        await world.channel.catch_up(plan, world.intake)

        assert [command.verb for command in world.intake.commands] == ["status"]
        assert len(world.discord.bot_posts(GENERAL)) == 1


@pytest.mark.parametrize(
    ("nick", "account", "shown"),
    [("Annie", "ana", "Annie"), ("", "ana", "Ana"), ("", "", "")],
)
async def test_sender_goes_by_the_name_that_others_see(nick: str, account: str, shown: str) -> None:
    async with discord_world() as world:
        world.discord.world.people[ANA] = Person(ANA, account, nick=nick)
        await world.ask()

        assert world.intake.stored[0].sender.name == shown
