"""What a model server is told to answer, in one form for every API it speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from channels.fields import int_of, is_true, list_of, object_of, objects_of, text_of
from geode.messages import JsonObject

Block: TypeAlias = dict[str, Any]


def text(value: str) -> Block:
    """A text block."""
    return {"type": "text", "text": value}


def tool_use(name: str, arguments: JsonObject, call_id: str = "toolu_1") -> Block:
    """A tool call block with whole arguments."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def broken_tool_use(name: str, raw: str, call_id: str = "toolu_1") -> Block:
    """A tool call whose streamed argument text is exactly `raw`."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, "raw": raw}


def thinking(value: str, signature: str) -> Block:
    """A signed reasoning block; only the Anthropic API shows one."""
    return {"type": "thinking", "thinking": value, "signature": signature}


def redacted_thinking(data: str) -> Block:
    """An encrypted reasoning block; only the Anthropic API shows one."""
    return {"type": "redacted_thinking", "data": data}


def usual_usage() -> dict[str, int]:
    """The tokens of an answer that does not say its own."""
    return {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 3,
    }


@dataclass(frozen=True)
class Answer:
    """One answer and how its stream misbehaves.

    Blocks and stop reasons are spelled as the Anthropic API spells them; the other APIs get theirs.
    """

    blocks: list[Block] = field(default_factory=lambda: [text("ok")])
    stop_reason: str = "end_turn"
    usage: dict[str, int] = field(default_factory=usual_usage)
    cut_after: int | None = None
    """Events before the connection is dropped."""
    error_after: tuple[int, str] | None = None
    """Events before an error event of that type ends the stream."""
    has_start: bool = True
    """False: the stream begins without the event that opens an answer."""
    has_stop: bool = True
    """False: the stream ends politely without its last event."""
    piece_chars: int = 5
    split_bytes: int = 0
    """Write the stream in pieces of so many bytes instead of whole events."""
    wait_s: float = 0.0
    """Before the status line."""
    hold: asyncio.Event | None = None
    """Wait for this event at `hold_after`."""
    hold_after: int = -1
    """Events before the wait; -1: before the status line."""


def verdict(
    *misses: str, reflection: str = "", is_retry_worthwhile: bool = False, passed: bool = False
) -> Answer:
    """What a judge answers: with misses or without, a pass only when it is said."""
    told = {
        "rubric_misses": list(misses),
        "passed": passed,
        "reflection": reflection,
        "retry_worthwhile": is_retry_worthwhile,
    }
    return Answer([text(orjson.dumps(told).decode())])


PASS = verdict(passed=True)
"""What a judge answers that was told nothing."""


@dataclass(frozen=True)
class Failure:
    """An HTTP error instead of an answer; `kind` is the API's own word for it."""

    status: int
    kind: str
    message: str = "scripted failure"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    """Sent as it is, instead of the API's error object."""
    code: str | None = None
    """The second word that OpenAI's errors carry."""
    param: str | None = None
    """The field that OpenAI's errors name."""


@dataclass(frozen=True)
class Recorded:
    """One request as it came in."""

    raw: bytes
    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    """Loop time."""
    endpoint: str = "messages"
    """As faults name it; `verdict` for a request that asks for an answer by a schema."""


Scripted: TypeAlias = Answer | Failure | Callable[[dict[str, Any]], Answer | Failure]


def scripted_from_json(source: JsonObject) -> Answer | Failure:
    """An entry of a script as the control interface spells it: a failure when it has a status."""
    if "status" in source:
        headers = {key: str(value) for key, value in object_of(source, "headers").items()}
        kind = text_of(source, "kind") or "api_error"
        message = text_of(source, "message") or "scripted failure"
        return Failure(int_of(source, "status"), kind, message, headers)
    blocks: list[Block] = [dict(block) for block in objects_of(source, "blocks")]
    calls = any(block.get("type") == "tool_use" for block in blocks)
    usual = "tool_use" if calls else "end_turn"
    return Answer(blocks or [text("ok")], text_of(source, "stop_reason") or usual)


def verdict_from_json(source: JsonObject) -> Answer | Failure:
    """A judge's answer as the control interface spells it: a verdict unless it has blocks."""
    if "status" in source or "blocks" in source:
        return scripted_from_json(source)
    return verdict(
        *(str(miss) for miss in list_of(source, "misses")),
        reflection=text_of(source, "reflection"),
        is_retry_worthwhile=is_true(source, "retry_worthwhile"),
        passed=is_true(source, "passed"),
    )
