"""What a call of another server's tool came to, from the server's answer; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from geode.mcp.words import clean_words, escape_controls
from geode.patterns import finds
from geode.settings_mcp import McpToolSettings
from geode.steps import Applied, Done, Ending, NotApplied

LEAVES_MAX = 2_000
COMPARED_CHARS_MAX = 100_000
_ADDRESS_CHARS_MAX = 500
Answer = Mapping[str, Any]
"""A `CallToolResult` as JSON."""


def judge_answer(answer: Answer, text: str, settings: McpToolSettings) -> Ending:
    """How the call ended: an effect that the server calls failed has run all the same."""
    failed = answer.get("isError") is True
    if settings.fails_when:
        failed = failed or finds(settings.fails_when, text)
    if not failed:
        return Done(text)
    return NotApplied(text) if settings.effect == "read" else Applied(text)


def render_answer(answer: Answer) -> str:
    """The answer as text: what is not text is named and never fetched or shown."""
    content = cast("Sequence[Answer]", answer.get("content") or ())
    parts = [_render(block) for block in content]
    text = "\n".join(part for part in parts if part)
    structured = answer.get("structuredContent")
    if structured is not None and not _repeats(structured, text):
        written = json.dumps(structured, ensure_ascii=False)
        text = f"{text}\n{written}" if text else written
    return escape_controls(text)


def _render(block: Answer) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            size = len(str(block.get("data", "")))
            form = _name(block.get("mimeType"))
            return f"[{kind}, {form}, {size:,} characters of Base64; not shown]"
        case "resource_link":
            return f"[a link to {_name(block.get('uri'))}; it was not opened]"
        case "resource":
            return _render_resource(cast("Answer", block.get("resource") or {}))
        case other:
            return f"[content of the kind {_name(other)}; not shown]"


def _render_resource(resource: Answer) -> str:
    address = _name(resource.get("uri"))
    if isinstance(resource.get("text"), str):
        return f"[the content of {address}:]\n{resource['text']}"
    size = len(str(resource.get("blob", "")))
    return f"[the content of {address}, {size:,} characters of Base64; not shown]"


def _name(value: object) -> str:
    return clean_words(str(value or "?"), _ADDRESS_CHARS_MAX)


def _repeats(structured: object, text: str) -> bool:
    """Whether the text says all that the structure says: most servers send one result twice."""
    if not text or len(text) > COMPARED_CHARS_MAX:
        return bool(text)  # more than that is cut before anybody reads it
    leaves = 0
    for leaf in _leaves(structured):
        leaves += 1
        if leaves > LEAVES_MAX or leaf not in text:
            return False
    return leaves > 0


def _leaves(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending.extend(cast("dict[str, object]", each).values())
        elif isinstance(each, list):
            pending.extend(cast("list[object]", each))
        elif isinstance(each, str):
            yield each
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield json.dumps(each)
