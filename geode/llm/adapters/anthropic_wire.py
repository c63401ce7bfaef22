"""Our neutral step as an Anthropic request body, joined from bytes made once; pure.

Every body is acceptable by construction: roles alternate, no text block is blank, and the message
after a tool call holds exactly one result per call, first in its content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import orjson

from geode.messages import Image, Message, Text, ToolCall
from geode.steps import BoundToolPlan, StepSnapshot, SystemPrompt

Pictures: TypeAlias = Mapping[str, bytes]
"""The base64 of the pictures of a step, by their hash."""
WIRE = "anthropic"
"""The key of our caches in `Message.wire` and `BoundToolPlan.wire`."""
WIRE_IDS = "anthropic:ids"

LOST_RESULT = "This call was interrupted; its result is not known."
EARLIER_GONE = "(The earlier part of this conversation is not shown.)"
_USER = b'{"role":"user","content":['
_ASSISTANT = b'{"role":"assistant","content":['
_SCHEMA = b',"output_config":{"format":{"type":"json_schema","schema":'
_CACHE = b',"cache_control":{"type":"ephemeral"}}'


def dump_json(value: object) -> bytes:
    """JSON bytes; what orjson refuses (lone surrogates, huge integers) is made sendable."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )


def build_request(step: StepSnapshot, output_tokens_max: int) -> bytes:
    """The whole request body; history and tools that were sent before are not serialised again."""
    parts = [
        b'{"model":',
        dump_json(step.model),
        b',"max_tokens":%d,"stream":true' % min(step.output_tokens_max, output_tokens_max),
    ]
    system = system_bytes(step.system)
    if system:
        parts += [b',"system":', system]
    has_schema = step.answer_schema is not None
    if has_schema:
        parts += [_SCHEMA, dump_json(step.answer_schema), b"}}"]
    tools = b"" if has_schema else tools_bytes(step.plan)
    if tools:
        parts += [b',"tools":', tools]
        if not step.may_call_tools:
            parts.append(b',"tool_choice":{"type":"none"}')
    # What is asked for by a schema is asked once, so nothing would read its cache.
    mark = b"}" if has_schema else _CACHE
    messages = _message_list(step.messages, step.pictures, mark)
    parts += [b',"messages":[', b",".join(messages), b"]}"]
    return b"".join(parts)


@lru_cache(maxsize=64)
def system_bytes(system: SystemPrompt) -> bytes:
    """The system blocks; the stable one ends with a cache mark. Empty when both are blank."""
    blocks: list[bytes] = []
    if system.stable.strip():
        blocks.append(_text_block(system.stable)[:-1] + _CACHE)
    if system.changing.strip():
        blocks.append(_text_block(system.changing))
    return b"[" + b",".join(blocks) + b"]" if blocks else b""


def tools_bytes(plan: BoundToolPlan) -> bytes:
    """The plan's tools, made once per plan; the last one carries a cache mark."""
    made = plan.wire.get(WIRE)
    if made is None:
        rows = [
            dump_json({"name": t.name, "description": t.description, "input_schema": t.schema})
            for t in plan.tools
        ]
        made = b"[" + b",".join(rows)[:-1] + _CACHE + b"]" if rows else b""
        plan.wire[WIRE] = made
    return made


def assistant_bytes(message: Message) -> bytes:
    """The comma-joined blocks of an assistant message; the provider's own where we have them."""
    made = message.wire.get(WIRE)
    if made is None:
        own = message.opaque[1:-1].strip() if message.provider == WIRE else b""
        made = own or b",".join(_neutral_blocks(message))
        message.wire[WIRE] = made
        message.wire[WIRE_IDS] = _join_ids([call.call_id for call in message.calls])
    return made


def _neutral_blocks(message: Message) -> list[bytes]:
    blocks: list[bytes] = []
    for block in message.blocks:
        if isinstance(block, Text) and block.text.strip():
            blocks.append(_text_block(block.text))
        elif isinstance(block, ToolCall):
            blocks.append(
                dump_json(
                    {
                        "type": "tool_use",
                        "id": block.call_id,
                        "name": block.name,
                        "input": block.arguments or {},
                    }
                )
            )
    return blocks


def _text_block(text: str) -> bytes:
    return b'{"type":"text","text":' + dump_json(text) + b"}"


def _result_block(call_id: str, text: str, *, is_error: bool) -> bytes:
    content = b',"content":' + dump_json(text) if text.strip() else b""
    error = b',"is_error":true' if is_error else b""
    return b'{"type":"tool_result","tool_use_id":' + dump_json(call_id) + content + error + b"}"


def _join_ids(ids: Sequence[str]) -> bytes:
    return "\0".join(ids).encode("utf-8", "replace")


def user_bytes(message: Message, pictures: Pictures) -> bytes:
    """The comma-joined blocks of a user or tool message that stands alone, results first."""
    made = message.wire.get(WIRE)
    if made is None:
        results = message.results
        rows = [_result_block(r.call_id, r.text, is_error=r.is_error) for r in results]
        made = b",".join([*rows, *_said_blocks(message, pictures)])
        # A picture is too large to be remembered with every message that shows it.
        if not any(isinstance(block, Image) for block in message.blocks):
            message.wire[WIRE] = made
        message.wire[WIRE_IDS] = _join_ids([r.call_id for r in results])
    return made


def _said_blocks(message: Message, pictures: Pictures) -> list[bytes]:
    rows: list[bytes] = []
    for block in message.blocks:
        if isinstance(block, Text) and block.text.strip():
            rows.append(_text_block(block.text))
        elif isinstance(block, Image) and block.sha256 in pictures:
            rows.append(_image_block(block.media_type, pictures[block.sha256]))
    return rows


def _image_block(media_type: str, content: bytes) -> bytes:
    source = b'{"type":"base64","media_type":%b,"data":"%b"}' % (dump_json(media_type), content)
    return b'{"type":"image","source":%b}' % source


def _user_content(group: Sequence[Message], before: Message | None, pictures: Pictures) -> bytes:
    """The content of one user message that merges a group, answering every call before it."""
    owed = before.wire[WIRE_IDS] if before is not None else b""
    if len(group) == 1:
        alone = user_bytes(group[0], pictures)
        if group[0].wire[WIRE_IDS] == owed:
            return alone
    results = _match_results(before.calls, group) if before is not None and owed else []
    said = (row for message in group for row in _said_blocks(message, pictures))
    return b",".join([*results, *said])


def _match_results(calls: Sequence[ToolCall], holders: Sequence[Message]) -> list[bytes]:
    """One result per call in the calls' order; results without a call are left out."""
    waiting = [result for message in holders for result in message.results]
    rows: list[bytes] = []
    for call in calls:
        found = next((r for r in waiting if r.call_id == call.call_id), None)
        if found is None:
            rows.append(_result_block(call.call_id, LOST_RESULT, is_error=True))
            continue
        waiting.remove(found)
        rows.append(_result_block(call.call_id, found.text, is_error=found.is_error))
    return rows


def _message_list(messages: Sequence[Message], pictures: Pictures, mark: bytes) -> list[bytes]:
    """The wire messages in order, roles alternating; `mark` ends the last user message's block.

    What was sent before costs a look-up and a copy: this runs over the whole history every step.
    """
    rows: list[bytes] = []
    assistant: Message | None = None
    group: list[Message] = []
    for message in messages:
        if message.role != "assistant":
            group.append(message)
            continue
        content = message.wire.get(WIRE) or assistant_bytes(message)
        if not content:
            continue
        said = _user_content(group, assistant, pictures)
        group.clear()
        if said:
            rows.append(b"%b%b]}" % (_USER, said))
        if said or assistant is None:
            rows.append(b"%b%b]}" % (_ASSISTANT, content))
        else:
            rows[-1] = b"%b,%b]}" % (rows[-1][:-2], content)
        assistant = message
    if assistant is not None and rows[0].startswith(_ASSISTANT):
        rows.insert(0, b"%b%b]}" % (_USER, _text_block(EARLIER_GONE)))
    said = _user_content(group, assistant, pictures) or (b"" if rows else _text_block(EARLIER_GONE))
    if said:
        rows.append(b"%b%b%b]}" % (_USER, said[:-1], mark))
    return rows
