"""Updates through the real Bot client: confirmed once stored, in their topic, albums as one."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from fakes.telegram_world import (
    QUICK,
    TelegramIntake,
    make_channel,
    place,
    running,
    telegram_world,
)

from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_core import PHOTO
from channels.rehearsal.telegram_state import (
    ANONYMOUS_ADMIN,
    BASIC,
    BEN,
    BOT_ID,
    CLUB,
    FORUM,
    TOPIC_WORK,
)
from geode.errors import ChannelDownError, SendRefusedError
from geode.messages import Person, Thread


async def test_update_is_confirmed_only_after_it_is_stored() -> None:
    async with telegram_world() as world:
        world.intake.open.clear()
        world.telegram.say("@geode_bot hold this", topic=TOPIC_WORK)
        await world.wait_for(lambda: world.intake.asked)
        assert len(world.telegram.queue.waiting) == 1

        world.intake.open.set()

        await world.wait_confirmed()
        assert world.intake.texts == ["hold this"]


async def test_update_that_could_not_be_stored_comes_again_and_holds_back_the_later_ones() -> None:
    async with telegram_world() as world:
        world.intake.refusals = 3
        for word in ("one", "two", "three"):
            world.telegram.say(word, topic=TOPIC_WORK)

        await world.wait_confirmed()

        assert world.intake.texts == ["one", "two", "three"]
        assert len(world.intake.asked) == 6


async def test_restart_with_unconfirmed_updates_stores_each_once() -> None:
    async with RehearsalTelegram() as telegram:
        intake = TelegramIntake()
        for word in ("one", "two"):
            telegram.say(word, topic=TOPIC_WORK)
        intake.open.clear()
        channel = make_channel(telegram)
        first = asyncio.create_task(channel.start(intake))
        await telegram.wait_for(lambda: intake.asked)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await channel.stop()
        intake.open.set()
        assert len(telegram.queue.waiting) == 2

        async with running(make_channel(telegram), intake):
            await telegram.wait_for(lambda: not telegram.queue.waiting)
        async with running(make_channel(telegram), intake):
            telegram.say("three", topic=TOPIC_WORK)
            await telegram.wait_for(lambda: not telegram.queue.waiting)

        assert intake.texts == ["one", "two", "three"]


async def test_poll_names_the_kinds_it_wants_and_long_polls() -> None:
    async with telegram_world() as world:
        world.telegram.say("hi")
        await world.wait_confirmed()
        await world.wait_for(lambda: world.telegram.queue.confirmed_below == 101)

        polls = [c["arguments"] for c in world.telegram.api.log if c["method"] == "getUpdates"]
        kinds = ["message", "edited_message", "callback_query"]
        assert [poll.pop("offset", 0) for poll in polls[:3]] == [0, 0, 101]
        assert polls[0] == {"timeout": 0, "allowed_updates": kinds}
        assert polls[1] == polls[2] == {"timeout": 1, "allowed_updates": kinds}
        assert world.telegram.counters()["refused"] == {}
        assert world.telegram.queue.polls_ended == 0


async def test_id_that_jumps_forward_is_taken_as_it_comes() -> None:
    async with telegram_world() as world:
        world.telegram.say("before")
        await world.wait_confirmed()
        world.telegram.queue.jump(9_000_000)
        world.telegram.say("after")
        await world.wait_confirmed()

        assert world.intake.texts == ["before", "after"]
        assert world.intake.messages[1].dedupe_key == f"{BOT_ID}/9000000"


async def test_general_and_a_topic_are_threads_of_their_own_tg_04() -> None:
    async with telegram_world() as world:
        world.telegram.say("a", message_thread_id=1)
        root = world.telegram.say("b")
        world.telegram.say("c", reply_to=root.message_id, message_thread_id=777)
        world.telegram.say("d", topic=TOPIC_WORK)
        world.telegram.say("e", chat=CLUB)
        await world.wait_confirmed()

        threads = [message.thread for message in world.intake.messages]
        general = Thread("telegram", str(BOT_ID), str(FORUM), "1")
        assert threads == [
            general,
            general,
            general,
            Thread("telegram", str(BOT_ID), str(FORUM), "42"),
            Thread("telegram", str(BOT_ID), str(CLUB), ""),
        ]


@pytest.mark.parametrize(("topic", "sent"), [("", None), ("1", None), ("42", 42)])
async def test_answer_goes_to_general_without_a_thread_id_and_to_a_topic_with_it_tg_04(
    topic: str, sent: int | None
) -> None:
    async with telegram_world() as world:
        asked = world.telegram.say("@geode_bot hi", topic=int(topic) if topic == "42" else 0)

        await world.channel.send(place(topic, reply_to=asked.message_id), world.part("yes"), "k")

        (post,) = world.telegram.bot_posts(FORUM)
        assert post.arguments.get("message_thread_id") == sent
        assert post.reply_to == asked.message_id
        assert world.telegram.counters()["refused"] == {}


async def test_album_is_one_message_with_its_caption_and_delays_nobody_tg_05() -> None:
    async with telegram_world() as world:
        album = {"photo": PHOTO, "media_group_id": "g1"}
        world.telegram.say("look @geode_bot", topic=TOPIC_WORK, **album)
        since = time.monotonic()
        await asyncio.sleep(0.2)
        world.telegram.say("", topic=TOPIC_WORK, **album)
        world.telegram.say("somebody else", user=BEN, topic=TOPIC_WORK)
        await world.wait_for(lambda: world.intake.texts == ["somebody else"])
        assert time.monotonic() - since < 0.6
        await asyncio.sleep(0.2)
        world.telegram.say("", topic=TOPIC_WORK, **album)

        await world.wait_confirmed()

        album_message = world.intake.messages[1]
        assert len(world.intake.messages) == 2
        assert album_message.text == "look"
        assert len(album_message.files) == 3
        assert album_message.is_addressed
        assert time.monotonic() - since < 2


async def test_album_is_complete_when_its_sender_goes_on_tg_05() -> None:
    async with telegram_world() as world:
        world.telegram.say("album", topic=TOPIC_WORK, photo=PHOTO, media_group_id="g1")
        world.telegram.say("and text", topic=TOPIC_WORK)

        await world.wait_confirmed()

        assert [text.split("\n")[0] for text in world.intake.texts] == ["album", "and text"]


async def test_single_photo_waits_for_nothing_tg_05() -> None:
    async with telegram_world() as world:
        since = time.monotonic()
        world.telegram.say("one", topic=TOPIC_WORK, photo=PHOTO)
        await world.wait_for(lambda: world.intake.messages)

        assert time.monotonic() - since < 0.5


async def test_album_of_a_killed_process_comes_again_as_one() -> None:
    async with RehearsalTelegram() as telegram:
        intake = TelegramIntake()
        telegram.say("album", photo=PHOTO, media_group_id="g1")
        telegram.say("", photo=PHOTO, media_group_id="g1")
        channel = make_channel(telegram)
        first = asyncio.create_task(channel.start(intake))
        await telegram.wait_for(lambda: telegram.queue.delivered[101])
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await channel.stop()
        assert intake.asked == []

        async with running(make_channel(telegram), intake):
            await telegram.wait_for(lambda: not telegram.queue.waiting)

        assert len(intake.messages) == 1


async def test_update_that_is_malformed_or_unknown_stops_nothing_tg_08() -> None:
    async with telegram_world() as world:
        queue = world.telegram.queue
        queue.jump(6)
        queue.push(message={"message_id": 3, "text": "no chat, no date"})
        queue.push(edited_message={"message_id": 3, "edit_date": 1700000000, "text": "fixed"})
        queue._updates.append({"update_id": 8, "channel_post": {"message_id": 1}})
        queue._updates.append({"update_id": 9, "my_chat_member": {}})
        queue._updates.append({"update_id": 10, "kind_of_tomorrow": 5})
        queue.jump(11)
        world.telegram.say("still here")
        await world.wait_confirmed()

        assert world.intake.texts == ["still here"]
        assert queue.confirmed_below == 12


async def test_edit_is_handed_in_as_one_tg_08() -> None:
    async with telegram_world() as world:
        post = world.telegram.say("@geode_bot first", topic=TOPIC_WORK)
        world.telegram.edit(FORUM, post.message_id, "@geode_bot better")
        await world.wait_confirmed()

        message, edit = world.intake.messages
        assert (message.kind, edit.kind) == ("message", "edit")
        assert (edit.message_id, edit.text) == (message.message_id, "better")
        assert edit.dedupe_key != message.dedupe_key


@pytest.mark.parametrize(
    ("text", "command", "is_text"),
    [
        ("/stop", ("stop", ""), False),
        ("/stop@geode_bot", ("stop", ""), False),
        ("/stop@Geode_Bot", ("stop", ""), False),
        ("/stop@OtherBot", None, False),
        ("/stop@geode_bot now", ("stop", "now"), False),
        ("tell /stop@OtherBot", None, True),
    ],
)
async def test_command_is_obeyed_for_our_name_only_tg_07(
    text: str, command: tuple[str, str] | None, is_text: bool
) -> None:
    async with telegram_world() as world:
        world.telegram.say(text, chat=CLUB)
        await world.wait_confirmed()

        obeyed = [(c.verb, c.argument) for c in world.intake.commands]
        assert obeyed == ([command] if command else [])
        assert world.intake.texts == ([text] if is_text else [])


async def test_anonymous_admins_channels_and_bots_are_nobody() -> None:
    async with telegram_world() as world:
        group = {"id": CLUB, "type": "supergroup"}
        world.telegram.say("admin", user=ANONYMOUS_ADMIN, chat=CLUB, sender_chat=group)
        world.telegram.say("channel", chat=CLUB, sender_chat={"id": -100777, "type": "channel"})
        world.telegram.say("bot", user=BOT_ID, chat=CLUB)
        world.telegram.say("person", chat=CLUB)
        await world.wait_confirmed()

        assert world.intake.texts == ["person"]
        assert world.intake.messages[0].sender == Person("101", "Ana")


async def test_direct_message_and_reply_to_the_bot_are_addressed_and_chatter_is_not() -> None:
    async with telegram_world() as world:
        sent = await world.channel.send(place(), world.part("I am here"), "k")
        world.telegram.say("hello", chat=0)
        world.telegram.say("and?", topic=TOPIC_WORK, reply_to=int(sent))
        world.telegram.say("chatter", topic=TOPIC_WORK)
        await world.wait_confirmed()

        direct, reply, chatter = world.intake.messages
        assert [m.is_addressed for m in (direct, reply, chatter)] == [True, True, False]
        assert direct.is_direct
        assert direct.thread == Thread("telegram", str(BOT_ID), "101", "")
        assert (direct.reply_to, reply.reply_to) == ("", reply.message_id)


async def test_message_that_waited_at_telegram_is_marked_as_said_meanwhile() -> None:
    async with RehearsalTelegram() as telegram:
        telegram.say("long ago").date = int(time.time()) - 3600
        telegram.queue._updates[0]["message"]["date"] = int(time.time()) - 3600  # type: ignore[index,call-overload]
        telegram.say("just now")
        intake = TelegramIntake()
        async with running(make_channel(telegram), intake):
            await telegram.wait_for(lambda: not telegram.queue.waiting)

        assert [message.is_catch_up for message in intake.messages] == [True, False]


def moved(new: int) -> tuple[Thread, Thread]:
    old = Thread("telegram", str(BOT_ID), str(BASIC), "")
    return old, Thread("telegram", str(BOT_ID), str(new), "")


async def test_group_that_became_a_supergroup_is_told_to_the_core_before_it_is_confirmed() -> None:
    async with telegram_world() as world:
        world.intake.refusals = 1
        new = world.telegram.migrate(BASIC)
        await world.wait_confirmed()

        assert world.intake.moves == [moved(new), moved(new)]
        assert world.intake.asked == []


async def test_move_that_nobody_told_is_learned_from_the_refusal_and_the_answer_follows() -> None:
    async with telegram_world() as world:
        new = world.telegram.town.migrate(BASIC)

        sent = await world.channel.send(place("", BASIC, 999), world.part("answer"), "k")

        (post,) = world.telegram.bot_posts(new.id)
        assert (str(post.message_id), post.text, post.reply_to) == (sent, "answer", 0)
        assert world.intake.moves == [moved(new.id)]


async def test_answer_waits_while_a_move_cannot_be_noted() -> None:
    async with telegram_world() as world:
        new = world.telegram.town.migrate(BASIC)
        world.intake.refusals = 1

        with pytest.raises(ChannelDownError):
            await world.channel.send(place("", BASIC), world.part("answer"), "k")

        assert world.telegram.bot_posts(new.id) == []


async def test_message_of_the_old_group_is_neither_edited_nor_marked_in_the_new_one() -> None:
    async with telegram_world() as world:
        sent = await world.channel.send(place("", BASIC), world.part("working"), "k")
        new = world.telegram.migrate(BASIC)

        for chat, message_id in ((BASIC, sent), (new, f"{BASIC}/{sent}")):
            with pytest.raises(SendRefusedError, match="stayed"):
                await world.channel.edit(place("", chat), message_id, world.part("answer"))
        await world.channel.react(place("", new), f"{BASIC}/{sent}", is_on=True)

        assert world.telegram.bot_posts(new) == []
        assert world.telegram.api.calls["setMessageReaction"] == 0


async def test_token_that_is_refused_is_degraded_by_name_and_works_once_mended() -> None:
    async with RehearsalTelegram() as telegram:
        channel = make_channel(telegram, token="12345:wrong")
        async with running(channel, TelegramIntake()):
            await telegram.wait_for(lambda: channel.status().state == "degraded")

            assert "env:TELEGRAM_BOT_TOKEN" in channel.status().reason
            assert "wrong" not in channel.status().reason
            telegram.api.token = "12345:wrong"
            await telegram.wait_for(lambda: channel.status().state == "up")


async def test_one_conflict_passes_unnoticed_st_03() -> None:
    async with telegram_world() as world:
        world.telegram.fault("error", method="getUpdates", error=CONFLICT)
        world.telegram.say("hello")
        await world.wait_confirmed()

        assert world.intake.texts == ["hello"]
        assert world.channel.status().state == "up"


async def test_lasting_conflict_is_named_and_retried_slowly_and_loses_nothing_st_03() -> None:
    async with telegram_world() as world:
        world.telegram.fault("error", method="getUpdates", error=CONFLICT, times=0)
        world.telegram.say("hello")
        await world.wait_state("conflict")
        assert "other receiver" in world.channel.status().reason
        assert await world.channel.send(place(), world.part("still sends"), "k")

        world.telegram.faults.clear()

        await world.wait_state("up")
        await world.wait_confirmed()
        assert world.intake.texts == ["hello"]


async def test_second_receiver_of_a_token_waits_and_the_first_is_unharmed_st_03() -> None:
    async with telegram_world() as world:
        second, intake = make_channel(world.telegram), TelegramIntake()
        async with running(second, intake):
            await world.wait_for(lambda: second.status().state == "degraded")
            assert str(os.getpid()) in second.status().reason
            world.telegram.say("hello")
            await world.wait_confirmed()

            assert (world.intake.texts, intake.texts) == (["hello"], [])
            assert world.channel.status().state == "up"
            assert world.telegram.queue.polls_ended == 0
            await world.channel.stop()
            await world.wait_for(lambda: second.status().state == "up")


async def test_privacy_mode_is_told_for_bound_groups_the_bot_does_not_hear() -> None:
    async with RehearsalTelegram() as telegram:
        telegram.methods.has_privacy = True
        channel = make_channel(telegram)
        async with running(channel, TelegramIntake()):
            await telegram.wait_for(lambda: "rivacy" in channel.status().reason)

            assert channel.status().state == "up"
            assert str(CLUB) in channel.status().reason
            assert "BotFather" in channel.status().reason


@pytest.mark.parametrize("remedy", ["is_run_by_bot", "reads_all"])
async def test_privacy_mode_is_no_matter_for_an_administrator_or_when_it_is_off(
    remedy: str,
) -> None:
    async with RehearsalTelegram() as telegram:
        telegram.methods.has_privacy = remedy != "reads_all"
        telegram.town.chats[CLUB].is_run_by_bot = remedy == "is_run_by_bot"
        channel = make_channel(telegram)
        async with running(channel, TelegramIntake()):
            await telegram.wait_for(lambda: channel.status().state == "up")
            await telegram.wait_for(lambda: telegram.api.calls["setMyCommands"])
            expected = int(remedy == "is_run_by_bot")
            await telegram.wait_for(lambda: telegram.api.calls["getChatMember"] == expected)

            assert channel.status().reason == ""


@pytest.mark.parametrize("kind", ["server_error", "drop_request", "drop_response", "rate_limited"])
async def test_polling_survives_every_outage(kind: str) -> None:
    async with telegram_world() as world:
        world.telegram.fault(kind, method="getUpdates", times=2, status=502)
        world.telegram.say("hello")
        await world.wait_confirmed()
        await world.wait_state("up")

        assert world.intake.texts == ["hello"]


async def test_unreachable_telegram_is_down_and_stops_cleanly() -> None:
    async with RehearsalTelegram() as telegram:
        channel = make_channel(telegram, QUICK, api_url="http://127.0.0.1:9")
        async with running(channel, TelegramIntake()):
            await telegram.wait_for(lambda: channel.status().state == "down")

        assert channel.status().state == "stopped"


CONFLICT = "Conflict: terminated by other getUpdates request"
