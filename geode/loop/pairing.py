"""A conversation every provider accepts: each call has its result, no block is blank; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import orjson

from geode.messages import Block, Image, JsonObject, Message, Text, ToolCall, ToolResult

INTERRUPTED = (
    "Interrupted: the runtime stopped before this call had a result. "
    "Check what is there before you repeat it."
)
NO_OUTPUT = "(no output)"

# Marks on a message that was looked at before: a whole history is looked at in every turn.
_CLEAN = "clean"
_ANSWERS = "answers"


def pair_messages(messages: Sequence[Message]) -> list[Message]:
    """The messages with exactly one result per call right behind it, and nothing blank.

    A lost result becomes an `is_error` one, a result without its call is dropped, one that stands
    too late moves up. Messages that are right already are the same objects; doing it twice changes
    nothing.
    """
    paired: list[Message] = []
    for index, message in enumerate(messages):
        if message.role == "tool":
            continue
        cleaned = clean_message(message)
        if cleaned is None:
            continue
        paired.append(cleaned)
        if cleaned.role == "assistant":
            calls = cleaned.calls
            if calls:
                paired.append(_find_results(calls, messages, index + 1))
    return paired


def answers_exactly(answer: Message, calls: Sequence[ToolCall]) -> bool:
    """Whether a tool message holds one result per call, in order, none blank, and nothing else."""
    answered = answer.wire.get(_ANSWERS)
    if answered is None:
        blocks = answer.blocks
        is_whole = answer.role == "tool" and all(
            isinstance(block, ToolResult) and not _is_blank(block.text) for block in blocks
        )
        answered = _list_ids(answer.results) if is_whole else b""
        answer.wire[_ANSWERS] = answered
    return answered == _list_ids(calls)


def _find_results(calls: Sequence[ToolCall], messages: Sequence[Message], first: int) -> Message:
    if first < len(messages) and answers_exactly(messages[first], calls):
        return messages[first]
    found: dict[str, list[ToolResult]] = {}
    for message in messages[first:]:
        if message.role == "assistant":
            break
        for result in message.results:
            found.setdefault(result.call_id, []).append(result)
    results: list[ToolResult] = []
    for call in calls:
        known = found.get(call.call_id)
        result = known.pop(0) if known else ToolResult(call.call_id, INTERRUPTED, is_error=True)
        results.append(replace(result, text=NO_OUTPUT) if _is_blank(result.text) else result)
    return Message("tool", tuple(results))


def clean_message(message: Message) -> Message | None:
    """A user or assistant message without blank text and stray results; None when none is left.

    An assistant message may hold nothing but its provider's own blocks.
    """
    if _CLEAN in message.wire:
        return message
    if all(_may_stay(block) for block in message.blocks):
        if not message.blocks and not message.opaque:
            return None
        message.wire[_CLEAN] = b""
        return message
    blocks = tuple(block for block in message.blocks if _may_stay(block))
    opaque = _clean_opaque(message.opaque)
    if not blocks and not opaque:
        return None
    return replace(message, blocks=blocks, opaque=opaque, wire={})


def _list_ids(blocks: Sequence[ToolCall] | Sequence[ToolResult]) -> bytes:
    return repr([block.call_id for block in blocks]).encode()


def _may_stay(block: object) -> bool:
    if isinstance(block, Text):
        return not _is_blank(block.text)
    return isinstance(block, ToolCall | Image)


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _clean_opaque(opaque: bytes) -> bytes:
    # The provider's own list of content blocks: its blank text blocks are refused when sent back.
    if not opaque:
        return opaque
    rows = cast("list[JsonObject]", orjson.loads(opaque))
    kept = [row for row in rows if row.get("type") != "text" or not _is_blank(str(row["text"]))]
    if len(kept) == len(rows):
        return opaque
    return orjson.dumps(kept) if kept else b""


def own_call_ids(message: Message, step: int) -> Message:
    """The message with ids that are unique within it; only a provider's odd ids are replaced.

    New ids do not fit the provider's own bytes, which are then dropped.
    """
    ids = [call.call_id for call in message.calls]
    if all(ids) and len(set(ids)) == len(ids):
        return message
    blocks: list[Block] = []
    for position, block in enumerate(message.blocks):
        if isinstance(block, ToolCall):
            blocks.append(replace(block, call_id=f"call_{step}_{position}"))
        else:
            blocks.append(block)
    return Message(message.role, tuple(blocks))
