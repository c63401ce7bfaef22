"""How an answer looks on the wire of the Messages API: as one message, and as a stream; pure."""

from __future__ import annotations

from typing import Any

import orjson

from channels.rehearsal.model_answers import Answer, Block, Failure


def failure_body(failure: Failure) -> dict[str, Any]:
    """The error object of an HTTP answer."""
    return {"type": "error", "error": {"type": failure.kind, "message": failure.message}}


def error_event(kind: str) -> bytes:
    """The event that ends an open stream."""
    return sse({"type": "error", "error": {"type": kind, "message": "scripted"}})


def sse(event: dict[str, Any]) -> bytes:
    """One server-sent event under its own name."""
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), orjson.dumps(event))


def whole_message(body: dict[str, Any], answer: Answer, number: int) -> dict[str, Any]:
    """The answer when no stream was asked for."""
    blocks = [{k: v for k, v in block.items() if k != "raw"} for block in answer.blocks]
    return _message(body, number) | {
        "content": blocks,
        "stop_reason": answer.stop_reason,
        "usage": answer.usage,
    }


def stream_events(body: dict[str, Any], answer: Answer, number: int) -> list[bytes]:
    """The answer as its events in order."""
    start = _message(body, number) | {"usage": answer.usage | {"output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "ping"}]
    if answer.has_start:
        events.insert(0, {"type": "message_start", "message": start})
    for index, block in enumerate(answer.blocks):
        events += _block_events(index, block, answer.piece_chars)
    delta = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    usage = {"output_tokens": answer.usage["output_tokens"]}
    events.append({"type": "message_delta", "delta": delta, "usage": usage})
    if answer.has_stop:
        events.append({"type": "message_stop"})
    return [sse(event) for event in events]


def _message(body: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _block_events(index: int, block: Block, size: int) -> list[dict[str, Any]]:
    begun, deltas = _open_block(block, size)
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _open_block(block: Block, size: int) -> tuple[Block, list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            pieces = [{"type": "text_delta", "text": p} for p in cut(block["text"], size)]
            return {**block, "text": ""}, pieces
        case "thinking":
            pieces = [
                {"type": "thinking_delta", "thinking": p} for p in cut(block["thinking"], size)
            ]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*pieces, signed]
        case "tool_use":
            raw = arguments_of(block)
            pieces = [{"type": "input_json_delta", "partial_json": p} for p in cut(raw, size)]
            begun = {key: value for key, value in block.items() if key != "raw"}
            return {**begun, "input": {}}, pieces
        case _:
            return block, []


def arguments_of(block: Block) -> str:
    """The argument text of a call as it is streamed."""
    raw = block.get("raw")
    return str(raw) if raw is not None else orjson.dumps(block["input"]).decode()


def cut(value: str, size: int) -> list[str]:
    """A text in the pieces of its stream; a long one in few."""
    step = size if len(value) < 10_000 else 65_536
    return [value[start : start + step] for start in range(0, len(value), step)]
