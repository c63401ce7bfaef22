"""Outbound bodies as Telegram's messages: text and entities within the limit, no parse mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from channels.markdown import draw_tables
from channels.telegram.cards import card_to_keyboard, card_to_markdown, escape_markdown
from channels.telegram.markup import TABLE_COLUMNS_MAX, Rendered, make_inert, render_markdown
from channels.text import cut_text, split_markdown, utf16_length
from geode.messages import JsonObject, OutboundBody, Part, ProgressStep

TEXT_UNITS_MAX = 4_096
CAPTION_UNITS_MAX = 1_024
ALERT_UNITS_MAX = 200
SPLIT_UNITS_MIN = 256
NOTHING = "(no text)"
DOUBLED = "\n(possibly doubled)"
"""Below a message that was sent once more because nobody can look for the first one."""
PLANNED_UNITS_MAX = TEXT_UNITS_MAX - len(DOUBLED)
MARKS = {"pending": "○", "running": "…", "done": "✓", "failed": "✗"}


def measure(text: str) -> int:
    """How long a text is at most once it is inert, in UTF-16 units; additive."""
    return utf16_length(text) + text.count("@")


def render_parts(body: OutboundBody) -> tuple[Part, ...]:
    """The parts of a body; each carries its own piece of the Markdown as plain text."""
    parts: list[Part] = []
    # A table that is drawn first can be split like any code, and keeps its columns.
    markdown = draw_tables(_markdown_of(body), TABLE_COLUMNS_MAX)
    for source, rendered in _pieces(markdown, PLANNED_UNITS_MAX):
        payload: JsonObject = {"text": rendered.text, "entities": rendered.entities}
        parts.append(Part(payload, source))
    if not parts:
        parts.append(Part({"text": NOTHING, "entities": []}, NOTHING))
    keyboard = card_to_keyboard(body.card) if body.card else None
    if keyboard is not None:
        parts[-1] = replace(parts[-1], payload={**parts[-1].payload, "reply_markup": keyboard})
    return tuple(parts)


def _markdown_of(body: OutboundBody) -> str:
    if body.card is not None:
        return card_to_markdown(body.card)
    return f"{body.markdown}\n\n{steps_to_markdown(body.steps)}" if body.steps else body.markdown


def steps_to_markdown(steps: Sequence[ProgressStep]) -> str:
    """One line for each tool that was used, oldest first."""
    return "\n".join(f"{MARKS[step.state]} {escape_markdown(step.title)}" for step in steps)


def render_plain(text: str, units_max: int = TEXT_UNITS_MAX) -> JsonObject:
    """Plain text as a message's content, whatever stands in it."""
    inert = make_inert(text)
    if utf16_length(inert) > units_max:
        inert = cut_text(inert, units_max, utf16_length)[0]
    return {"text": inert if inert.strip() else NOTHING}


def render_alert(markdown: str, units_max: int) -> str:
    """Markdown as the plain text of an alert, cut where it grows too long."""
    text = render_markdown(markdown).text
    if utf16_length(text) <= units_max:
        return text
    return cut_text(text, units_max - 1, utf16_length)[0].rstrip() + "…"


def render_caption(plain: str) -> JsonObject:
    """A file's caption as text and entities; one that is too long is cut."""
    rendered = render_markdown(plain)
    if rendered.is_whole and utf16_length(rendered.text) <= CAPTION_UNITS_MAX:
        return {"text": rendered.text, "entities": rendered.entities}
    return render_plain(plain, CAPTION_UNITS_MAX)


def mark_doubled(part: Part) -> Part:
    """The part with a line that says that it may stand there twice."""
    payload = dict(part.payload) if part.payload else render_plain(part.plain, PLANNED_UNITS_MAX)
    text = f"{payload.get('text', '')}{DOUBLED}"
    return replace(part, payload={**payload, "text": text}, plain=f"{part.plain}{DOUBLED}")


def _pieces(markdown: str, limit: int) -> Iterator[tuple[str, Rendered]]:
    """Pieces of the source with their rendering; one that grows too long is split further."""
    for source in split_markdown(markdown, limit, measure):
        rendered = render_markdown(source)
        if rendered.is_whole and utf16_length(rendered.text) <= PLANNED_UNITS_MAX:
            yield source, rendered if rendered.text else Rendered(make_inert(source).strip(), [])
        elif limit // 2 >= SPLIT_UNITS_MIN:
            yield from _pieces(source, limit // 2)
        else:
            yield source, Rendered(make_inert(source).strip(), [])
