"""Whatever the text: the page's HTML holds allowed elements only, and every letter of it."""

from __future__ import annotations

from collections import Counter

from fakes.page_html import find_foreign, parse_html
from hypothesis import given
from hypothesis import strategies as st

from channels.web.html import render_line, render_markdown, render_text, show_invisible

PIECES = (
    *("<", ">", "&", '"', "'", "`", "```", "~~~", "*", "**", "_", "~~", "[", "]", "(", ")", "!"),
    *("|", "\n", "\n\n", "    ", "> ", "- ", "1. ", "# ", "---", "\\", ":", "//", "|---|", "\t"),
    *("javascript:", "https://a.example", "data:", "&colon;", "<script>", "onload=", "-->", "<!--"),
    *(
        "a",
        "слово",
        "字",
        "שלום",
        "\u202e",
        "\u2066",
        "\x00",
        "\x0c",
        "👩‍👩‍👧",
        "é",
        "\ud800",
        "\r",
    ),
)
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@given(TEXTS)
def test_html_of_any_text_holds_allowed_elements_only(text: str) -> None:
    for html in (render_markdown(text), render_text(text), render_line(text)):
        assert find_foreign(html) == []
        html.encode()


@given(TEXTS)
def test_html_of_any_text_keeps_every_letter(text: str) -> None:
    for html in (render_markdown(text), render_text(text)):
        assert (
            Counter(_letters(show_invisible(text))) - Counter(_letters(_shown(html))) == Counter()
        )


def _letters(text: str) -> str:
    return "".join(char for char in text if char.isalpha())


def _shown(html: str) -> str:
    tree = parse_html(html)
    targets = [str(link["href"]) for link in tree.find_all("a")]
    return "".join([tree.get_text(), *targets])
