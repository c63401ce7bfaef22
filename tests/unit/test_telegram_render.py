"""Markdown as text and entities: what is meant, within the limit, and nothing that pings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.fields import objects_of
from channels.rehearsal.telegram_rules import check_text
from channels.telegram.markup import make_inert, render_markdown
from channels.telegram.render import render_caption, render_parts
from channels.text import utf16_length
from geode.messages import JsonObject, OutboundBody


def shown(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """The text, and each entity with the characters it covers."""
    rendered = render_markdown(markdown)
    units = rendered.text.encode("utf-16-le")
    covered = [
        (str(e["type"]), units[int(e["offset"]) * 2 : (int(e["offset"]) + int(e["length"])) * 2])
        for e in rendered.entities
        if isinstance(e, dict)
    ]
    return rendered.text, [(kind, part.decode("utf-16-le")) for kind, part in covered]


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("plain _a_b_c!", "plain _a_b_c!", []),
        (
            "**b** *i* ~~s~~ `c`",
            "b i s c",
            [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")],
        ),
        ("# Title\n\ntext", "Title\n\ntext", [("bold", "Title")]),
        ("😀 **é**", "😀 é", [("bold", "é")]),
        ("**a `b` c**", "a b c", [("bold", "a "), ("code", "b"), ("bold", " c")]),
        ("- one\n- two\n  - deep", "• one\n• two\n    ◦ deep", []),
        ("3. x\n4. y", "3. x\n4. y", []),
        ("> said\n> more\n\nme", "said\nmore\n\nme", [("blockquote", "said\nmore")]),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
        ("[here](https://x.test/a)", "here", [("text_link", "here")]),
        ("[https://bank.test](https://x.test)", "https://bank.test (https://x.test)", []),
        ("[mail](mailto:a@x.test)", "mail (mailto:a@x.test)", []),
        ("<https://x.test/a_b>", "https://x.test/a_b", []),
        ("![alt](http://x.test/a_b.png)", "alt http://x.test/a_b.png", []),
        ("<b>&amp;</b>", "<b>&amp;</b>", []),
        ("a\\!", "a!", []),
    ],
)
def test_markdown_becomes_text_and_entities(
    markdown: str, text: str, entities: list[tuple[str, str]]
) -> None:
    assert shown(markdown) == (text, entities)


def test_code_block_keeps_its_language_and_a_table_its_columns() -> None:
    rendered = render_markdown("```py\nx = 1\n```\n\n| a | 名 |\n|---|---|\n| 1 | 2 |")

    assert rendered.text == "x = 1\n\na | 名\n--+---\n1 | 2"
    first, second = rendered.entities
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert (first["type"], first["language"]) == ("pre", "py")
    assert second["type"] == "pre"


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("ask @ana_smith", "ask @\u2060ana_smith"),
        ("mail a@b.test", "mail a@b.test"),
        ("https://x.test/@ana_smith", "https://x.test/@ana_smith"),
        ("交给@ana_smith", "交给@\u2060ana_smith"),
    ],
)
def test_names_ping_nobody_and_addresses_stay_whole(text: str, inert: str) -> None:
    assert make_inert(text) == inert
    assert make_inert(inert) == inert


def test_name_in_code_is_left_as_it_is() -> None:
    assert render_markdown("`@ana_smith`").text == "@ana_smith"


def test_table_that_grows_beyond_the_limit_is_split_and_loses_no_cell() -> None:
    rows = [f"| {'x' * 250} | r{n} |" for n in range(20)]
    rows[5] = f"| {'w' * 600} | r5 |"
    parts = render_parts(OutboundBody("\n".join(["| a | b |", "|---|---|", *rows])))

    texts = [str(part.payload["text"]) for part in parts]
    assert len(parts) > 1
    assert all(utf16_length(text) <= 4096 for text in texts)
    assert all(f"r{n}" in "".join(texts) for n in range(20))


@pytest.mark.parametrize("markdown", ["", " \n", "```\n```", "[](http://x.test)", "---\n"])
def test_body_without_words_still_says_something(markdown: str) -> None:
    (part,) = render_parts(OutboundBody(markdown))

    assert str(part.payload["text"]).strip()
    assert check_text(dict(part.payload)) == ""


MARKS = ["**", "*", "_", "`", "```\n", "~~", "> ", "- ", "1. ", "# ", "\n", "\n\n", " ", "    "]
WORDS = ["[a](http://x.y)", "[", "](http://x.test)", "![i](u)", "|", "|---|\n", "<b>"]
PIECES = st.sampled_from([*MARKS, *WORDS, "@ana_smith", "😀", "é", "text"])
MARKDOWN = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200)


@given(MARKDOWN)
def test_every_part_is_what_telegram_takes(markdown: str) -> None:
    text = markdown.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    for part in render_parts(OutboundBody(text)):
        payload: JsonObject = dict(part.payload)
        assert check_text(payload) == ""
        assert len(objects_of(payload, "entities")) <= 100
        assert part.plain.strip()


def test_code_that_finds_no_entity_goes_in_a_further_message_and_pings_nobody() -> None:
    parts = render_parts(OutboundBody("`@ana_smith` " * 150))

    assert len(parts) > 1
    for part in parts:
        entities = objects_of(dict(part.payload), "entities")
        assert len(entities) == str(part.payload["text"]).count("@ana_smith")


def test_code_keeps_its_entity_where_styles_need_too_many() -> None:
    (part,) = render_parts(OutboundBody("**b** _i_ " * 80 + "`@ana_smith`"))

    kinds = [entity["type"] for entity in objects_of(dict(part.payload), "entities")]
    assert (len(kinds), kinds[-1]) == (100, "code")


def test_caption_with_too_much_code_for_its_entities_pings_nobody() -> None:
    caption = render_caption("`@ana` " * 110)

    assert "entities" not in caption
    assert "@ana" not in str(caption["text"])
