"""Whatever the model writes, Discord takes every part and reads no more into it than was meant."""

import re

from hypothesis import given
from hypothesis import strategies as st

from channels.discord.inert import read_back
from channels.discord.render import content_of, render_parts
from channels.text import utf16_length
from geode.messages import OutboundBody

PIECES = st.sampled_from(
    [
        *("```", "~~~", "\n", "\n\n", "`", "<@1>", "@everyone", "||", "[a](https://e.org)"),
        *("| a | b |", "|---|---|", "    x", "> ", "- ", "1. ", "#### ", "word ", "😀"),
        *("x" * 700, "\\", "<t:1>"),
    ]
)
MARKDOWN = st.lists(PIECES | st.text(max_size=40), max_size=30).map("".join)

_LIVE = re.compile(r"(?<!\\)(?:\\\\)*(?:<(?:@[!&]?|#)[0-9]|@(?:everyone|here))")


@given(MARKDOWN)
def test_every_part_is_within_the_limit_and_not_empty(markdown: str) -> None:
    parts = render_parts(OutboundBody(markdown))

    assert parts
    for part in parts:
        content = content_of(part)
        assert content.strip()
        assert utf16_length(content) <= 2000


@given(st.text(alphabet="ab <@>&#!|:t/1everyonh\\", max_size=60))
def test_prose_without_code_shows_no_mention(prose: str) -> None:
    for part in render_parts(OutboundBody(prose)):
        content = content_of(part)
        assert _LIVE.search(content) is None
        assert read_back(content) == part.plain
