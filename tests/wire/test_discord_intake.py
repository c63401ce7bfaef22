"""What comes in through the real client: who, where, once, and how far back."""

from fakes.discord_world import HELLO, discord_world, make_channel, running

from channels.rehearsal.discord_state import (
    ANA,
    BOT,
    CATEGORY,
    FORUM,
    GENERAL,
    GUILD,
    OTHER,
)
from geode.messages import JsonObject, Thread
from geode.ports import CatchUpPlan, CatchUpRoot, CatchUpThread


async def test_mention_begins_the_thread_of_its_message() -> None:
    async with discord_world() as world:
        await world.ask()

        (message,) = world.intake.stored
        assert message.thread == Thread("discord", GUILD, GENERAL, message.message_id)
        assert (message.text, message.sender.id, message.sender.name) == ("hello", ANA, "Ana")
        assert message.is_addressed
        assert not message.has_earlier
        assert message.category == CATEGORY


async def test_message_in_a_thread_belongs_to_its_parents_conversation_dc_06() -> None:
    async with discord_world() as world:
        room = await world.discord.open_thread()
        await world.ask("plain", channel=room.id)

        (message,) = world.intake.stored
        assert message.thread == Thread("discord", GUILD, GENERAL, room.id)
        assert (message.is_addressed, message.has_earlier) == (False, True)
        assert message.category == CATEGORY


async def test_parent_that_the_gateway_never_told_of_is_looked_up_dc_06() -> None:
    async with discord_world() as world:
        room = await world.discord.open_thread(is_hidden=True)
        await world.ask(HELLO, channel=room.id)
        await world.ask("again", channel=room.id)

        assert {m.thread for m in world.intake.stored} == {
            Thread("discord", GUILD, GENERAL, room.id)
        }
        assert {m.category for m in world.intake.stored} == {CATEGORY}
        assert world.discord.api.calls["channel.read"] == 1


async def test_first_message_of_a_forum_post_is_one_message_dc_06() -> None:
    async with discord_world() as world:
        post = await world.discord.open_post(HELLO)
        await world.wait_for(lambda: world.intake.stored)

        (message,) = world.intake.stored
        assert message.thread == Thread("discord", GUILD, FORUM, post.id)
        assert message.message_id == post.id
        assert not message.has_earlier
        assert message.category == CATEGORY


async def test_same_message_live_replayed_and_read_back_is_stored_once_dc_03() -> None:
    async with discord_world() as world:
        await world.ask()
        await world.discord.gateway.replay(1)
        await world.wait_for(lambda: len(world.intake.asked) == 2)
        plan = CatchUpPlan((CatchUpRoot(GUILD, GENERAL, "1"),))
        await world.channel.stop()

        again = make_channel(world.discord)
        async with running(again, world.intake):
            await world.wait_for(lambda: again.status().state == "up")
            await again.catch_up(plan, world.intake)
            await world.discord.gateway.replay(3)

        assert len(world.intake.asked) >= 3
        assert len(world.intake.stored) == 1


async def test_empty_text_is_no_message_and_no_exception_dc_02() -> None:
    async with discord_world() as world:
        await world.discord.say("", attachments=[], embeds=[])
        await world.ask()

        assert world.intake.texts == ["hello"]
        assert world.channel.status().state == "up"


async def test_intent_switched_off_at_run_time_is_named_dc_02() -> None:
    async with discord_world() as world:
        world.discord.world.has_content_intent = False
        world.channel._client.application_flags.gateway_message_content_limited = False
        await world.discord.say("nobody reads this")

        await world.wait_state("degraded")
        assert "message content intent" in world.channel.status().reason


async def test_own_words_bots_webhooks_and_notes_are_dropped() -> None:
    async with discord_world() as world:
        bot: JsonObject = {"id": "5", "username": "other", "bot": True}
        await world.discord.say("from a bot", author=bot)
        await world.discord.say("from a webhook", webhook_id="7")
        await world.discord.say("pinned a message", type=6)
        where = await world.ask()
        await world.channel.send(where, world.part("mine"), "row1:0")
        await world.ask("last", channel=OTHER)

        assert world.intake.texts == ["hello", "last"]


async def test_edit_counts_once_and_a_link_preview_never() -> None:
    async with discord_world() as world:
        await world.ask("see https://example.org")
        (post,) = world.discord.world.posts[GENERAL]
        await world.discord.unfurl(post)
        await world.discord.edit(post, "see it")
        await world.discord.unfurl(post)
        await world.ask("end")

        assert [(m.kind, m.text) for m in world.intake.stored] == [
            ("message", "see https://example.org"),
            ("edit", "see it"),
            ("message", "end"),
        ]
        assert world.intake.stored[1].message_id == post.id


async def test_deletion_carries_the_author_that_was_heard() -> None:
    async with discord_world() as world:
        await world.ask()
        (post,) = world.discord.world.posts[GENERAL]
        await world.discord.delete(post)
        await world.wait_for(lambda: len(world.intake.stored) == 2)

        gone = world.intake.stored[1]
        assert (gone.kind, gone.message_id, gone.sender.id) == ("delete", post.id, ANA)


async def test_attachments_and_forwarded_words_are_named() -> None:
    async with discord_world() as world:
        await world.discord.say(
            f"<@{BOT}> look",
            attachments=[{"id": "1", "filename": "plan.pdf"}],
            message_snapshots=[{"message": {"content": "old words"}}],
        )
        await world.wait_for(lambda: world.intake.stored)

        assert world.intake.texts == ["look\n[forwarded] old words"]


async def test_event_that_could_not_be_stored_makes_a_catch_up_due() -> None:
    async with discord_world() as world:
        world.intake.refusals = 1
        await world.discord.say(HELLO)

        await world.wait_for(lambda: world.intake.catch_ups == ["discord", "discord"])
        await world.ask("next")
        assert world.intake.texts == ["next"]


async def test_catch_up_reads_channel_threads_posts_and_direct_messages() -> None:
    async with discord_world() as world:
        first = await world.discord.say("before")
        old = await world.discord.open_thread("old")
        seen = await world.discord.say("seen", channel=old.id)
        direct = await world.discord.say("dm", channel="")
        await world.wait_for(lambda: len(world.intake.stored) == 3)
        for room in (GENERAL, old.id, direct.room):
            await world.discord.say(f"missed in {room}", channel=room, is_heard=False)
        fresh = await world.discord.open_thread("fresh", is_hidden=True)
        await world.discord.say("missed in a new thread", channel=fresh.id, is_heard=False)
        thread = Thread("discord", GUILD, GENERAL, old.id)
        plan = CatchUpPlan(
            (CatchUpRoot(GUILD, GENERAL, first.id), CatchUpRoot("dm", direct.room, direct.id)),
            (CatchUpThread(thread, seen.id),),
        )

        await world.channel.catch_up(plan, world.intake)

        missed = {m.text: m for m in world.intake.stored[3:]}
        assert set(missed) == {
            f"missed in {GENERAL}",
            f"missed in {old.id}",
            f"missed in {direct.room}",
            "missed in a new thread",
        }
        assert all(m.is_catch_up for m in missed.values())
        assert missed["missed in a new thread"].thread.thread == fresh.id
        confirmed = {place.thread or place.channel for place, _ in world.intake.confirmed}
        assert confirmed == {GENERAL, old.id, direct.room}
        last = {place.channel: message for place, message in world.intake.confirmed}
        assert last[direct.room] == missed[f"missed in {direct.room}"].message_id


async def test_catch_up_of_a_category_reads_its_channels() -> None:
    async with discord_world() as world:
        begin = world.channel._context.clock.now_us()
        await world.discord.say("in the category", is_heard=False)
        await world.discord.say("outside", channel=OTHER, is_heard=False)

        plan = CatchUpPlan((CatchUpRoot(GUILD, CATEGORY, "", begin - 1_000_000),))
        await world.channel.catch_up(plan, world.intake)

        assert world.intake.texts == ["in the category"]


async def test_catch_up_reads_more_than_a_page_in_order() -> None:
    async with discord_world() as world:
        first = await world.discord.say("0")
        for number in range(1, 251):
            await world.discord.say(str(number), is_heard=False)

        plan = CatchUpPlan((CatchUpRoot(GUILD, GENERAL, first.id),))
        await world.channel.catch_up(plan, world.intake)

        read = [m.text for m in world.intake.stored if m.is_catch_up]
        assert read == [str(number) for number in range(1, 251)]


async def test_place_that_may_not_be_seen_is_left_out() -> None:
    async with discord_world() as world:
        first = await world.discord.say("seen", channel=OTHER)
        await world.discord.say("missed", channel=OTHER, is_heard=False)
        world.discord.world.rooms[GENERAL].refusal = 50001

        roots = (CatchUpRoot(GUILD, GENERAL, "1"), CatchUpRoot(GUILD, OTHER, first.id))
        await world.channel.catch_up(CatchUpPlan(roots), world.intake)

        assert world.intake.texts[-1] == "missed"


async def test_earlier_messages_of_a_thread_are_quoted_with_its_first_message() -> None:
    async with discord_world() as world:
        where = await world.ask("the root")
        await world.channel.send(where, world.part("mine"), "row1:0")
        for number in range(60):
            await world.discord.say(f"word {number}", channel=where.thread.thread)
        asked = await world.discord.say(HELLO, channel=where.thread.thread)

        quotes = await world.channel.read_earlier(where.thread, asked.id)
        assert [quote.text for quote in quotes] == [f"word {n}" for n in range(10, 60)]

        some = [m for m in world.discord.world.posts[where.thread.thread] if m.text == "word 2"]
        quotes = await world.channel.read_earlier(where.thread, some[0].id)
        assert [quote.text for quote in quotes] == ["the root", "word 0", "word 1"]
        assert quotes[0].sender.id == ANA


async def test_thread_that_was_not_open_yet_is_found_once_it_is() -> None:
    async with discord_world() as world:
        where = await world.ask()
        plan = CatchUpPlan(threads=(CatchUpThread(where.thread, where.thread.thread),))
        await world.channel.catch_up(plan, world.intake)
        room = await world.discord.open_thread(is_hidden=True, message=where.thread.thread)

        await world.ask("inside", channel=room.id)

        assert world.intake.stored[-1].thread == where.thread
