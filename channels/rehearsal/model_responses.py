"""How an answer looks on the wire of the Responses API: as one object, and as events; pure."""

from __future__ import annotations

from typing import Any

import orjson

from channels.rehearsal.model_answers import Answer, Block
from channels.rehearsal.model_anthropic import arguments_of, cut
from channels.rehearsal.model_chat import CREATED

_CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})


def error_event(kind: str, number: int) -> bytes:
    """The event that ends an open stream."""
    return _sse({"type": "error", "code": kind, "message": "scripted", "param": None}, number)


def whole_response(body: dict[str, Any], answer: Answer, number: int) -> dict[str, Any]:
    """The answer when no stream was asked for."""
    is_cut = answer.stop_reason in _CUT_SHORT
    heard, spoken = answer.usage["input_tokens"], answer.usage["output_tokens"]
    usage = {
        "input_tokens": heard,
        "input_tokens_details": {
            "cached_tokens": answer.usage.get("cache_read_input_tokens", 0),
            "cache_write_tokens": answer.usage.get("cache_creation_input_tokens", 0),
        },
        "output_tokens": spoken,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": heard + spoken,
    }
    return _begun(body, number) | {
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "output": _items_of(answer, number),
        "usage": usage,
    }


def stream_events(body: dict[str, Any], answer: Answer, number: int) -> list[bytes]:
    """The answer as its events in order, numbered."""
    begun, whole = _begun(body, number), whole_response(body, answer, number)
    events: list[dict[str, Any]] = []
    if answer.has_start:
        events.append({"type": "response.created", "response": begun})
    events.append({"type": "response.in_progress", "response": begun})
    for index, item in enumerate(whole["output"]):
        events += _item_events(index, item, answer.piece_chars)
    if answer.has_stop:
        events.append({"type": f"response.{whole['status']}", "response": whole})
    return [_sse(event, place) for place, event in enumerate(events)]


def _begun(body: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": CREATED,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "model": body["model"],
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
    }


def _items_of(answer: Answer, number: int) -> list[dict[str, Any]]:
    rows = [block for block in answer.blocks if block["type"] in ("text", "tool_use")]
    part = "refusal" if answer.stop_reason == "refusal" else "output_text"
    return [_item_of(block, f"{number}_{place}", part) for place, block in enumerate(rows)]


def _item_of(block: Block, name: str, part: str) -> dict[str, Any]:
    if block["type"] == "tool_use":
        return {
            "type": "function_call",
            "id": f"fc_{name}",
            "call_id": block["id"],
            "name": block["name"],
            "arguments": arguments_of(block),
            "status": "completed",
        }
    said: dict[str, Any] = {"type": part, "text": block["text"], "annotations": []}
    if part == "refusal":
        said = {"type": part, "refusal": block["text"]}
    return {
        "type": "message",
        "id": f"msg_{name}",
        "role": "assistant",
        "status": "completed",
        "content": [said],
    }


def _item_events(index: int, item: dict[str, Any], size: int) -> list[dict[str, Any]]:
    empty: dict[str, Any] = (
        {"arguments": ""} if item["type"] == "function_call" else {"content": []}
    )
    begun = item | {"status": "in_progress"} | empty
    spot = {"item_id": item["id"], "output_index": index}
    inner = _call_events if item["type"] == "function_call" else _part_events
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        *(event | spot for event in inner(item, size)),
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _call_events(item: dict[str, Any], size: int) -> list[dict[str, Any]]:
    kind, raw = "response.function_call_arguments", str(item["arguments"])
    deltas: list[dict[str, Any]] = [{"type": f"{kind}.delta", "delta": p} for p in cut(raw, size)]
    return [*deltas, {"type": f"{kind}.done", "arguments": raw, "name": item["name"]}]


def _part_events(item: dict[str, Any], size: int) -> list[dict[str, Any]]:
    (part,) = item["content"]
    field = "refusal" if part["type"] == "refusal" else "text"
    kind = "response.refusal" if field == "refusal" else "response.output_text"
    more: dict[str, Any] = {} if field == "refusal" else {"logprobs": []}
    rows: list[dict[str, Any]] = [
        {"type": "response.content_part.added", "part": part | {field: ""}},
        *({"type": f"{kind}.delta", "delta": p} | more for p in cut(str(part[field]), size)),
        {"type": f"{kind}.done", field: part[field]} | more,
        {"type": "response.content_part.done", "part": part},
    ]
    return [row | {"content_index": 0} for row in rows]


def _sse(event: dict[str, Any], number: int) -> bytes:
    numbered = event | {"sequence_number": number}
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), orjson.dumps(numbered))
