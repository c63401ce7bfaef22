"""Whatever the model writes, the strict stand-in takes every post and no word is lost."""

import re

from hypothesis import given
from hypothesis import strategies as st

from channels.rehearsal.slack_rules import block_texts, check_message
from channels.slack.render import render_posts, unescape

MARKS = st.sampled_from(
    [
        "**",
        "*",
        "_",
        "`",
        "~~",
        "|",
        "<",
        ">",
        "&",
        "<!channel>",
        "<@U999>",
        "&lt;!here&gt;",
        "[a](https://x.test/?a=1&b=2)",
        "![i](x)",
        "https://y.test/a|b",
        "\\",
        "<#C1|x>",
        "![i](https://z.test/|<!here>)",
        "```\n",
        "\n",
        "\n\n",
        "# ",
        "> ",
        "- ",
        "1. ",
        "\t",
        "|a|b|\n|-|-|\n|",
        "~~~\n",
        "---\n",
    ]
)
MODEL_TEXT = st.lists(st.one_of(MARKS, st.text(max_size=40)), max_size=60).map("".join)
WORDS = st.lists(st.from_regex(r"[a-z\u00e4\u4e2d\U0001f600]{1,12}", fullmatch=True), min_size=1)


@given(MODEL_TEXT, st.integers(1, 40))
def test_every_post_is_accepted_and_inert(text: str, times: int) -> None:
    for post in render_posts(text * times):
        assert check_message({"text": post.text, "blocks": post.blocks}, is_update=True) == ""
        shown = "\n".join(block_texts(post.blocks))
        assert re.sub(r"<(https?://|mailto:)[^<>|]*>", "", shown).count("<") == 0


@given(WORDS, st.sampled_from([" ", "\n", "\n\n", "\n- ", "\n> "]), st.integers(1, 200))
def test_words_arrive_in_order(words: list[str], gap: str, times: int) -> None:
    source = gap.join(words * times)

    shown = "\n".join(text for post in render_posts(source) for text in block_texts(post.blocks))

    assert re.findall(r"\w+|\U0001f600", unescape(shown)) == re.findall(r"\w+|\U0001f600", source)
