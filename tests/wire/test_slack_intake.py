"""Events through the real Bolt client: threads, one acceptance per text, ack after the commit."""

import pytest
from fakes.slack_world import slack_world

from geode.messages import Thread


async def test_reply_belongs_to_its_threads_root_sl_01() -> None:
    async with slack_world() as world:
        root = await world.slack.say("<@UBOT> start")
        reply = await world.slack.say("and now?", thread_ts=root.ts)
        await world.wait_for(lambda: len(world.intake.stored) == 2)

        threads = {message.thread for message in world.intake.stored}
        assert threads == {Thread("slack", "T0REHEARSAL", "C0GENERAL", root.ts)}
        by_id = {message.message_id: message for message in world.intake.stored}
        assert by_id[reply.ts].has_earlier
        assert root.ts.endswith("00")


async def test_answer_to_a_reply_stands_in_the_thread_sl_01() -> None:
    async with slack_world() as world:
        root = await world.slack.say("<@UBOT> start")
        place = await world.ask("and now?", thread_ts=root.ts)

        await world.channel.send(place, world.part("in here"), "k1")

        (post,) = world.slack.bot_posts()
        assert post.thread_ts == root.ts
        assert post.arguments["thread_ts"] == root.ts


@pytest.mark.parametrize("order", ["AB", "BA", "A", "B"])
async def test_mention_is_accepted_once_in_every_order_sl_02(order: str) -> None:
    async with slack_world() as world:
        await world.slack.say("<@UBOT> status?", order=order, gap_s=0.05)  # type: ignore[arg-type]
        await world.slack.say("next message of its own")
        await world.wait_for(lambda: world.socket("acks") == len(order) + 1)

        assert sorted(world.intake.texts) == ["next message of its own", "status?"]


async def test_event_is_not_acknowledged_before_it_is_stored_sl_03() -> None:
    async with slack_world(ack_deadline_s=5) as world:
        world.intake.open.clear()
        await world.slack.say("hold this")
        await world.wait_for(lambda: world.intake.asked)
        assert world.socket("acks") == 0

        world.intake.open.set()

        await world.wait_for(lambda: world.socket("acks") == 1)
        assert world.intake.texts == ["hold this"]


async def test_event_that_could_not_be_stored_comes_again_sl_03() -> None:
    async with slack_world(ack_deadline_s=0.1) as world:
        world.intake.refusals = 2

        await world.slack.say("keep trying")

        await world.wait_for(lambda: world.socket("acks") == 1)
        assert world.intake.texts == ["keep trying"]
        assert world.socket("redeliveries") >= 2


async def test_lost_acknowledgement_leads_to_a_duplicate_not_a_second_message_sl_03() -> None:
    async with slack_world(ack_deadline_s=0.1) as world:
        world.slack.fault("ignore_ack", times=2)

        await world.slack.say("only once")

        await world.wait_for(lambda: world.socket("acks") == 1)
        assert len(world.intake.asked) >= 3
        assert world.intake.texts == ["only once"]


async def test_redelivered_batch_is_accepted_once_sl_03() -> None:
    async with slack_world() as world:
        for word in ("one", "two"):
            await world.slack.say(word)
        await world.wait_for(lambda: world.socket("acks") == 2)

        await world.slack.hub.redeliver(2)

        await world.wait_for(lambda: len(world.intake.asked) == 4)
        assert world.intake.texts == ["one", "two"]


async def test_own_posts_previews_and_changes_reach_nobody_sl_04() -> None:
    async with slack_world() as world:
        place = await world.ask()
        sent = await world.channel.send(place, world.part("see https://x.test/"), "k1")
        await world.slack.unfurl("C0GENERAL", sent)
        await world.channel.edit(place, sent, world.part("changed"))
        await world.wait_for(lambda: world.slack.counters()["unacked"] == 0)

        assert world.intake.texts == ["hello"]
        assert len(world.intake.asked) == 2


async def test_edit_and_deletion_by_a_person_are_handed_in_as_such_sl_04() -> None:
    async with slack_world() as world:
        place = await world.ask()
        root = place.thread.thread
        await world.slack.edit("C0GENERAL", root, "<@UBOT> better words")
        await world.slack.delete("C0GENERAL", root)
        await world.wait_for(lambda: len(world.intake.stored) == 3)

        changes = {message.kind: message for message in world.intake.stored}
        assert changes["edit"].text == "better words"
        assert changes["delete"].message_id == root


async def test_whatever_else_arrives_is_acknowledged_and_handed_to_nobody() -> None:
    async with slack_world() as world:
        await world.slack.send_event({"type": "reaction_added", "user": "U0ANA"})
        await world.slack.send_event({"type": "app_home_opened", "user": "U0ANA"})
        await world.slack.hub.deliver("interactive", {"type": "block_actions", "actions": []})
        await world.slack.hub.deliver("hello_from_the_future", {"type": "novelty"})
        await world.wait_for(lambda: world.slack.counters()["unacked"] == 0)

        assert world.intake.asked == []


async def test_direct_message_is_answered_below_the_reply_it_came_as() -> None:
    async with slack_world() as world:
        first = await world.slack.say("hi", channel="")
        await world.slack.say("threaded", channel="", thread_ts=first.ts)
        await world.wait_for(lambda: len(world.intake.stored) == 2)

        plain, threaded = sorted(world.intake.stored, key=lambda m: m.order_key)
        assert plain.thread == threaded.thread == Thread("slack", "T0REHEARSAL", "D0ANA", "")
        assert (plain.reply_to, threaded.reply_to) == ("", first.ts)
        assert plain.is_direct
