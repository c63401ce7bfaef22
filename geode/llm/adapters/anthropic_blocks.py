"""The content blocks of one Anthropic answer as a message of ours, nothing signed changed; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from geode.llm.adapters.anthropic_wire import WIRE, dump_json
from geode.llm.arguments import parse_call
from geode.messages import Block, Message, Text

_REASONING = frozenset({"thinking", "redacted_thinking"})
_PLAIN_KEYS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}


@dataclass(slots=True)
class OpenBlock:
    """A block as its start event gave it, with the pieces that came since, by field."""

    block: dict[str, Any]
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def blocks_to_message(opened: Mapping[int, OpenBlock]) -> Message:
    """The assistant message: neutral blocks, and the provider's own where ours would lose some.

    Blank text, reasoning that was cut before its signature, and reasoning that nothing follows are
    left out of both: the provider refuses them in the next request.
    """
    neutral: list[Block] = []
    own: list[dict[str, Any]] = []
    for index in sorted(opened):
        block, call_text = _close_block(opened[index], index)
        kind = block.get("type")
        if kind == "text":
            if not block["text"].strip():
                continue
            neutral.append(Text(block["text"]))
        elif kind == "tool_use":
            call = parse_call(str(block["id"]), str(block["name"]), call_text)
            neutral.append(call)
            block["input"] = call.arguments or {}
        elif kind == "thinking" and not block.get("signature"):
            continue  # cut in the middle: the provider would refuse it unsigned
        own.append(block)
    while own and own[-1].get("type") in _REASONING:
        own.pop()  # an assistant message that ends with reasoning is refused
    is_plain = all(_is_plain(block) for block in own)
    opaque = b"" if is_plain else dump_json(own)
    return Message("assistant", tuple(neutral), provider=WIRE, opaque=opaque)


def _close_block(opened: OpenBlock, index: int) -> tuple[dict[str, Any], str]:
    """The block with its pieces joined, and a call's argument text."""
    block = opened.block
    for key in ("text", "thinking", "signature"):
        pieces = opened.pieces.get(key)
        if pieces is not None:
            block[key] = clean_text(str(block.get(key) or "") + "".join(pieces))
    if block.get("type") == "text":
        block["text"] = clean_text(str(block.get("text") or ""))
    call_text = clean_text("".join(opened.pieces.get("input", ())))
    if block.get("type") == "tool_use":
        block["id"] = block.get("id") or f"toolu_{index}"
        block["name"] = block.get("name") or ""
        if not call_text.strip() and block.get("input"):
            call_text = json.dumps(block["input"])
    elif call_text:
        block["input"] = _load_or_keep(call_text)
    return block, call_text


def _is_plain(block: Mapping[str, object]) -> bool:
    """Whether our neutral form loses nothing of the block, so that its bytes need no keeping."""
    known = _PLAIN_KEYS.get(str(block.get("type")), frozenset())
    return all(key in known or value is None for key, value in block.items())


def clean_text(text: str) -> str:
    """Surrogate pairs that arrived in two pieces become one character; lone ones are replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _load_or_keep(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return {}
