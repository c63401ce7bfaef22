"""What the Messages API demands of a request: the first broken rule by name; pure."""

from __future__ import annotations

from typing import Any, cast

import orjson

from channels.rehearsal.model_formats import find_format_fault
from channels.rehearsal.model_tools import count_marks, find_image_fault, find_tool_fault
from channels.rehearsal.model_types import find_request_fault

MARKS_MAX = 4
THINKING_TOKENS_MIN = 1024
_REASONING = frozenset({"thinking", "redacted_thinking"})
_TYPES = "anthropic.types.message_create_params"
_COUNT_TYPES = "anthropic.types.message_count_tokens_params"


def find_broken_rule(body: dict[str, Any], sent_reasoning: dict[str, list[bytes]]) -> str:
    """The name of the first rule the request breaks, or an empty string.

    `sent_reasoning` maps the tool call id of an answer the server gave to that answer's reasoning
    blocks, as bytes.
    """
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        return "max_tokens: must be a positive integer"
    output: dict[str, Any] = body.get("output_config") or {}
    return (
        find_broken_prompt(body, sent_reasoning)
        or _check_thinking(body)
        or find_format_fault(output.get("format"))
    )


def find_broken_prompt(body: dict[str, Any], sent_reasoning: dict[str, list[bytes]]) -> str:
    """The same for what a token count needs too: everything but the limits of the answer."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model: required"
    messages = cast("list[dict[str, Any]]", body.get("messages"))
    if not isinstance(body.get("messages"), list) or not messages:
        return "messages: at least one message is required"
    return (
        _check_roles(messages)
        or _check_blocks(body)
        or _check_pairs(messages)
        or _check_tools(body)
        or _check_reasoning(messages, sent_reasoning)
    )


def find_untyped(body: dict[str, Any], *, is_count: bool = False) -> str:
    """The first place that the client library's own types do not allow."""
    if is_count:
        return find_request_fault(body, _COUNT_TYPES, "MessageCountTokensParams")
    form = "Streaming" if body.get("stream") is True else "NonStreaming"
    return find_request_fault(body, _TYPES, f"MessageCreateParams{form}")


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def reasoning_of(blocks: list[dict[str, Any]]) -> list[bytes]:
    """The signed reasoning blocks in order, as bytes, each with its position."""
    return [
        orjson.dumps([position, block])
        for position, block in enumerate(blocks)
        if block["type"] in _REASONING
    ]


def _check_roles(messages: list[dict[str, Any]]) -> str:
    for number, message in enumerate(messages):
        if message.get("role") != ("user", "assistant")[number % 2]:
            return f"messages.{number}: roles must alternate, beginning with user"
        if not message.get("content"):
            return f"messages.{number}: content must not be empty"
    return ""


def _check_blocks(body: dict[str, Any]) -> str:
    system: list[Any] = body["system"] if isinstance(body.get("system"), list) else []
    spots: list[dict[str, Any]] = [*system, *(body.get("tools") or [])]
    for number, message in enumerate(body["messages"]):
        blocks = blocks_of(message)
        spots += [*blocks, *(inner for block in blocks for inner in _inner_of(block))]
        for block in blocks:
            if fault := _check_block(block):
                return f"messages.{number}: {fault}"
        if message["role"] == "assistant" and blocks[-1]["type"] in _REASONING:
            return f"messages.{number}: the final block must not be thinking"
    for spot in system:
        if not spot["text"].strip():
            return "system: text content blocks must be non-empty"
    marks = count_marks(spots)
    return f"cache_control: at most {MARKS_MAX} blocks" if marks > MARKS_MAX else ""


def _inner_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    content = block.get("content") if block["type"] == "tool_result" else None
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []


def _check_block(block: dict[str, Any]) -> str:
    for inner in (block, *_inner_of(block)):
        match inner["type"]:
            case "text" if not inner["text"].strip():
                return "text content blocks must be non-empty"
            case "tool_use" if not isinstance(inner["input"], dict):
                return "tool_use.input must be an object"
            case "image" if inner["source"]["type"] == "base64":
                source = inner["source"]
                if fault := find_image_fault(source.get("media_type"), source.get("data")):
                    return f"image.source.base64: {fault}"
            case _:
                continue
    return ""


def _check_pairs(messages: list[dict[str, Any]]) -> str:
    for number, message in enumerate(messages):
        blocks = blocks_of(message)
        if message["role"] == "assistant":
            after = blocks_of(messages[number + 1]) if number + 1 < len(messages) else []
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            head = [b.get("tool_use_id") for b in after[: len(calls)]]
            if len(set(calls)) < len(calls):
                return f"messages.{number}: tool_use ids must be unique"
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
    tools: list[dict[str, Any]] = body.get("tools") or []
    own = [tool for tool in tools if tool.get("type", "custom") == "custom"]
    for tool in own:
        if not isinstance(tool.get("input_schema"), dict):
            return f"tools.{tool.get('name')}: input_schema is required"
    names, schemas = [t.get("name") for t in own], [t["input_schema"] for t in own]
    if fault := find_tool_fault(names, schemas, "input_schema"):
        return fault
    choice: dict[str, Any] = body.get("tool_choice") or {}
    if choice and not tools:
        return "tool_choice: tools are required"
    if choice.get("type") == "tool" and choice.get("name") not in [t.get("name") for t in tools]:
        return f"tool_choice: tool {choice.get('name')!r} is not among the tools"
    return ""


def _check_thinking(body: dict[str, Any]) -> str:
    thinking: dict[str, Any] = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return ""
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or budget < THINKING_TOKENS_MIN:
        return f"thinking.budget_tokens: must be at least {THINKING_TOKENS_MIN}"
    return "" if budget < body["max_tokens"] else "thinking.budget_tokens: must be below max_tokens"


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
