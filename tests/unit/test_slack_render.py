"""Markdown to Slack posts: limits of SL-05, inert control sequences of SL-07, and the look."""

import re

import pytest

from channels.rehearsal.slack_rules import block_texts, check_message
from channels.slack.cards import render_body
from channels.slack.render import Post, render_plain, render_posts, unescape
from geode.messages import OutboundBody


def mrkdwn(markdown: str) -> str:
    (post,) = render_posts(markdown)
    return post.text


def assert_accepted(posts: list[Post]) -> None:
    for post in posts:
        assert check_message({"text": post.text, "blocks": post.blocks}, is_update=True) == ""
        assert len(post.text) <= 4000


def without_space(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x" * 3001, id="3,001 without a newline"),
        pytest.param("y" * 10_001, id="10,001"),
        pytest.param("lorem ipsum " * 12_584, id="151,000"),
        pytest.param("\n\n".join("m" * 1330 for _ in range(10)), id="blocks that sum to 13,300"),
        pytest.param("\n\n".join(f"section {n}" for n in range(60)), id="60 short sections"),
        pytest.param("& < > " * 2000, id="text that grows when escaped"),
        pytest.param("\U0001f389" * 4000, id="characters outside the BMP"),
    ],
)
def test_long_text_is_split_into_accepted_posts_that_keep_it_sl_05(source: str) -> None:
    posts = render_posts(source)

    assert_accepted(posts)
    shown = "".join(text for post in posts for text in block_texts(post.blocks))
    assert without_space(unescape(shown)) == without_space(source)


def test_control_sequences_of_the_model_are_inert_sl_07() -> None:
    source = "if a < b && b > c: ping <!channel> and <@U999>"

    shown = mrkdwn(source)

    assert not re.search(r"<[!@#]", shown)
    assert unescape(shown) == source


def test_escaped_control_sequence_stays_the_characters_that_were_typed_sl_07() -> None:
    assert mrkdwn("&lt;!here&gt;") == "&amp;lt;!here&amp;gt;"


def test_url_keeps_both_parameters_sl_07() -> None:
    assert mrkdwn("see https://x.test/?a=1&b=2.") == "see <https://x.test/?a=1&amp;b=2>."


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# Head **line**", "*Head line*"),
        ("a **b** _c_ ~~d~~ `e<f`", "a *b* _c_ ~d~ `e&lt;f`"),
        ("- a\n- b\n  1. c\n  2. d", "• a\n• b\n    1. c\n    2. d"),
        ("> q\n> r", "> q\n> r"),
        ("[label](https://z.test/)", "label (<https://z.test/>)"),
        ("<https://z.test/>", "<https://z.test/>"),
        ("![alt](https://z.test/a.png)", "alt <https://z.test/a.png>"),
        ("[x](!channel) [y](#C1)", "x (!channel) y (#C1)"),
        ("```py\na < b\n```", "```\na &lt; b\n```"),
        ("|a|bb|\n|-|-|\n|ccc|d|", "```\na   | bb\n----+---\nccc | d\n```"),
        ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("<b>bold</b> &amp;", "&lt;b&gt;bold&lt;/b&gt; &amp;amp;"),
        ("mid**word**s", "midwords"),
    ],
)
def test_markdown_is_rendered_as_slack_reads_it(markdown: str, expected: str) -> None:
    assert mrkdwn(markdown) == expected


def test_link_cannot_smuggle_a_control_sequence_in_its_address() -> None:
    shown = mrkdwn("[x](<https://z.test/|<!channel>>)")

    assert "<!" not in shown
    assert shown.count("<") == shown.count(">")


def test_code_that_holds_a_fence_stays_one_code_block() -> None:
    shown = mrkdwn("~~~~\n```\ninner\n```\n~~~~")

    assert shown.count("```") == 2


def test_long_code_block_is_fenced_in_every_section() -> None:
    posts = render_posts("```py\n" + "value = 1 & 2\n" * 600 + "```")

    assert len(posts) > 1
    for post in posts:
        assert_accepted([post])
        assert all(text.count("```") % 2 == 0 for text in block_texts(post.blocks))


def test_style_cut_by_a_split_is_closed_and_opened_again() -> None:
    posts = render_posts("**" + "word " * 900 + "end**")

    texts = [text for post in posts for text in block_texts(post.blocks)]
    assert len(texts) > 1
    assert all(text.startswith("*") and text.endswith("*") for text in texts)


def test_names_are_not_turned_into_mentions_by_slack() -> None:
    (post,) = render_posts("ask @here in #general")

    assert post.blocks == [
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "ask @here in #general", "verbatim": True},
        }
    ]


@pytest.mark.parametrize("markdown", ["", "  \n ", "\u200b"])
def test_empty_answer_still_has_one_part(markdown: str) -> None:
    (part,) = render_body(OutboundBody(markdown))

    assert check_message(part.payload) == ""


def test_part_carries_its_own_words_as_plain_text() -> None:
    (part,) = render_body(OutboundBody("a < b, see https://z.test/?a=1&b=2"))

    assert part.plain == "a < b, see https://z.test/?a=1&b=2"
    assert render_plain(part.plain) == "a &lt; b, see https://z.test/?a=1&amp;b=2"
