"""What OpenAI's two model APIs demand of a request: the first broken rule by name; pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from channels.fields import int_of, object_of, objects_of, text_of
from channels.rehearsal.model_tools import find_image_url_fault, find_tool_fault
from channels.rehearsal.model_types import find_request_fault
from geode.messages import JsonObject

RESPONSE_TOKENS_MIN = 16
_CHAT_TYPES = "openai.types.chat.completion_create_params"
_RESPONSE_TYPES = "openai.types.responses.response_create_params"


def find_broken_chat_rule(body: dict[str, Any]) -> str:
    """The first rule that a Chat Completions request breaks, or an empty string."""
    source = cast("JsonObject", body)
    functions = [object_of(tool, "function") for tool in objects_of(source, "tools")]
    return (
        _find_untyped(body, _CHAT_TYPES, "CompletionCreateParams")
        or ("" if objects_of(source, "messages") else "messages: at least one is required")
        or _check_chat_limits(source)
        or _check_stream_options(source)
        or _check_functions(source, functions, "function.parameters")
        or _check_chat_messages(objects_of(source, "messages"))
    )


def find_broken_response_rule(body: dict[str, Any], known_calls: Collection[str]) -> str:
    """The first rule that a Responses request breaks, or an empty string.

    `known_calls` are the open calls of the response that this one continues.
    """
    source = cast("JsonObject", body)
    functions = [t for t in objects_of(source, "tools") if t.get("type") == "function"]
    return (
        _find_untyped(body, _RESPONSE_TYPES, "ResponseCreateParams")
        or _check_response_limits(body)
        or _check_stream_options(source)
        or _check_functions(source, functions, "parameters")
        or _check_response_items(objects_of(source, "input"), known_calls)
    )


def _find_untyped(body: dict[str, Any], module: str, name: str) -> str:
    form = "Streaming" if body.get("stream") is True else "NonStreaming"
    return find_request_fault(body, module, f"{name}{form}")


def _check_chat_limits(body: JsonObject) -> str:
    if "max_tokens" in body and "max_completion_tokens" in body:
        return "max_tokens: cannot be set together with max_completion_tokens"
    for name in ("max_tokens", "max_completion_tokens"):
        if body.get(name) is not None and int_of(body, name) < 1:
            return f"{name}: must be a positive integer"
    return "" if int_of(body, "n", 1) == 1 else "n: the stand-in gives one answer"


def _check_response_limits(body: dict[str, Any]) -> str:
    for name in ("model", "input"):
        if not body.get(name):
            return f"{name}: required"
    tokens = body.get("max_output_tokens")
    if isinstance(tokens, int) and tokens < RESPONSE_TOKENS_MIN:
        return f"max_output_tokens: must be at least {RESPONSE_TOKENS_MIN}"
    return ""


def _check_stream_options(body: JsonObject) -> str:
    if body.get("stream_options") is not None and body.get("stream") is not True:
        return "stream_options: only allowed when stream is true"
    return ""


def _check_functions(body: JsonObject, functions: list[JsonObject], where: str) -> str:
    names = [function.get("name") for function in functions]
    schemas = [function.get("parameters") for function in functions]
    if fault := find_tool_fault(names, schemas, where):
        return fault
    for name in ("tool_choice", "parallel_tool_calls"):
        if body.get(name) is not None and not body.get("tools"):
            return f"{name}: only allowed when tools are given"
    choice = object_of(body, "tool_choice")
    chosen = text_of(choice, "name") or text_of(object_of(choice, "function"), "name")
    return f"tool_choice: no tool is named {chosen}" if chosen and chosen not in names else ""


def _check_chat_messages(messages: list[JsonObject]) -> str:
    owed: list[str] = []
    for number, message in enumerate(messages):
        role = text_of(message, "role")
        if role == "tool":
            call = text_of(message, "tool_call_id")
            if call not in owed:
                return f"messages.{number}: tool message without its call in front of it"
            owed.remove(call)
            continue
        if owed:
            return f"messages.{number}: tool_calls without a tool message: {', '.join(owed)}"
        if fault := _check_chat_message(message, role):
            return f"messages.{number}: {fault}"
        owed = [text_of(call, "id") for call in objects_of(message, "tool_calls")]
        if len(set(owed)) < len(owed):
            return f"messages.{number}: ids of tool_calls must be unique"
    return f"messages: tool_calls without a tool message: {', '.join(owed)}" if owed else ""


def _check_chat_message(message: JsonObject, role: str) -> str:
    content, calls = message.get("content"), message.get("tool_calls")
    if role == "assistant" and calls == []:
        return "tool_calls: must not be empty"
    has_words = isinstance(content, str | list) or message.get("refusal") is not None
    if not has_words and not (role == "assistant" and calls):
        return "content: required"
    for part in objects_of(message, "content"):
        if part.get("type") == "image_url":
            if role != "user":
                return "image_url: only allowed in user messages"
            if fault := find_image_url_fault(object_of(part, "image_url").get("url")):
                return fault
    return ""


def _check_response_items(items: list[JsonObject], known_calls: Collection[str]) -> str:
    owed = list(known_calls)
    for number, item in enumerate(items):
        match item.get("type", "message"):
            case "function_call":
                owed.append(text_of(item, "call_id"))
            case "function_call_output":
                call = text_of(item, "call_id")
                if call not in owed:
                    return f"No tool call found for function call output with call_id {call}."
                owed.remove(call)
            case "reasoning" if number + 1 == len(items):
                return "Item of type 'reasoning' was provided without its following item."
            case "message":
                if fault := _check_images(item):
                    return f"input.{number}: {fault}"
            case _:
                continue
    return f"No tool output found for function call {owed[0]}." if owed else ""


def _check_images(item: JsonObject) -> str:
    for part in objects_of(item, "content"):
        if part.get("type") != "input_image" or "file_id" in part:
            continue
        if fault := find_image_url_fault(part.get("image_url")):
            return fault
    return ""
