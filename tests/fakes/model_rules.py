"""What the Messages API demands of a request: the first broken rule by name."""

from __future__ import annotations

from typing import Any

import orjson


def find_broken_rule(body: dict[str, Any], sent_reasoning: dict[str, list[bytes]]) -> str:
    """The name of the first rule the request breaks, or an empty string.

    `sent_reasoning` maps the tool call id of an answer the server gave to that answer's reasoning
    blocks, as bytes.
    """
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model: required"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        return "max_tokens: must be a positive integer"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages: at least one message is required"
    return (
        _check_roles(messages)
        or _check_blocks(body)
        or _check_pairs(messages)
        or _check_tools(body)
        or _check_reasoning(messages, sent_reasoning)
    )


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def reasoning_of(blocks: list[dict[str, Any]]) -> list[bytes]:
    """The signed reasoning blocks in order, as bytes, each with its position."""
    return [
        orjson.dumps([position, block])
        for position, block in enumerate(blocks)
        if block["type"] in {"thinking", "redacted_thinking"}
    ]


def _check_roles(messages: list[dict[str, Any]]) -> str:
    for number, message in enumerate(messages):
        if message.get("role") != ("user", "assistant")[number % 2]:
            return f"messages.{number}: roles must alternate, beginning with user"
        if not message.get("content"):
            return f"messages.{number}: content must not be empty"
    return ""


def _check_blocks(body: dict[str, Any]) -> str:
    marks = 0
    spots = [*(body.get("system") or []), *(body.get("tools") or [])]
    for number, message in enumerate(body["messages"]):
        for block in blocks_of(message):
            spots.append(block)
            if block["type"] == "text" and not block["text"].strip():
                return f"messages.{number}: text content blocks must be non-empty"
            if block["type"] == "tool_use" and not isinstance(block["input"], dict):
                return f"messages.{number}: tool_use.input must be an object"
        if message["role"] == "assistant" and blocks_of(message)[-1]["type"] in {
            "thinking",
            "redacted_thinking",
        }:
            return f"messages.{number}: the final block must not be thinking"
    for spot in spots:
        if isinstance(spot, dict) and spot.get("type") == "text" and not spot["text"].strip():
            return "system: text content blocks must be non-empty"
        marks += isinstance(spot, dict) and "cache_control" in spot
    return "cache_control: at most 4 blocks" if marks > 4 else ""


def _check_pairs(messages: list[dict[str, Any]]) -> str:
    for number, message in enumerate(messages):
        blocks = blocks_of(message)
        if message["role"] == "assistant":
            after = blocks_of(messages[number + 1]) if number + 1 < len(messages) else []
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            head = [b.get("tool_use_id") for b in after[: len(calls)]]
            if sorted(calls) != sorted(str(one) for one in head):
                return f"messages.{number}: tool_use ids without tool_result right after"
        else:
            before = blocks_of(messages[number - 1]) if number else []
            known = [block["id"] for block in before if block["type"] == "tool_use"]
            given = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            if sorted(known) != sorted(given):
                return f"messages.{number}: tool_result without its tool_use"
    return ""


def _check_tools(body: dict[str, Any]) -> str:
    tools = body.get("tools") or []
    names = [tool.get("name") for tool in tools]
    if len(set(names)) < len(names):
        return "tools: names must be unique"
    for tool in tools:
        if not isinstance(tool.get("input_schema"), dict):
            return f"tools.{tool.get('name')}: input_schema is required"
    return "tool_choice: tools are required" if body.get("tool_choice") and not tools else ""


def _check_reasoning(messages: list[dict[str, Any]], sent: dict[str, list[bytes]]) -> str:
    """The last assistant turn must carry the reasoning of the answer it came from, unchanged."""
    own = [message for message in messages if message["role"] == "assistant"]
    if not own:
        return ""
    blocks = [
        {key: value for key, value in block.items() if key != "cache_control"}
        for block in blocks_of(own[-1])
    ]
    for block in blocks:
        expected = sent.get(str(block.get("id"))) if block["type"] == "tool_use" else None
        if expected is not None and expected != reasoning_of(blocks):
            return "messages: thinking blocks in the latest assistant message cannot be modified"
    return ""
