"""Markdown as Discord messages: within the limit, fences whole, inert by construction; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from channels.discord.cards import button_rows, card_markdown, steps_markdown
from channels.discord.inert import make_inert, read_back
from channels.fields import list_of
from channels.markdown import draw_or_list, fence_code, parse_markdown, read_code, read_table
from channels.text import cut_text, split_markdown, utf16_length
from geode.messages import JsonObject, OutboundBody, Part

CONTENT_CHARS_MAX = 2_000
NOTHING = "(no text)"
SUPPRESS_EMBEDS = 1 << 2
TABLE_COLUMNS_MAX = 72
"""What a window with a list of members beside it shows of a code block before it breaks lines."""

_DEEP_HEADING = re.compile(r"^ {0,3}#{4,6} +(.+?)(?: +#+)?$", re.MULTILINE)


def render_parts(body: OutboundBody) -> tuple[Part, ...]:
    """The parts of an outbound body; each carries its own words as plain text too.

    A card's buttons stand under its last part.
    """
    parts = _text_parts(_markdown_of(body))
    rows = button_rows(body.card.buttons) if body.card else []
    if not rows:
        return parts
    *others, last = parts
    return (*others, replace(last, payload=last.payload | {"components": rows}))


def _markdown_of(body: OutboundBody) -> str:
    if body.card is not None:
        return card_markdown(body.card)
    return steps_markdown(body.markdown, body.steps) if body.steps else body.markdown


def _text_parts(markdown: str) -> tuple[Part, ...]:
    wire = _for_discord(markdown)
    texts = split_markdown(wire, CONTENT_CHARS_MAX, utf16_length) or [NOTHING]
    return tuple(Part(payload={"content": text}, plain=read_back(text)) for text in texts)


def content_of(part: Part) -> str:
    """The exact text of a part; one without a payload is plain and made inert here."""
    content = part.payload.get("content")
    if isinstance(content, str) and content:
        return content
    nothing = "" if part.file else NOTHING
    return cut_text(make_inert(part.plain), CONTENT_CHARS_MAX, utf16_length)[0] or nothing


def message_fields(part: Part, *, is_edit: bool = False) -> JsonObject:
    """What a message or an edit says: no link unfolds, and an edit takes old buttons away."""
    fields: JsonObject = {"content": content_of(part), "flags": SUPPRESS_EMBEDS}
    rows = list_of(part.payload, "components")
    if rows or is_edit:
        fields["components"] = rows
    return fields


def _for_discord(markdown: str) -> str:
    """Prose made inert, every kind of code block and table as a block that Discord knows."""
    lines = re.split(r"\r\n|\r|\n", markdown)
    made: list[str] = []
    at = 0
    for begin, end, block in _blocks(markdown):
        if begin < at:
            continue
        made += _prose(lines[at:begin])
        made.append(block)
        at = end
    return "\n".join([*made, *_prose(lines[at:])])


def _prose(lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    return [_DEEP_HEADING.sub(r"**\1**", make_inert("\n".join(lines)))]


def _blocks(markdown: str) -> Iterator[tuple[int, int, str]]:
    """Lines from, lines to, and what replaces them, for each code block and table."""
    tokens = parse_markdown(markdown)
    for position, token in enumerate(tokens):
        if token.map is None:
            continue
        begin, end = token.map
        if token.type == "table_open":
            shown = draw_or_list(read_table(tokens, position)[0], TABLE_COLUMNS_MAX)
            is_drawn = isinstance(shown, str)
            yield begin, end, fence_code(shown) if is_drawn else make_inert("\n\n".join(shown))
        elif token.type == "fence":
            language, code = read_code(token)
            yield begin, end, fence_code(code, language)
        elif token.type == "code_block":
            # Its range may run over blank lines that belong to nobody.
            lines = token.content.rstrip("\n").split("\n")
            yield begin, begin + len(lines), fence_code(token.content)
