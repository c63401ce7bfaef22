"""What Telegram refuses about a call: pure checks, each answering with Telegram's own words."""

from __future__ import annotations

import re
from typing import Final

import orjson

from channels.fields import int_of, list_of, object_of, text_of, to_object
from channels.text import utf16_length
from geode.messages import JsonObject, JsonValue

TEXT_UNITS_MAX = 4_096
ENTITIES_MAX = 100
ENTITY_TYPES = frozenset(
    {
        "bold",
        "italic",
        "underline",
        "strikethrough",
        "spoiler",
        "code",
        "pre",
        "text_link",
        "text_mention",
        "blockquote",
        "expandable_blockquote",
    }
)
ALONE = frozenset({"code", "pre"})
"""Entities that share no character with another one."""
REACTIONS: Final = frozenset("👍👎❤🔥🥰👏😁🤔🤯😱🎉🤩🙏👌🤡🥱👀🤝💯🤣⚡🏆")

_SEND: Final[dict[str, str]] = {
    "chat_id": "int",
    "text": "str",
    "entities": "json",
    "parse_mode": "str",
    "link_preview_options": "json",
    "message_thread_id": "int",
    "reply_parameters": "json",
    "disable_notification": "bool",
    "reply_markup": "json",
}
_UPLOAD: Final[dict[str, str]] = {
    "chat_id": "int",
    "caption": "str",
    "caption_entities": "json",
    "message_thread_id": "int",
    "reply_parameters": "json",
}
METHODS: Final[dict[str, dict[str, str]]] = {
    "getMe": {},
    "getUpdates": {"offset": "int", "limit": "int", "timeout": "int", "allowed_updates": "json"},
    "deleteWebhook": {"drop_pending_updates": "bool"},
    "setWebhook": {"url": "str", "secret_token": "str", "allowed_updates": "json"},
    "getWebhookInfo": {},
    "getMyCommands": {},
    "setMyCommands": {"commands": "json"},
    "getChatMember": {"chat_id": "int", "user_id": "int"},
    "getFile": {"file_id": "str"},
    "answerCallbackQuery": {"callback_query_id": "str", "text": "str", "show_alert": "bool"},
    "sendChatAction": {"chat_id": "int", "action": "str", "message_thread_id": "int"},
    "sendDocument": {**_UPLOAD, "document": "file"},
    "sendPhoto": {**_UPLOAD, "photo": "file"},
    "sendMessage": _SEND,
    "editMessageText": {
        "chat_id": "int",
        "message_id": "int",
        "text": "str",
        "entities": "json",
        "parse_mode": "str",
        "link_preview_options": "json",
        "reply_markup": "json",
    },
    "setMessageReaction": {
        "chat_id": "int",
        "message_id": "int",
        "reaction": "json",
        "is_big": "bool",
    },
}
"""Every method the stand-in knows, with its fields as a form carries them."""
REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "sendMessage": ("chat_id", "text"),
    "editMessageText": ("chat_id", "message_id", "text"),
    "setMessageReaction": ("chat_id", "message_id"),
    "setWebhook": ("url",),
    "setMyCommands": ("commands",),
    "getChatMember": ("chat_id", "user_id"),
    "getFile": ("file_id",),
    "answerCallbackQuery": ("callback_query_id",),
    "sendChatAction": ("chat_id", "action"),
    "sendDocument": ("chat_id", "document"),
    "sendPhoto": ("chat_id", "photo"),
}
_INT = re.compile(r"-?[0-9]+")
_DETECTED = re.compile(r"(?<![\w@/])(?:@[A-Za-z]\w{3,31}|/[A-Za-z0-9_]{1,32}(?:@\w+)?)", re.ASCII)


def read_call(method: str, form: dict[str, str], files: JsonObject) -> JsonObject | str:
    """The fields of a call as values, or Telegram's description of what is wrong with them."""
    known = METHODS[method]
    if stray := next((name for name in files if known.get(name) != "file"), ""):
        return f"Bad Request: unknown file {stray}"
    call: JsonObject = dict(files)
    for name, text in form.items():
        if name not in known:
            return f"Bad Request: unknown field {name}"
        value = _read_value(known[name], text)
        if value is None:
            return f"Bad Request: field {name} is no {known[name]}"
        call[name] = value
    missing = [name for name in REQUIRED.get(method, ()) if name not in call]
    return f"Bad Request: {missing[0]} is empty" if missing else call


def _read_value(kind: str, text: str) -> JsonValue:
    match kind:
        case "int":
            return int(text) if _INT.fullmatch(text) else None
        case "bool":
            return {"true": True, "false": False}.get(text.lower())
        case "json":
            try:
                return orjson.loads(text)
            except orjson.JSONDecodeError:
                return None
        case "file":
            return None  # what is uploaded comes as a part of its own
        case _:
            return text


def check_text(call: JsonObject) -> str:
    """The description of what is wrong with a message's content, or an empty string."""
    text = text_of(call, "text")
    if not text.strip():
        return "Bad Request: message text is empty"
    if utf16_length(text) > TEXT_UNITS_MAX:
        return "Bad Request: message is too long"
    if "parse_mode" in call:
        return "Bad Request: can't parse entities: the stand-in takes entities only"
    return check_entities(text, call)


def check_entities(text: str, call: JsonObject) -> str:
    """Whether every entity lies within the text, on whole characters, and nests as it may."""
    raw = list_of(call, "entities")
    entities = [to_object(item) for item in raw]
    if any(_names_nobody(entity) for entity in entities):
        return "Bad Request: can't parse entities: text_mention of nobody"
    if len(entities) > ENTITIES_MAX:
        return "Bad Request: can't parse entities: too many"
    edges = _unit_edges(text)
    spans: list[tuple[int, int, str]] = []
    for entity in entities:
        kind, start = text_of(entity, "type"), int_of(entity, "offset", -1)
        end = start + int_of(entity, "length")
        if kind not in ENTITY_TYPES or start not in edges or end not in edges or end <= start:
            return f"Bad Request: can't parse entities: {kind} at {start} to {end}"
        if kind == "text_link" and not text_of(entity, "url").startswith(("http://", "https://")):
            return "Bad Request: can't parse entities: text_link without an address"
        spans.append((start, end, kind))
    clash = next((pair for pair in _pairs(spans) if _clash(*pair)), None)
    return f"Bad Request: can't parse entities: {clash}" if clash else ""


def _names_nobody(entity: JsonObject) -> bool:
    is_mention = text_of(entity, "type") == "text_mention"
    return is_mention and not int_of(object_of(entity, "user"), "id")


def _unit_edges(text: str) -> set[int]:
    edges, at = {0}, 0
    for char in text:
        at += 2 if ord(char) > 0xFFFF else 1
        edges.add(at)
    return edges


_Span = tuple[int, int, str]


def _pairs(spans: list[_Span]) -> list[tuple[_Span, _Span]]:
    return [(one, two) for at, one in enumerate(spans) for two in spans[at + 1 :]]


def _clash(one: _Span, two: _Span) -> bool:
    is_apart = one[1] <= two[0] or two[1] <= one[0]
    if is_apart:
        return False
    is_nested = (one[0] <= two[0] and two[1] <= one[1]) or (two[0] <= one[0] and one[1] <= two[1])
    are_quotes = one[2] == two[2] == "blockquote"
    return not is_nested or are_quotes or one[2] in ALONE or two[2] in ALONE


def find_entities(text: str) -> list[JsonValue]:
    """The mentions and commands that Telegram itself finds in a text, in UTF-16 units."""
    return [
        {
            "type": "mention" if found[0].startswith("@") else "bot_command",
            "offset": utf16_length(text[: found.start()]),
            "length": utf16_length(found[0]),
        }
        for found in _DETECTED.finditer(text)
    ]
