"""SL-06 and the slash variant of SL-01 told end to end: a real daemon and a strict Slack."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.model_town import scripted_town
from fakes.pictures import make_png
from fakes.scripted_model import say
from fakes.town import answers

from geode.messages import Image, Message

CHANNEL = "C0GENERAL"


def images_in(messages: tuple[Message, ...] | list[Message]) -> list[Image]:
    return [block for m in messages for block in m.blocks if isinstance(block, Image)]


def pictures_in(home: Path) -> list[bytes]:
    return [path.read_bytes() for path in home.rglob("*.png") if path.is_file()]


# SL-06


@pytest.mark.parametrize("page_type", ["text/html", "application/octet-stream"])
async def test_sign_in_page_reaches_no_model_and_later_turns_go_on_sl_06(
    tmp_path: Path, page_type: str
) -> None:
    async with scripted_town(tmp_path, [say("cannot see it"), say("hello again")]) as town:
        town.slack.files.lacks_scope = True
        town.slack.files.page_type = page_type
        post = await town.slack.share(
            "F1.png", make_png(), text="<@UBOT> what is this?", media_type="image/png"
        )
        await town.wait_answers(post.ts, 1)
        await town.ask("and now?", post.ts)
        await town.wait_idle()

        first, second = (list(step.messages) for step in town.model.steps)
        assert images_in(first) == images_in(second) == []
        asked = first[-1].text
        assert "F1.png" in asked
        assert "files:read" in asked
        assert "<!DOCTYPE" not in str(second)
        assert answers(town.slack, post.ts) == ["cannot see it", "hello again"]
        assert pictures_in(tmp_path) == []


async def test_real_picture_is_fetched_whole_sl_06(tmp_path: Path) -> None:
    async with scripted_town(tmp_path, [say("a square")]) as town:
        content = make_png()
        post = await town.slack.share(
            "F1.png", content, text="<@UBOT> what is this?", media_type="image/png"
        )
        await town.wait_answers(post.ts, 1)

        assert pictures_in(tmp_path) == [content]
        assert content.startswith(b"\x89PNG")
        assert "files:read" not in town.model.steps[0].messages[-1].text


async def test_file_without_words_in_a_direct_message_is_a_turn(tmp_path: Path) -> None:
    async with scripted_town(tmp_path, [say("thanks for the list")]) as town:
        post = await town.slack.share("list.txt", b"milk\n", channel="", media_type="text/plain")
        await town.wait_for(lambda: town.slack.bot_posts("D0ANA"))
        await town.wait_idle()

        assert "list.txt" in town.model.steps[0].messages[-1].text
        assert [p.text for p in town.slack.bot_posts("D0ANA")] == ["thanks for the list"]
        assert post.channel == "D0ANA"


# SL-01, the slash variant


async def test_slash_command_answers_its_caller_alone_and_opens_no_thread_sl_01(
    tmp_path: Path,
) -> None:
    async with scripted_town(tmp_path, [say("first")]) as town:
        root = await town.ask("<@UBOT> hello")
        await town.wait_idle()

        envelope = await town.slack.slash("status")
        await town.wait_for(lambda: envelope.is_acked)

        (told,) = town.slack.workspace.ephemerals
        assert (told["user"], told["channel"], told["by"]) == ("U0ANA", CHANNEL, "ack")
        assert "thread" in str(told["text"])
        assert "thread_ts" not in told
        assert await town.count("sessions") == 1
        assert await town.rows("threads", "thread") == [root.ts]
        assert len(town.slack.bot_posts(CHANNEL)) == 1


async def test_mention_form_of_a_command_works_inside_the_thread_without_a_turn_sl_01(
    tmp_path: Path,
) -> None:
    async with scripted_town(tmp_path, [say("first")]) as town:
        root = await town.ask("<@UBOT> hello")
        await town.wait_idle()

        await town.slack.say("<@UBOT> status", thread_ts=root.ts)
        await town.slack.say("!status", thread_ts=root.ts)
        await town.wait_for(lambda: town.slack.counters()["unacked"] == 0)
        await town.wait_idle()

        assert await town.count("turns") == 1
        assert await town.count("sessions") == 1
        first, *told = answers(town.slack, root.ts)
        assert first == "first"
        assert len(told) == 2
        assert all("Idle" in text for text in told)


async def test_stranger_with_a_slash_command_is_refused_politely_and_stored_nowhere(
    tmp_path: Path,
) -> None:
    async with scripted_town(tmp_path) as town:
        envelope = await town.slack.slash("status", user="U0STRANGER")
        await town.wait_for(lambda: envelope.is_acked)

        (told,) = town.slack.workspace.ephemerals
        assert told["user"] == "U0STRANGER"
        assert "not for you" in str(told["text"])
        assert await town.count("dedupe") == 0
        assert await town.count("sessions") == 0
