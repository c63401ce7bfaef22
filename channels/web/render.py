"""Outbound bodies as the page's own payloads, drawn only when somebody looks; pure."""

from __future__ import annotations

from channels.text import split_markdown
from geode.messages import Card, JsonObject, JsonValue, OutboundBody, Part, ProgressStep

TEXT_CHARS_MAX = 12_000
NOTHING = "(no text)"


def render_parts(body: OutboundBody) -> tuple[Part, ...]:
    """One part, or several of a text that is too long for one message of a page."""
    texts = split_markdown(body.markdown, TEXT_CHARS_MAX) or [NOTHING]
    if body.card is not None:
        texts = [_first_line(body)]
    parts = [Part(_payload(body, text), text) for text in texts]
    return tuple(parts)


def render_plain(text: str) -> JsonObject:
    """Words as a message, without formatting of their own."""
    return {"kind": "answer", "markdown": text, "card": None, "steps": []}


def render_whisper(markdown: str) -> JsonObject:
    """An answer to one person alone."""
    return {"kind": "whisper", "markdown": markdown, "card": None, "steps": []}


def payload_of(part: Part) -> JsonObject:
    """What a part says; one without a payload is its plain text."""
    return dict(part.payload) if part.payload else render_plain(part.plain)


def _payload(body: OutboundBody, text: str) -> JsonObject:
    card = None if body.card is None else _card_to_json(body.card)
    steps: list[JsonValue] = [_step_to_json(step) for step in body.steps]
    return {"kind": body.kind, "markdown": text, "card": card, "steps": steps}


def _first_line(body: OutboundBody) -> str:
    title = body.card.title if body.card else ""
    return body.markdown.strip() or title or NOTHING


def _card_to_json(card: Card) -> JsonObject:
    return {
        "title": card.title,
        "body": card.body,
        "fields": [[name, value] for name, value in card.fields],
        "buttons": [
            {"label": b.label, "nonce": b.nonce, "style": b.style, "asks": b.asks}
            for b in card.buttons
        ],
    }


def _step_to_json(step: ProgressStep) -> JsonObject:
    return {"title": step.title, "state": step.state}
