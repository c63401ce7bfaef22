"""What Telegram refuses about keyboards, prompts and command menus; pure."""

from __future__ import annotations

import re
from typing import Final

from channels.fields import is_true, list_of, object_of, objects_of, text_of, to_object
from geode.messages import JsonObject, JsonValue

DATA_BYTES_MAX: Final = 64
COMMANDS_MAX: Final = 100
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")


def check_markup(call: JsonObject, *, is_edit: bool = False) -> str:
    """The description of what is wrong with a message's `reply_markup`, or an empty string."""
    if "reply_markup" not in call:
        return ""
    markup = object_of(call, "reply_markup")
    if is_true(markup, "force_reply"):
        return "Bad Request: inline keyboard expected" if is_edit else ""
    if "inline_keyboard" not in markup:
        return "Bad Request: object expected as reply markup"
    for button in list_buttons(markup):
        if not text_of(button, "text").strip():
            return "Bad Request: text buttons are unallowed in the inline keyboard"
        if not 1 <= len(text_of(button, "callback_data").encode()) <= DATA_BYTES_MAX:
            return "Bad Request: BUTTON_DATA_INVALID"
    return ""


def list_buttons(markup: JsonObject) -> list[JsonObject]:
    """Every button of an inline keyboard, row by row."""
    rows: list[JsonValue] = list_of(markup, "inline_keyboard")
    return [to_object(button) for row in rows if isinstance(row, list) for button in row]


def check_commands(call: JsonObject) -> str:
    """The description of what is wrong with a menu of commands, or an empty string."""
    commands = objects_of(call, "commands")
    if len(commands) > COMMANDS_MAX or len(commands) != len(list_of(call, "commands")):
        return "Bad Request: can't parse commands"
    for each in commands:
        if not _COMMAND.fullmatch(text_of(each, "command")):
            return "Bad Request: BOT_COMMAND_INVALID"
        if not 1 <= len(text_of(each, "description")) <= 256:
            return "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID"
    return ""
