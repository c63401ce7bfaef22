"""What is said at the terminal as the payloads of its rows, and as its clients see them; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from geode.messages import Button, Card, JsonObject, JsonValue, OutboundBody, Part
from geode.transcripts import RoomMessage

TEXT_CHARS_MAX = 100_000
"""More than any model writes at once; a longer text is several messages."""
NOTHING = "(no text)"


def render_parts(body: OutboundBody) -> tuple[Part, ...]:
    """One part, or several of a text that no terminal message holds."""
    card = None if body.card is None else _card_to_json(body.card)
    steps: list[JsonValue] = [{"title": s.title, "state": s.state} for s in body.steps]
    texts = list(_cut(body.markdown)) if body.card is None else [body.markdown]
    return tuple(
        Part({"kind": body.kind, "markdown": text, "card": card, "steps": steps}, text)
        for text in texts or [NOTHING]
    )


def render_plain(text: str, kind: str = "answer") -> JsonObject:
    """Words of the runtime's own as a message."""
    return {"kind": kind, "markdown": text, "card": None, "steps": []}


def payload_of(part: Part) -> JsonObject:
    """What a part says; one without a payload is its plain text."""
    return dict(part.payload) if part.payload else render_plain(part.plain)


def show_message(message: RoomMessage) -> JsonObject:
    """A message as a client gets it: no nonce leaves the daemon, buttons go by their number."""
    said = message.payload
    files: list[JsonValue] = [
        {"name": f.name, "size_bytes": f.size_bytes, "sha256": f.sha256} for f in message.files
    ]
    return {
        "id": message.id,
        "key": "" if message.author is None else message.key.rpartition(":")[2],
        "revision": message.revision,
        "said_at_us": message.said_at_us,
        "by": "" if message.author is None else message.author.name or message.author.id,
        "kind": "said" if message.author is not None else str(said.get("kind", "answer")),
        "markdown": str(said.get("text" if message.author is not None else "markdown", "")),
        "card": _show_card(said.get("card")),
        "files": files,
    }


def read_buttons(message: RoomMessage) -> list[Button]:
    """The buttons of a card that is shown; none on one that is over."""
    card = message.payload.get("card")
    found = cast("list[dict[str, str]]", card.get("buttons", [])) if isinstance(card, dict) else []
    return [Button(each["label"], each["nonce"], asks=each["asks"]) for each in found]


def _show_card(card: JsonValue) -> JsonValue:
    if not isinstance(card, dict):
        return None
    buttons = cast("list[dict[str, Any]]", card.get("buttons", []))
    shown: list[JsonValue] = [
        {name: each[name] for name in ("label", "style", "asks")} for each in buttons
    ]
    return {**card, "buttons": shown}


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


def _cut(text: str) -> Iterator[str]:
    """Pieces within the limit, cut behind a line where there is one."""
    while len(text) > TEXT_CHARS_MAX:
        at = text.rfind("\n", TEXT_CHARS_MAX // 2, TEXT_CHARS_MAX) + 1 or TEXT_CHARS_MAX
        yield text[:at]
        text = text[at:]
    if text:
        yield text
