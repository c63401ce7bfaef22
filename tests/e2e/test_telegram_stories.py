"""Telegram told end to end: a real daemon, a strict Telegram, a scripted model."""

from __future__ import annotations

from pathlib import Path

from fakes.scripted_model import say
from fakes.telegram_town import (
    answers,
    column,
    is_progress,
    serve_chat,
    telegram_daemon,
    use_webhook,
)

from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_core import PHOTO
from channels.rehearsal.telegram_state import ANA, BASIC, FORUM, STRANGER, TOPIC_PLAY, TOPIC_WORK
from geode.reply import sentences
from geode.steps import ModelReply, StepSnapshot
from geode.store.tables import inbox, outbox, outbox_parts, threads, turns


async def test_mention_in_a_topic_is_answered_there_once_and_the_topic_is_followed(
    tmp_path: Path,
) -> None:
    async with RehearsalTelegram() as telegram:
        replies = [say("**first**"), say("second")]
        async with telegram_daemon(telegram, tmp_path, replies) as daemon:
            asked = telegram.say("@geode_bot hello", topic=TOPIC_WORK)
            await telegram.wait_for(lambda: answers(telegram) == ["first"])
            telegram.say("chatter elsewhere", topic=TOPIC_PLAY)
            telegram.say("@geode_bot let me in", user=STRANGER, topic=TOPIC_WORK)
            telegram.say("and now?", topic=TOPIC_WORK)
            await telegram.wait_for(lambda: answers(telegram) == ["first", "second"])
            await telegram.wait_for(lambda: asked.reactions[telegram.town.bot.id] == [])

            assert answers(telegram, FORUM, TOPIC_WORK) == ["first", "second"]
            assert await column(daemon, threads.c.thread) == [str(TOPIC_WORK)]
            assert await column(daemon, inbox.c.text) == ["hello", "and now?"]
        posts = telegram.bot_posts()
        assert [post.reply_to for post in posts] == [asked.message_id, asked.message_id + 4]
        assert telegram.counters()["refused"] == {}


async def test_direct_message_and_album_are_one_turn_each(tmp_path: Path) -> None:
    async with RehearsalTelegram() as telegram:
        replies = [say("hello Ana"), say("three photos")]
        async with telegram_daemon(telegram, tmp_path, replies) as daemon:
            telegram.say("hi", chat=0)
            await telegram.wait_for(lambda: answers(telegram, ANA) == ["hello Ana"])
            for caption in ("what is this?", "", ""):
                telegram.say(caption, chat=0, photo=PHOTO, media_group_id="g1")
            await telegram.wait_for(lambda: answers(telegram, ANA) == ["hello Ana", "three photos"])

            assert len(await column(daemon, turns.c.id)) == 2


class DiesBeforeConfirming:
    """The channel dies after an update was stored and before Telegram hears of it."""

    def __init__(self) -> None:
        self.deaths = 0

    def hit(self, name: str) -> None:
        if name.startswith("telegram.ack") and not self.deaths:
            self.deaths += 1
            raise RuntimeError("killed")


async def test_restart_with_an_unconfirmed_update_answers_it_once(tmp_path: Path) -> None:
    async with RehearsalTelegram() as telegram:
        points = DiesBeforeConfirming()
        async with telegram_daemon(telegram, tmp_path, [say("once")], points):
            telegram.say("@geode_bot hello", topic=TOPIC_WORK)
            await telegram.wait_for(lambda: answers(telegram) == ["once"])
        assert points.deaths == 1
        assert len(telegram.queue.waiting) == 1

        async with telegram_daemon(telegram, tmp_path, [say("next")]) as daemon:
            await telegram.wait_for(lambda: not telegram.queue.waiting)
            telegram.say("@geode_bot go on", topic=TOPIC_WORK)
            await telegram.wait_for(lambda: answers(telegram) == ["once", "next"])

            assert await column(daemon, inbox.c.text) == ["hello", "go on"]
        assert telegram.queue.delivered[100] == 2


async def test_lost_response_to_an_edit_is_repeated_and_stands_once(tmp_path: Path) -> None:
    async with RehearsalTelegram() as telegram:
        async with telegram_daemon(telegram, tmp_path, [say("the answer")]):
            telegram.fault("drop_response", method="editMessageText", contains="the answer")
            telegram.say("@geode_bot hello", topic=TOPIC_WORK)
            await telegram.wait_for(lambda: telegram.api.calls["editMessageText"] >= 2)
            await telegram.wait_for(lambda: answers(telegram) == ["the answer"])

        assert len(telegram.bot_posts()) == 1


async def test_lost_response_to_a_first_send_is_sent_once_more_and_noted(tmp_path: Path) -> None:
    async with RehearsalTelegram() as telegram:
        async with telegram_daemon(telegram, tmp_path, [say("the answer")]) as daemon:
            telegram.fault("drop_response", method="sendMessage")
            telegram.say("@geode_bot hello", topic=TOPIC_WORK)
            await telegram.wait_for(lambda: answers(telegram).count("the answer") == 1)

            assert sentences.POSSIBLY_DOUBLED in await column(daemon, outbox_parts.c.error)
            assert sentences.POSSIBLY_DOUBLED in await column(daemon, outbox.c.reason)
        posts = telegram.bot_posts()
        assert len(posts) == 2
        shown = [[post.text, *post.edits] for post in posts]
        assert [any("(possibly doubled)" in text for text in of) for of in shown] == [False, True]
        assert telegram.api.calls["sendMessage"] == 2
        assert [is_progress(post) for post in posts] in ([True, False], [False, False])


async def test_group_that_becomes_a_supergroup_keeps_its_conversation_through_restarts(
    tmp_path: Path,
) -> None:
    async with RehearsalTelegram() as telegram:
        serve_chat(tmp_path, BASIC)
        async with telegram_daemon(telegram, tmp_path, [say("one"), say("two")]) as daemon:
            telegram.say("@geode_bot first", chat=BASIC)
            await telegram.wait_for(lambda: answers(telegram, BASIC) == ["one"])
            new = telegram.migrate(BASIC)
            telegram.say("and now?", chat=new)
            await telegram.wait_for(lambda: answers(telegram, new) == ["two"])
            status = await daemon.status()
            assert str(new) in str(status["degraded"])

        async with telegram_daemon(telegram, tmp_path, [say("three")]) as daemon:
            telegram.say("still there?", chat=new)
            await telegram.wait_for(lambda: answers(telegram, new) == ["two", "three"])

            assert await column(daemon, threads.c.channel) == [str(new)]
            assert len(set(await column(daemon, turns.c.session_id))) == 1


async def test_album_by_webhook_is_one_turn_though_its_parts_come_one_at_a_time_tg_05(
    tmp_path: Path,
) -> None:
    async with RehearsalTelegram() as telegram:
        use_webhook(tmp_path)
        async with telegram_daemon(telegram, tmp_path, [say("three photos")]) as daemon:
            for caption in ("what is this?", "", ""):
                telegram.say(caption, chat=0, photo=PHOTO, media_group_id="g1")
            await telegram.wait_for(lambda: answers(telegram, ANA) == ["three photos"])

            assert len(await column(daemon, turns.c.id)) == 1
            assert len(await column(daemon, inbox.c.id)) == 3
            assert telegram.api.calls["getUpdates"] == 0


async def test_command_in_a_thread_is_obeyed_without_the_model(tmp_path: Path) -> None:
    async with (
        RehearsalTelegram() as telegram,
        telegram_daemon(telegram, tmp_path, []) as daemon,
    ):
        telegram.say("/whoami", chat=0)
        telegram.say("/whoami", chat=0, user=STRANGER)
        await telegram.wait_for(lambda: not telegram.queue.waiting)

        assert await column(daemon, turns.c.id) == []
        assert telegram.bot_posts(STRANGER) == []


async def test_document_is_in_the_workspace_when_the_model_is_asked(tmp_path: Path) -> None:
    async with RehearsalTelegram() as telegram:
        asked: list[str] = []

        def look(step: StepSnapshot) -> ModelReply:
            asked.append(step.messages[-1].text)
            return say("read")

        async with telegram_daemon(telegram, tmp_path, [look]) as daemon:
            document = telegram.add_file(b"the plan", "plan.txt")
            telegram.say("what is the plan?", chat=0, document=document)
            await telegram.wait_for(lambda: answers(telegram, ANA) == ["read"])
            (session_id,) = await column(daemon, threads.c.session_id)

        kept = [path.read_bytes() for path in (tmp_path / "files").rglob("plan.txt")]
        assert kept == [b"the plan"]
        assert "attachments/plan.txt" in asked[0]
        assert session_id
        assert telegram.bot_token.encode() not in (tmp_path / "geode.db").read_bytes()
