"""What Slack refuses about a message: pure checks, each answering with Slack's own error code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import orjson

from channels.fields import int_of, list_of, object_of, objects_of, text_of
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
ACTION_ID_CHARS_MAX = 255
LABEL_CHARS_MAX = 75
VALUE_CHARS_MAX = 2_000
TASK_STATES = frozenset({"pending", "in_progress", "complete", "error"})
VIEW_TITLE_CHARS_MAX = 24
VIEW_BLOCKS_MAX = 100
VIEW_METADATA_CHARS_MAX = 3_000
INPUT_LABEL_CHARS_MAX = 2_000
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
        has_text = "text" not in block or _is_text_valid(block["text"], SECTION_CHARS_MAX)
        return len(fields) <= FIELDS_MAX and fields_fit and has_text
    return _is_text_valid(block.get("text"), SECTION_CHARS_MAX)


def _is_context_valid(block: JsonObject) -> bool:
    elements = objects_of(block, "elements")
    return 1 <= len(elements) <= FIELDS_MAX and all(
        element.get("type") == "image" or _is_text_valid(element, SECTION_CHARS_MAX)
        for element in elements
    )


def _is_actions_valid(block: JsonObject) -> bool:
    elements = objects_of(block, "elements")
    ids = [text_of(element, "action_id") for element in elements]
    return (
        1 <= len(elements) <= ACTIONS_MAX
        and len(set(ids)) == len(ids)
        and all(_is_button_valid(element) for element in elements)
    )


def _is_button_valid(button: JsonObject) -> bool:
    return (
        button.get("type") == "button"
        and 0 < len(text_of(button, "action_id")) <= ACTION_ID_CHARS_MAX
        and _is_text_valid(button.get("text"), LABEL_CHARS_MAX, ("plain_text",))
        and button.get("style", "primary") in ("primary", "danger")
        and 0 < len(str(button.get("value", "-"))) <= VALUE_CHARS_MAX
    )


def _is_plan_valid(block: JsonObject) -> bool:
    tasks = objects_of(block, "tasks")
    ids = [text_of(task, "task_id") for task in tasks]
    is_whole = len(tasks) == len(list_of(block, "tasks")) and len(set(ids)) == len(ids)
    return bool(text_of(block, "title")) and is_whole and all(map(_is_task_valid, tasks))


def _is_task_valid(block: JsonObject) -> bool:
    named = text_of(block, "task_id") and text_of(block, "title")
    return block.get("type") == "task_card" and bool(named) and block.get("status") in TASK_STATES


def check_view(view: JsonObject) -> str:
    """The error code for a form, or an empty string."""
    blocks = objects_of(view, "blocks")
    is_titled = _is_text_valid(view.get("title"), VIEW_TITLE_CHARS_MAX, ("plain_text",))
    if view.get("type") != "modal" or not is_titled or not 1 <= len(blocks) <= VIEW_BLOCKS_MAX:
        return "invalid_arguments"
    has_input = any(block.get("type") == "input" for block in blocks)
    for name in ("submit", "close"):
        is_needed = name == "submit" and has_input
        is_there = name in view or is_needed
        if is_there and not _is_text_valid(view.get(name), VIEW_TITLE_CHARS_MAX, ("plain_text",)):
            return "invalid_arguments"
    if len(text_of(view, "private_metadata")) > VIEW_METADATA_CHARS_MAX:
        return "invalid_arguments"
    is_valid = all(
        _is_input_valid(b) if b.get("type") == "input" else _is_block_valid(b) for b in blocks
    )
    return "" if is_valid else "invalid_arguments"


def _is_input_valid(block: JsonObject) -> bool:
    element = object_of(block, "element")
    return (
        _is_text_valid(block.get("label"), INPUT_LABEL_CHARS_MAX, ("plain_text",))
        and element.get("type") == "plain_text_input"
        and 0 < len(text_of(element, "action_id")) <= ACTION_ID_CHARS_MAX
        and int_of(element, "max_length", 1) in range(1, SECTION_CHARS_MAX + 1)
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
    "actions": _is_actions_valid,
    "plan": _is_plan_valid,
    "task_card": _is_task_valid,
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
