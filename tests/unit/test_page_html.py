"""Markdown on the page is inert: a closed list of elements, shown targets, nothing loaded."""

from __future__ import annotations

import pytest
from fakes.page_attacks import ATTACKS
from fakes.page_html import find_foreign, parse_html

from channels.web.html import render_line, render_markdown, render_text


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("render", [render_markdown, render_text, render_line])
def test_html_of_an_attack_holds_allowed_elements_only(attack: str, render: object) -> None:
    assert callable(render)

    html = str(render(attack))

    assert find_foreign(html) == []
    assert "\x00" not in html


@pytest.mark.parametrize("attack", ["<script>alert(1)</script>", "&lt;b&gt;", "<!-- x -->"])
def test_html_shows_markup_as_it_was_written(attack: str) -> None:
    assert parse_html(render_markdown(attack)).get_text() == attack


def test_picture_becomes_a_link_and_nothing_is_loaded() -> None:
    html = render_markdown("![a chart](https://a.example/chart.png)")

    assert '<a href="https://a.example/chart.png"' in html
    assert "a chart</a>" in html
    assert "<img" not in html


def test_link_opens_elsewhere_and_says_nothing_about_here() -> None:
    (link,) = parse_html(render_markdown("[manual](https://a.example/m)")).find_all("a")

    assert link["target"] == "_blank"
    assert link["rel"] == ["noopener", "noreferrer", "nofollow"]


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("[bank.example](https://evil.example/x)", "https://evil.example/x"),
        ("[https://bank.example/](https://evil.example/)", "https://evil.example/"),
        (
            "[bank.example](https://bank.example@evil.example/)",
            "https://bank.example@evil.example/",
        ),
        ("[see bank.example now](https://evil.example/)", "https://evil.example/"),
        ("[me@bank.example](mailto:me@evil.example)", "mailto:me@evil.example"),
        ("[bаnk.example](https://evil.example/)", "https://evil.example/"),
        ("[](https://evil.example/)", "https://evil.example/"),
        ("![bank.example](https://evil.example/x.png)", "https://evil.example/x.png"),
    ],
)
def test_link_shows_its_target_when_its_words_name_another_place(markdown: str, shown: str) -> None:
    (target,) = parse_html(render_markdown(markdown)).select(".target")

    assert target.get_text() == f"({shown})"


@pytest.mark.parametrize(
    "markdown",
    ["[the manual](https://a.example)", "[a.example](https://a.example/x)", "<https://a.example>"],
)
def test_link_shows_no_target_when_its_words_hide_nothing(markdown: str) -> None:
    assert parse_html(render_markdown(markdown)).select(".target") == []


def test_refused_target_stands_beside_its_words() -> None:
    assert parse_html(render_markdown("[report](out/report.md)")).get_text() == (
        "report (out/report.md)"
    )


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("see https://a.example/x.", "https://a.example/x"),
        ("(https://a.example/a_(b))", "https://a.example/a_(b)"),
        ("https://a.example/?q=1&r=2!", "https://a.example/?q=1&r=2"),
    ],
)
def test_address_in_words_is_a_link_without_the_sentence_around_it(text: str, target: str) -> None:
    for html in (render_markdown(text), render_text(text)):
        (link,) = parse_html(html).find_all("a")
        assert link["href"] == target
        assert parse_html(html).get_text() == text


@pytest.mark.parametrize("char", ["\u202e", "\u202d", "\u2066", "\u2069", "\x1b", "\x07", "\x85"])
def test_character_that_acts_unseen_is_shown_by_its_number(char: str) -> None:
    for html in (render_markdown(f"a{char}b"), render_text(f"a{char}b"), render_line(f"a{char}b")):
        assert char not in html
        assert f"a[U+{ord(char):04X}]b" in html


def test_every_block_finds_its_own_direction() -> None:
    blocks = parse_html(render_markdown("مرحبا\n\nhello\n\n- שלום")).find_all(["p", "li"])

    assert {block["dir"] for block in blocks} == {"auto"}


def test_code_names_its_language_and_can_be_reached_by_keyboard() -> None:
    (code,) = parse_html(render_markdown("```python title\nx < 1\n\n```")).find_all("pre")

    assert code["tabindex"] == "0"
    assert code["aria-label"] == "Code, python"
    assert code.code["class"] == ["language-python"]
    assert code.get_text() == "x < 1\n"


def test_wide_table_lies_in_its_own_box_with_its_alignment() -> None:
    tree = parse_html(render_markdown("| a | b |\n|---|--:|\n| 1 | 2 |"))

    assert tree.select_one("div.wide[tabindex='0'] > table") is not None
    assert [cell.get_text() for cell in tree.select("td.right")] == ["2"]
    assert "style" not in str(tree)


def test_headings_stand_below_those_of_the_page() -> None:
    names = [tag.name for tag in parse_html(render_markdown("# a\n## b\n### c\n###### d"))]

    assert names == ["h4", "h5", "h6", "h6"]


def test_text_is_whole_where_a_parser_drops_some() -> None:
    wide_row = "| a |\n|---|\n| b | dropped |"
    deep = "> " * 200 + "deep"

    assert "dropped" in parse_html(render_markdown(wide_row)).get_text()
    assert "deep" in parse_html(render_markdown(deep)).get_text()
    assert "https://a.example" in render_markdown("[ref]: https://a.example 'unseen'")


def test_words_of_a_person_keep_their_lines_and_are_no_markdown() -> None:
    html = render_text("# one\ntwo **three**\n\n\nfour")

    assert html == '<p dir="auto"># one<br>two **three**</p><p dir="auto">four</p>'
