"""What Slack refuses about a message: pure checks, each answering with Slack's own error code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import orjson

from channels.fields import list_of, objects_of, text_of
from geode.messages import JsonObject, JsonValue

TEXT_CHARS_MAX = 40_000
TEXT_CHARS_ADVISED = 4_000
UPDATE_TEXT_CHARS_MAX = 4_000
BLOCKS_MAX = 50
SECTION_CHARS_MAX = 3_000
HEADER_CHARS_MAX = 150
MARKDOWN_CHARS_MAX = 12_000
BLOCKS_CHARS_MAX = 13_200
"""Slack does not document this sum; callers have measured refusals from about here."""
METADATA_BYTES_MAX = 16_000

ACTIONS_MAX = 25
FIELDS_MAX = 10
FIELD_CHARS_MAX = 2_000

_EVENT_TYPE = re.compile(r"[A-Za-z0-9_.-]+")


def check_message(call: JsonObject, *, is_update: bool = False) -> str:
    """The error code for a message's content, or an empty string when Slack takes it."""
    text, has_blocks = call.get("text"), bool(call.get("blocks"))
    if text is not None and not isinstance(text, str):
        return "invalid_arguments"
    if not text and not has_blocks and "markdown_text" not in call:
        return "no_text"
    if is_update and text and len(text) > UPDATE_TEXT_CHARS_MAX:
        return "msg_too_long"
    return check_blocks(call.get("blocks")) or check_metadata(call.get("metadata"))


def check_blocks(blocks: JsonValue) -> str:
    """The error code for a list of blocks, or an empty string."""
    if blocks is None:
        return ""
    if not isinstance(blocks, list):
        return "invalid_blocks_format"
    if len(blocks) > BLOCKS_MAX:
        return "invalid_blocks"
    for block in blocks:
        if not isinstance(block, dict) or not _is_block_valid(block):
            return "invalid_blocks"
    markdown = sum(
        len(text_of(b, "text")) for b in blocks if isinstance(b, dict) and b["type"] == "markdown"
    )
    total = sum(len(text) for text in _texts(blocks))
    is_too_long = markdown > MARKDOWN_CHARS_MAX or total > BLOCKS_CHARS_MAX
    return "msg_blocks_too_long" if is_too_long else ""


def check_metadata(metadata: JsonValue) -> str:
    """The error code for message metadata, or an empty string."""
    if metadata is None:
        return ""
    if not isinstance(metadata, dict):
        return "invalid_metadata_format"
    payload = metadata.get("event_payload")
    if not _EVENT_TYPE.fullmatch(text_of(metadata, "event_type")) or not isinstance(payload, dict):
        return "invalid_metadata_format"
    if len(orjson.dumps(metadata)) > METADATA_BYTES_MAX:
        return "metadata_too_large"
    return ""


def _is_block_valid(block: JsonObject) -> bool:
    check = _CHECKS.get(text_of(block, "type"))
    return check is not None and check(block)


def _is_section_valid(block: JsonObject) -> bool:
    fields = list_of(block, "fields")
    if fields:
        fields_fit = all(_is_text_valid(item, FIELD_CHARS_MAX) for item in fields)
        return len(fields) <= FIELDS_MAX and fields_fit and "text" not in block
    return _is_text_valid(block.get("text"), SECTION_CHARS_MAX)


def _is_context_valid(block: JsonObject) -> bool:
    elements = objects_of(block, "elements")
    return 1 <= len(elements) <= FIELDS_MAX and all(
        element.get("type") == "image" or _is_text_valid(element, SECTION_CHARS_MAX)
        for element in elements
    )


def _is_text_valid(
    value: JsonValue, chars_max: int, kinds: tuple[str, ...] = ("mrkdwn", "plain_text")
) -> bool:
    if not isinstance(value, dict) or value.get("type") not in kinds:
        return False
    return 0 < len(text_of(value, "text")) <= chars_max


_CHECKS: dict[str, Callable[[JsonObject], bool]] = {
    "section": _is_section_valid,
    "header": lambda block: _is_text_valid(block.get("text"), HEADER_CHARS_MAX, ("plain_text",)),
    "context": _is_context_valid,
    "markdown": lambda block: 0 < len(text_of(block, "text")) <= MARKDOWN_CHARS_MAX,
    "actions": lambda block: 1 <= len(objects_of(block, "elements")) <= ACTIONS_MAX,
    "rich_text": lambda block: bool(objects_of(block, "elements")),
    "divider": lambda block: True,
}


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "text" and isinstance(item, str):
                yield item
            else:
                yield from _texts(item)


def block_texts(blocks: JsonValue) -> list[str]:
    """Every text of a list of blocks, in order: what a reader of the message sees."""
    return list(_texts(blocks))


def missing_fields(call: JsonObject, required: tuple[str, ...]) -> list[str]:
    """The required fields that a call leaves out or empty."""
    return [name for name in required if call.get(name) in (None, "")]
