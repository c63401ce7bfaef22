"""How an answer looks on the wire of Chat Completions: as one object, and as chunks; pure."""

from __future__ import annotations

from typing import Any, cast

import orjson

from channels.fields import is_true, object_of
from channels.rehearsal.model_answers import Answer, Failure
from channels.rehearsal.model_anthropic import arguments_of, cut
from geode.messages import JsonObject

CREATED = 1_700_000_000
DONE = b"data: [DONE]\n\n"
_REASONS = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


def failure_body(failure: Failure) -> dict[str, Any]:
    """The error object of an HTTP answer, the same in both of OpenAI's APIs."""
    told = {
        "message": failure.message,
        "type": failure.kind,
        "param": failure.param,
        "code": failure.code,
    }
    return {"error": told}


def error_event(kind: str) -> bytes:
    """The chunk that ends an open stream."""
    return _sse(failure_body(Failure(200, kind, "scripted", code=kind)))


def usage_of(answer: Answer) -> dict[str, Any]:
    """The tokens as Chat Completions counts them."""
    heard, spoken = answer.usage["input_tokens"], answer.usage["output_tokens"]
    cached = answer.usage.get("cache_read_input_tokens", 0)
    return {
        "prompt_tokens": heard,
        "completion_tokens": spoken,
        "total_tokens": heard + spoken,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def whole_completion(body: dict[str, Any], answer: Answer, number: int) -> dict[str, Any]:
    """The answer when no stream was asked for."""
    words, calls = _words_of(answer), _calls_of(answer)
    is_refusal = answer.stop_reason == "refusal"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if is_refusal or not words else words,
        "refusal": words if is_refusal else None,
    }
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(answer)}
    head = _head(body, number, "chat.completion")
    return head | {"choices": [choice], "usage": usage_of(answer)}


def stream_chunks(body: dict[str, Any], answer: Answer, number: int) -> list[bytes]:
    """The answer as its chunks in order, `[DONE]` included."""
    head = _head(body, number, "chat.completion.chunk")
    field = "refusal" if answer.stop_reason == "refusal" else "content"
    deltas: list[dict[str, Any]] = []
    if answer.has_start:
        deltas.append({"role": "assistant", "content": "", "refusal": None})
    deltas += [{field: piece} for piece in cut(_words_of(answer), answer.piece_chars)]
    for index, call in enumerate(_calls_of(answer)):
        deltas += _call_deltas(index, call, answer.piece_chars)
    chunks = [head | {"choices": [_choice(delta)]} for delta in deltas]
    if not answer.has_stop:
        return [_sse(chunk) for chunk in chunks]
    chunks.append(head | {"choices": [_choice({}, _reason(answer))]})
    if is_true(object_of(cast("JsonObject", body), "stream_options"), "include_usage"):
        chunks = [chunk | {"usage": None} for chunk in chunks]
        chunks.append(head | {"choices": [], "usage": usage_of(answer)})
    return [*(_sse(chunk) for chunk in chunks), DONE]


def _head(body: dict[str, Any], number: int, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": CREATED,
        "model": body["model"],
        "system_fingerprint": "fp_rehearsal",
    }


def _choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _call_deltas(index: int, call: dict[str, Any], size: int) -> list[dict[str, Any]]:
    raw = str(call["function"]["arguments"])
    begun = call | {"index": index, "function": call["function"] | {"arguments": ""}}
    pieces = [{"index": index, "function": {"arguments": piece}} for piece in cut(raw, size)]
    return [{"tool_calls": [row]} for row in (begun, *pieces)]


def _words_of(answer: Answer) -> str:
    return "".join(str(block["text"]) for block in answer.blocks if block["type"] == "text")


def _calls_of(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": arguments_of(block)},
        }
        for block in answer.blocks
        if block["type"] == "tool_use"
    ]


def _reason(answer: Answer) -> str:
    return _REASONS.get(answer.stop_reason, "stop")


def _sse(event: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % orjson.dumps(event)
