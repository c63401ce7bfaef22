"""Whatever document a model writes, each platform's parts fit, are accepted and lose nothing."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import regex
from bs4 import BeautifulSoup
from fakes.markdown_maker import ASTRAL, DOCUMENTS, FENCES, RAGGED, TABLES, TEXTS
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from channels.discord.render import content_of, message_fields
from channels.discord.render import render_parts as render_discord
from channels.discord.silence import silence
from channels.markdown import draw_tables
from channels.rehearsal import discord_rules, slack_rules, telegram_rules
from channels.slack.render import render_text as render_slack
from channels.slack.render import unescape
from channels.telegram.markup import TABLE_COLUMNS_MAX
from channels.telegram.render import render_parts as render_telegram
from channels.text import INFO_CHARS_MAX, cut_text, split_markdown, utf16_length
from channels.web.html import render_markdown
from channels.web.render import TEXT_CHARS_MAX
from channels.web.render import render_parts as render_page
from geode.messages import JsonObject, OutboundBody, Part

FENCE_LINE = re.compile(r"[ \t]*(?:`{3,}|~{3,})(?P<info>[^\n]*)")
CODE = re.compile(r"```.*?```|(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", re.DOTALL)
LIVE = re.compile(r"(?<!\\)(?:\\\\)*(?:<(?:@[!&]?|#)[0-9]|@(?:everyone|here))")
_UNSEEN = re.compile("[\u200b\u2060\ufe0f\u200f]")


def letters(text: str) -> str:
    """The letters and digits of any script, in order: what no rendering may lose or turn around."""
    plain = unicodedata.normalize("NFC", _UNSEEN.sub("", text))
    return "".join(char for char in plain if char.isalnum())


def without_fences(text: str) -> str:
    """A text without fences, languages and white space: what splitting may not change.

    An info string that is too long for a language is text, and stands in the code.
    """
    return re.sub(r"\s", "", "\n".join(map(_without_fence, text.split("\n"))))


def _without_fence(line: str) -> str:
    fence = FENCE_LINE.match(line)
    if fence is None:
        return line
    info = fence["info"].strip()
    return info if len(info) > INFO_CHARS_MAX else ""


def has_lone_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


@pytest.mark.parametrize(("limit", "measure"), [(2_000, utf16_length), (4_096, utf16_length)])
@given(document=DOCUMENTS)
@example(document=ASTRAL)
def test_split_parts_joined_are_the_source(document: str, limit: int, measure: object) -> None:
    assert callable(measure)
    parts = split_markdown(document, limit, measure)

    assert all(measure(part) <= limit for part in parts)
    assert without_fences("\n".join(parts)) == without_fences(document)
    assert not any(has_lone_surrogate(part) for part in parts)


@given(document=DOCUMENTS)
@example(document=ASTRAL)
def test_slack_takes_every_post_and_nothing_pings(document: str) -> None:
    parts = render_slack(document)

    for part in parts:
        assert slack_rules.check_message(dict(part.payload)) == ""
        text = str(part.payload["text"])
        assert len(text) <= 4_000
        blocks = slack_rules.block_texts(part.payload["blocks"])
        shown = "\n".join(blocks)
        assert re.sub(r"<(https?://|mailto:)[^<>|]*>", "", shown).count("<") == 0


def shown_of_slack(part: Part) -> str:
    return "\n".join(slack_rules.block_texts(part.payload["blocks"]))


@given(document=DOCUMENTS)
@example(document=ASTRAL)
def test_discord_takes_every_part_and_nothing_pings(document: str) -> None:
    parts = render_discord(OutboundBody(document))

    for part in parts:
        body = silence(message_fields(part))
        discord_rules.check_message(body)
        assert not discord_rules.is_pinging(body)
        assert LIVE.search(CODE.sub("", content_of(part))) is None
        assert not has_lone_surrogate(content_of(part))


@given(document=DOCUMENTS)
@example(document=ASTRAL)
def test_telegram_takes_every_part_and_every_entity(document: str) -> None:
    parts = render_telegram(OutboundBody(document))

    for part in parts:
        call: JsonObject = {"chat_id": 1, **part.payload}
        text = str(part.payload["text"])
        assert telegram_rules.check_text(call) == ""
        assert telegram_rules.check_entities(text, call) == ""
        assert utf16_length(text) <= 4_096
        assert not has_lone_surrogate(text)
        assert pings_in_telegram(part) == []
    source = draw_tables(document, TABLE_COLUMNS_MAX)
    assert without_fences("\n".join(part.plain for part in parts)) == without_fences(source)


def pings_in_telegram(part: Part) -> list[Any]:
    """The mentions that Telegram finds by itself; in code it looks for none."""
    found: Any = telegram_rules.find_entities(str(part.payload["text"]))
    written: Any = part.payload["entities"]
    code = [e for e in written if e["type"] in ("code", "pre")]
    return [
        e
        for e in found
        if e["type"] == "mention"
        and not any(c["offset"] <= e["offset"] < c["offset"] + c["length"] for c in code)
    ]


@given(document=DOCUMENTS)
@example(document=ASTRAL)
def test_page_shows_every_letter_and_runs_nothing(document: str) -> None:
    parts = render_page(OutboundBody(document))

    assert all(len(part.plain) <= TEXT_CHARS_MAX for part in parts)
    assert without_fences("\n".join(part.plain for part in parts)) == without_fences(document)
    html = "".join(render_markdown(part.plain) for part in parts)
    assert (
        re.search(
            r"<(?!/?(?:p|a|b|br|bdi|span|strong|em|s|ul|ol|li|hr|h[1-6]|blockquote|div|"
            r"table|thead|tbody|tr|th|td|figure|figcaption|pre|code)\b)",
            html,
        )
        is None
    )
    assert 'href="javascript' not in html


def visible(document: str) -> str:
    """What a reader is to see, by the parser as it comes and by nothing of ours."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 500}).enable(["table"])
    tokens = [c for token in parser.parse(document) for c in token.children or [token]]
    shown = ("text", "code_inline", "fence", "code_block", "image")
    return letters("".join(token.content for token in tokens if token.type in shown))


def is_within(wanted: str, told: str) -> bool:
    """Whether every letter comes, in order; more may stand between, such as an address."""
    rest = iter(told)
    return all(letter in rest for letter in wanted)


SHOWN: dict[str, Callable[[str], list[str]]] = {
    "slack": lambda text: [unescape(shown_of_slack(part)) for part in render_slack(text)],
    "discord": lambda text: [content_of(part) for part in render_discord(OutboundBody(text))],
    "telegram": lambda text: [
        str(part.payload["text"]) for part in render_telegram(OutboundBody(text))
    ],
    "web": lambda text: [
        BeautifulSoup(render_markdown(part.plain), "html.parser").get_text()
        for part in render_page(OutboundBody(text))
    ],
}


@pytest.mark.parametrize("platform", sorted(SHOWN))
@given(document=TEXTS)
def test_every_letter_of_the_source_is_shown_in_order(platform: str, document: str) -> None:
    told = letters("".join(SHOWN[platform](document)))

    assert is_within(visible(document), told)


@pytest.mark.parametrize("platform", sorted(SHOWN))
@given(table=st.one_of(TABLES, RAGGED))
def test_every_cell_of_a_table_is_shown(platform: str, table: str) -> None:
    told = "".join(SHOWN[platform](table))

    wanted = Counter(letters(re.sub(r"\]\([^)]*\)", "]", table)))
    assert not wanted - Counter(letters(told))


@settings(max_examples=40)
@given(fence=FENCES, before=st.integers(0, 2_100))
def test_code_that_is_split_keeps_its_fence_in_every_part(fence: str, before: int) -> None:
    parts = render_discord(OutboundBody(f"{'x' * before}\n\n{fence}\n\nDone."))

    for part in parts:
        lines = content_of(part).split("\n")
        assert sum(line.startswith("```") for line in lines) % 2 == 0


def characters(text: str) -> list[str]:
    """What a reader sees as characters, by a library that the renderers do not use."""
    return [one for one in regex.findall(r"\X", text) if one.strip()]


@given(document=DOCUMENTS, limit=st.integers(200, 2_000))
@example(document=ASTRAL, limit=201)
def test_no_split_falls_inside_a_character(document: str, limit: int) -> None:
    parts = split_markdown(document, limit, utf16_length)

    source = without_fences(document)
    whole = Counter(one for one in characters(source))
    found = Counter(one for part in parts for one in characters(without_fences(part)))
    assert found == whole


@given(text=TEXTS, limit=st.integers(1, 60))
def test_cut_falls_between_two_characters(text: str, limit: int) -> None:
    first = regex.match(r"\X", text)
    head, tail = cut_text(text, limit, utf16_length)

    assert head + tail == text
    if first and utf16_length(first[0]) <= limit:
        both = regex.findall(r"\X", head) + regex.findall(r"\X", tail)
        assert both == regex.findall(r"\X", text)
