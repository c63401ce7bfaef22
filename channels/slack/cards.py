"""Cards and live progress as Block Kit: pure, within every limit, inert like all other text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from channels.slack.blocks import Piece, render_pieces
from channels.slack.inline import escape, strip_controls
from channels.slack.presses import ASK, PRESS, PROMPT_CHARS_MAX
from channels.slack.render import (
    POST_CHARS_MAX,
    Post,
    pack_pieces,
    plain_of,
    render_posts,
    render_text,
)
from channels.text import cut_text, utf16_length
from geode.messages import (
    Button,
    Card,
    JsonObject,
    JsonValue,
    OutboundBody,
    Part,
    ProgressStep,
)

TITLE_CHARS_MAX = 150
FIELDS_MAX = 10
FIELD_CHARS_MAX = 200
"""A longer value is no field beside others, but a paragraph of the body."""
LABEL_CHARS_MAX = 75
TASKS_MAX = 30
"""The newest steps; a turn that used more tools shows no longer list."""
TASK_STATES = {
    "pending": "pending",
    "running": "in_progress",
    "done": "complete",
    "failed": "error",
}
PLAN = "plan"
_MENTION = re.compile(r"<(?=[!@#])")


def render_body(body: OutboundBody) -> tuple[Part, ...]:
    """The parts of an outbound body, whatever its kind."""
    if body.card is not None:
        return _render_card(body.card, body.markdown)
    if body.steps:
        return (_render_progress(body.markdown, body.steps),)
    return render_text(body.markdown)


def _render_card(card: Card, instead: str) -> tuple[Part, ...]:
    """A card as one post or more: the title stands on the first, the buttons under the last."""
    shown = [(escape(strip_controls(name)), _one_text(value)) for name, value in card.fields]
    are_short = all(utf16_length(value) <= FIELD_CHARS_MAX for _, value in shown)
    beside = shown[:FIELDS_MAX] if are_short else []
    posts = pack_pieces(_pieces_of(card, with_fields=not are_short)) or [Post(())]
    parts: list[Part] = []
    for number, post in enumerate(posts):
        blocks: list[JsonValue] = []
        if number == 0:
            blocks += [*_title_blocks(card.title), *_field_blocks(beside)]
        blocks += post.blocks
        if number == len(posts) - 1:
            blocks += _action_blocks(card.buttons)
        head = (escape(strip_controls(card.title)), *(f"{n}: {v}" for n, v in beside))
        text = "\n".join([*(head if number == 0 else ()), *post.sections])
        plain = instead if instead and len(posts) == 1 else plain_of(text)
        shown_text = cut_text(text, POST_CHARS_MAX, utf16_length)[0]
        parts.append(Part(payload={"text": shown_text, "blocks": blocks}, plain=plain))
    return tuple(parts)


def _pieces_of(card: Card, *, with_fields: bool) -> Iterator[Piece]:
    for name, value in card.fields if with_fields else ():
        yield Piece(f"*{escape(strip_controls(name))}*", "\n\n")
        yield from render_pieces(strip_controls(value))
    yield from render_pieces(strip_controls(card.body))


def _one_text(markdown: str) -> str:
    return "\n".join(render_posts(markdown)[0].sections) if markdown.strip() else "–"


def _title_blocks(title: str) -> list[JsonValue]:
    shown = _one_line(title)
    text: JsonObject = {"type": "plain_text", "text": shown, "emoji": False}
    return [{"type": "header", "text": text}] if shown else []


def _one_line(text: str) -> str:
    """Plain text as one line; a joiner keeps it from ever reading as a mention."""
    line = _MENTION.sub("<\u2060", " ".join(strip_controls(text).split()))
    return cut_text(line, TITLE_CHARS_MAX, utf16_length)[0].strip()


def _field_blocks(fields: Sequence[tuple[str, str]]) -> list[JsonValue]:
    shown: list[JsonValue] = [
        {"type": "mrkdwn", "text": f"*{name}*\n{value}", "verbatim": True} for name, value in fields
    ]
    return [{"type": "section", "fields": shown}] if shown else []


def _action_blocks(buttons: Sequence[Button]) -> list[JsonValue]:
    elements: list[JsonValue] = [_button(button) for button in buttons]
    return [{"type": "actions", "elements": elements}] if elements else []


def _button(button: Button) -> JsonObject:
    label = _one_line(button.label)[:LABEL_CHARS_MAX]
    shown: JsonObject = {
        "type": "button",
        "action_id": f"{ASK if button.asks else PRESS}{button.nonce}",
        "text": {"type": "plain_text", "text": label, "emoji": False},
    }
    if button.style != "plain":
        shown["style"] = button.style
    if button.asks:
        # The press brings the prompt back, so that nothing about the card is remembered here.
        shown["value"] = button.asks[:PROMPT_CHARS_MAX]
    return shown


def _render_progress(markdown: str, steps: Sequence[ProgressStep]) -> Part:
    """The line as text, and the steps as a plan where the workspace takes one."""
    (line, *_) = render_text(markdown)
    title = _one_line(line.plain)
    first = max(len(steps) - TASKS_MAX, 0)
    tasks: list[JsonValue] = [
        {
            "type": "task_card",
            "task_id": f"step-{first + number}",
            "title": _one_line(step.title) or "–",
            "status": TASK_STATES[step.state],
        }
        for number, step in enumerate(steps[first:], start=1)
    ]
    plan: list[JsonValue] = [{"type": PLAN, "title": title, "tasks": tasks}]
    return Part(payload={**line.payload, "blocks": plan}, plain=line.plain)


def has_plan(payload: JsonObject) -> bool:
    """Whether a payload shows its progress as a plan."""
    blocks = payload.get("blocks")
    return isinstance(blocks, list) and any(
        isinstance(block, dict) and block.get("type") == PLAN for block in blocks
    )


def without_plan(payload: JsonObject) -> JsonObject:
    """The same progress as its line of text, for a workspace that takes no plan."""
    text: JsonObject = {"type": "mrkdwn", "text": payload["text"], "verbatim": True}
    return {**payload, "blocks": [{"type": "section", "text": text}]}
