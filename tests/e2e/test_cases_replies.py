"""SL-05 and SL-07 end to end: a model's text as people read it in the thread."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from fakes.model_town import Town, http_town

from channels.rehearsal.model_answers import Answer, text
from channels.rehearsal.slack_rules import BLOCKS_MAX, SECTION_CHARS_MAX, block_texts
from channels.rehearsal.slack_state import Posted

CHANNEL = "C0GENERAL"
WORDS = "The quick brown fox jumps over the lazy dog and goes on its way. "


def words(characters: int) -> str:
    """Prose of exactly that length, without a line break."""
    return (WORDS * (characters // len(WORDS) + 1))[: characters - 1].rstrip().ljust(
        characters - 1, "x"
    ) + "!"


def read(post: Posted) -> str:
    """What a person reads in a message."""
    return html.unescape("\n".join(block_texts(post.blocks)) or post.text)


async def answer(town: Town, reply: str, parts: int = 1) -> list[Posted]:
    """The messages that carry the model's reply, in the order of the thread."""
    town.server.script.append(Answer([text(reply)]))
    post = await town.slack.say("<@UBOT> write the report")
    await town.wait_for(lambda: len(town.slack.bot_posts(CHANNEL, post.ts)) >= parts, 15)
    await town.wait_idle(15)
    return town.slack.bot_posts(CHANNEL, post.ts)


def squeeze(value: str) -> str:
    return re.sub(r"\s+", "", value)


@pytest.mark.timeout(40)
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(words(3_001), id="3001-without-newline"),
        pytest.param("x" * 3_001, id="3001-without-any-break"),
        pytest.param(words(10_001), id="10001"),
        pytest.param(words(151_000), id="151000"),
        pytest.param("\n\n".join(words(1_330) for _ in range(10)), id="13300-in-ten-paragraphs"),
        pytest.param(
            "\n\n".join(f"## Part {n}\n\nshort text {n}" for n in range(60)), id="60-sections"
        ),
    ],
)
async def test_long_answer_arrives_whole_in_its_thread_within_every_limit_sl_05(
    tmp_path: Path, reply: str
) -> None:
    async with http_town(tmp_path) as town:
        posts = await answer(town, reply)

        assert town.slack.counters()["refused"] == {}
        assert [post.ts for post in posts] == sorted(post.ts for post in posts)
        for post in posts:
            assert len(post.blocks) <= BLOCKS_MAX
            assert all(len(each) <= SECTION_CHARS_MAX for each in block_texts(post.blocks))
            assert len(post.text) <= 4_000
        seen = squeeze("".join(read(post) for post in posts)).replace("*", "")
        assert seen == squeeze(reply).replace("##", "")
        assert town.slack.counters()["text_over_advice"] == 0
        assert await town.rows("outbox", "state") == ["sent", "sent"]


async def test_control_sequences_of_a_model_ping_nobody_and_read_as_written_sl_07(
    tmp_path: Path,
) -> None:
    source = "if a < b && b > c: ping <!channel> and <@U999> or <#C1>"
    async with http_town(tmp_path) as town:
        (post,) = await answer(town, source)

        for raw in (post.text, *block_texts(post.blocks)):
            assert not re.search(r"<[!@#]", raw), raw
        assert read(post) == source
        assert post.arguments["link_names"] is False
        assert post.arguments["parse"] == "none"


async def test_escaped_control_sequence_stays_the_characters_that_were_written_sl_07(
    tmp_path: Path,
) -> None:
    async with http_town(tmp_path) as town:
        (post,) = await answer(town, "he typed `&lt;!here&gt;` and &lt;!here&gt;")

        for raw in (post.text, *block_texts(post.blocks)):
            assert not re.search(r"<[!@#]", raw), raw


async def test_url_opens_with_both_parameters_and_unfurls_nothing_sl_07(tmp_path: Path) -> None:
    async with http_town(tmp_path) as town:
        (post,) = await answer(town, "see https://x.test/?a=1&b=2 please")

        (link,) = re.findall(r"<(https:[^>|]+)", block_texts(post.blocks)[0])
        assert html.unescape(link) == "https://x.test/?a=1&b=2"
        assert post.arguments.get("unfurl_links", False) is False


async def test_previews_are_off_in_every_message_that_is_posted(tmp_path: Path) -> None:
    async with http_town(tmp_path) as town:
        await answer(town, words(10_001), parts=2)

        posted = [
            call["arguments"] for call in town.slack.api.log if call["method"] == "chat.postMessage"
        ]
        assert len(posted) >= 2
        assert {(p["unfurl_links"], p["unfurl_media"]) for p in posted} == {(False, False)}


async def test_candidate_text_never_stands_in_a_progress_message(tmp_path: Path) -> None:
    async with http_town(tmp_path) as town:
        post = (await answer(town, "the only answer"))[0]

        earlier = [str(edit["text"]) for edit in post.edits]
        assert all("answer" not in wording for wording in earlier)
        assert post.text == "the only answer"
