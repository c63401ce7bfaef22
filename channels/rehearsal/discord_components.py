"""What Discord demands of buttons, forms and an application's commands; pure."""

from __future__ import annotations

import re

from channels.fields import int_of, list_of, object_of, objects_of, text_of
from channels.rehearsal.discord_refusal import DiscordRefusalError
from geode.messages import JsonObject

ROW, BUTTON, TEXT_INPUT, LABEL = 1, 2, 4, 18
ROWS_MAX, ROW_MAX = 5, 5
ID_CHARS_MAX, LABEL_CHARS_MAX, TITLE_CHARS_MAX = 100, 80, 45
COMMANDS_MAX, DESCRIPTION_CHARS_MAX = 100, 100
_NAME = re.compile(r"[-_'a-z0-9]{1,32}")


def check_components(body: JsonObject) -> None:
    """The rows of buttons under a message."""
    rows, seen = objects_of(body, "components"), set[str]()
    if len(rows) != len(list_of(body, "components")) or len(rows) > ROWS_MAX:
        raise invalid(f"components: Must be {ROWS_MAX} or fewer in length.")
    for row in rows:
        buttons = objects_of(row, "components")
        if int_of(row, "type") != ROW or not 1 <= len(buttons) <= ROW_MAX:
            raise invalid(f"components: Must be between 1 and {ROW_MAX} in length.")
        for button in buttons:
            custom_id = _check_button(button)
            if custom_id in seen:
                raise invalid("components: Component custom id cannot be duplicated")
            seen.add(custom_id)


def _check_button(button: JsonObject) -> str:
    custom_id = text_of(button, "custom_id")
    if int_of(button, "type") != BUTTON or int_of(button, "style") not in range(1, 5):
        raise invalid("components: Value of field type is not one of the known ones.")
    if not 1 <= units(custom_id) <= ID_CHARS_MAX:
        raise invalid(f"custom_id: Must be between 1 and {ID_CHARS_MAX} in length.")
    if not 1 <= units(text_of(button, "label")) <= LABEL_CHARS_MAX:
        raise invalid(f"label: Must be between 1 and {LABEL_CHARS_MAX} in length.")
    return custom_id


def check_form(shown: JsonObject) -> None:
    """A modal: a title, an id and one to five labelled text boxes."""
    if not 1 <= units(text_of(shown, "title")) <= TITLE_CHARS_MAX:
        raise invalid(f"title: Must be between 1 and {TITLE_CHARS_MAX} in length.")
    if not 1 <= units(text_of(shown, "custom_id")) <= ID_CHARS_MAX:
        raise invalid(f"custom_id: Must be between 1 and {ID_CHARS_MAX} in length.")
    rows = objects_of(shown, "components")
    if not 1 <= len(rows) <= ROWS_MAX:
        raise invalid(f"components: Must be between 1 and {ROWS_MAX} in length.")
    for row in rows:
        box = object_of(row, "component")
        if int_of(row, "type") != LABEL or int_of(box, "type") != TEXT_INPUT:
            raise invalid("components: Value of field type is not one of the known ones.")
        if not 1 <= units(text_of(row, "label")) <= TITLE_CHARS_MAX:
            raise invalid(f"label: Must be between 1 and {TITLE_CHARS_MAX} in length.")
        if units(text_of(row, "description")) > DESCRIPTION_CHARS_MAX:
            raise invalid("description: Must be 100 or fewer in length.")
        if int_of(box, "style") not in (1, 2) or not text_of(box, "custom_id"):
            raise invalid("components: This field is required")


def check_commands(commands: list[JsonObject]) -> None:
    """The commands of an application, registered all at once."""
    names = [text_of(command, "name") for command in commands]
    if len(names) > COMMANDS_MAX or len(set(names)) != len(names):
        raise invalid("name: Application command names must be unique")
    for command in (*commands, *(o for c in commands for o in objects_of(c, "options"))):
        if not _NAME.fullmatch(text_of(command, "name")):
            raise invalid("name: Command name is invalid")
        if not 1 <= units(text_of(command, "description")) <= DESCRIPTION_CHARS_MAX:
            raise invalid("description: Must be between 1 and 100 in length.")


def units(text: str) -> int:
    """Length as Discord counts it, on the safe side."""
    return len(text.encode("utf-16-le")) // 2


def invalid(detail: str) -> DiscordRefusalError:
    """A body with a wrong field."""
    return DiscordRefusalError(50035, detail=detail)
