"""The one reading of Markdown: no word is left out, and tables are readable on every platform."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from channels.discord.render import render_parts as discord_parts
from channels.markdown import draw_tables, parse_markdown, read_code, trim_url
from channels.slack.render import render_text as slack_parts
from channels.telegram.render import render_parts as telegram_parts
from channels.web.html import render_markdown as to_html
from geode.messages import OutboundBody


def on_slack(markdown: str) -> str:
    return "\n\n".join(str(part.payload["text"]) for part in slack_parts(markdown))


def on_discord(markdown: str) -> str:
    return "\n\n".join(str(part.payload["content"]) for part in discord_parts(_body(markdown)))


def on_telegram(markdown: str) -> str:
    return "\n\n".join(str(part.payload["text"]) for part in telegram_parts(_body(markdown)))


def _body(markdown: str) -> OutboundBody:
    return OutboundBody(markdown)


EVERYWHERE = pytest.mark.parametrize(
    "show",
    [on_slack, on_discord, on_telegram, to_html],
    ids=["slack", "discord", "telegram", "web"],
)
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@EVERYWHERE
@pytest.mark.parametrize(
    "markdown",
    [
        "| a | b |\n|---|---|\n| one | two | three | four |",
        "> | a | b |\n> |---|---|\n> | one | two | three | four |",
        "- | a | b |\n  |---|---|\n  | one | two | three | four |",
        "> " * 70 + "one two three four",
        "one two three\n\n[four]: https://x.test/",
        "~~~" + "one two three four " * 10 + "\ncode\n~~~",
    ],
    ids=["row", "quoted row", "listed row", "deep quote", "definition", "info string"],
)
def test_no_word_is_left_out(show: Callable[[str], str], markdown: str) -> None:
    shown = show(markdown)

    places = [shown.find(word) for word in ("one", "two", "three", "four")]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize(
    "show", [on_slack, on_discord, on_telegram], ids=["slack", "discord", "tg"]
)
def test_table_that_is_too_wide_is_a_paragraph_per_row(show: Callable[[str], str]) -> None:
    long = "a sentence that nobody reads in a column " * 3
    shown = show(f"| Name | Note |\n|---|---|\n| Ada | {long}|\n| Bob | `x` |")

    plain = shown.replace("*", "").replace("`", "")
    assert f"Name: Ada\nNote: {long}".strip() in plain
    assert "Name: Bob\nNote: x" in plain
    assert "---" not in shown


@pytest.mark.parametrize(
    "show", [on_slack, on_discord, on_telegram], ids=["slack", "discord", "tg"]
)
def test_narrow_table_is_drawn_with_its_numbers_to_the_right(show: Callable[[str], str]) -> None:
    shown = show("| 名前 | Sum |\n|:--|--:|\n| " + FAMILY + " | 7 |\n| e\u0301 | 1200 |")

    assert f"名前 |  Sum\n-----+-----\n{FAMILY}   |    7\ne\u0301    | 1200" in shown


def test_table_in_the_source_can_be_split_after_it_is_drawn() -> None:
    assert draw_tables("text\r\n| a |\r\n|---|\r\n| 1 |\r\n# end", 40) == (
        "text\n\n```\na\n-\n1\n```\n\n# end"
    )


@pytest.mark.parametrize(
    ("info", "language", "code"),
    [("py", "py", "x"), ("", "", "x"), ("word " * 20, "", f"{'word ' * 20}".strip() + "\nx")],
)
def test_long_info_string_is_the_first_line_of_the_code(
    info: str, language: str, code: str
) -> None:
    (token,) = parse_markdown(f"~~~{info}\nx\n~~~")

    assert read_code(token) == (language, code)


@pytest.mark.parametrize(
    ("url", "trimmed"),
    [
        ("https://x.test/a_(b)", "https://x.test/a_(b)"),
        ("https://x.test/a).", "https://x.test/a"),
        ("https://x.test/?q=1&b=2!", "https://x.test/?q=1&b=2"),
    ],
)
def test_address_ends_before_the_punctuation_of_its_sentence(url: str, trimmed: str) -> None:
    assert trim_url(url) == trimmed
