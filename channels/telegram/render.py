"""Outbound bodies as Telegram's messages: text and entities within the limit, no parse mode."""

from __future__ import annotations

from collections.abc import Iterator

from channels.telegram.markup import Rendered, make_inert, render_markdown
from channels.text import cut_text, split_markdown, utf16_length
from geode.messages import JsonObject, OutboundBody, Part

TEXT_UNITS_MAX = 4_096
SPLIT_UNITS_MIN = 256
NOTHING = "(no text)"


def measure(text: str) -> int:
    """How long a text is at most once it is inert, in UTF-16 units; additive."""
    return utf16_length(text) + text.count("@")


def render_parts(body: OutboundBody) -> tuple[Part, ...]:
    """The parts of a body; each carries its own piece of the Markdown as plain text."""
    parts: list[Part] = []
    for source, rendered in _pieces(body.markdown, TEXT_UNITS_MAX):
        payload: JsonObject = {"text": rendered.text, "entities": rendered.entities}
        parts.append(Part(payload, source))
    return tuple(parts) or (Part({"text": NOTHING, "entities": []}, NOTHING),)


def render_plain(text: str) -> JsonObject:
    """Plain text as a message's content, whatever stands in it."""
    inert = make_inert(text)
    if utf16_length(inert) > TEXT_UNITS_MAX:
        inert = cut_text(inert, TEXT_UNITS_MAX, utf16_length)[0]
    return {"text": inert if inert.strip() else NOTHING}


def _pieces(markdown: str, limit: int) -> Iterator[tuple[str, Rendered]]:
    """Pieces of the source with their rendering; one that grows too long is split further."""
    for source in split_markdown(markdown, limit, measure):
        rendered = render_markdown(source)
        if utf16_length(rendered.text) <= TEXT_UNITS_MAX:
            yield source, rendered if rendered.text else Rendered(make_inert(source).strip(), [])
        elif limit // 2 >= SPLIT_UNITS_MIN:
            yield from _pieces(source, limit // 2)
        else:
            yield source, Rendered(make_inert(source).strip(), [])
