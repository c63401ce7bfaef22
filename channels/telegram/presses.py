"""Buttons and the words they ask for, on the wire: opaque callback data, and prompts; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from channels.fields import int_of, object_of, objects_of, text_of
from channels.telegram.markup import make_inert
from channels.telegram.places import read_person, read_thread
from geode.messages import ButtonPress, JsonObject, JsonValue, Person, Thread

PRESS: Final = "press:"
ASK: Final = "ask:"
DATA_BYTES_MAX: Final = 64
PROMPT_URL: Final = "https://geode.invalid/words"
"""An address that leads nowhere: what a prompt asks for is written in it, not remembered."""

_DATA = re.compile(r"(press:|ask:)([A-Za-z0-9_-]{1,58})")
_PROMPT = re.compile(re.escape(PROMPT_URL) + r"/(\d{1,20})/([A-Za-z0-9_-]{1,58})")


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button that decides; Telegram waits for an answer to its query."""

    query: str
    press: ButtonPress


@dataclass(frozen=True, slots=True)
class WordsAsked:
    """A button that asks for words: the person is to be prompted for them."""

    query: str
    press: ButtonPress
    label: str
    """What the button says."""


@dataclass(frozen=True, slots=True)
class StrayQuery:
    """A query that no button of ours sends; it is answered all the same."""

    query: str


@dataclass(frozen=True, slots=True)
class BlankWords:
    """An answer to a prompt without words in it."""

    press: ButtonPress
    message_id: str


Query: TypeAlias = Pressed | WordsAsked | StrayQuery


def button_to_data(nonce: str, *, is_asking: bool) -> str:
    """The callback data of a button."""
    made = f"{ASK if is_asking else PRESS}{nonce}"
    assert len(made.encode()) <= DATA_BYTES_MAX, "a nonce is short"
    return made


def parse_query(query: JsonObject, bot_id: str, key: str) -> Query | None:
    """A callback query; None when it cannot even be answered."""
    query_id = text_of(query, "id")
    if not query_id:
        return None
    message = object_of(query, "message")
    found = _DATA.fullmatch(text_of(query, "data"))
    author = int_of(object_of(message, "from"), "id")
    thread = read_thread(message, bot_id)
    presser = read_person(object_of(query, "from"))
    message_id = int_of(message, "message_id")
    if not found or thread is None or str(author or bot_id) != bot_id or message_id <= 0:
        return StrayQuery(query_id)
    kind, nonce = found.groups()
    press = ButtonPress(
        thread, str(message_id), presser, nonce, key, is_direct=_is_private(message)
    )
    if kind == PRESS:
        return Pressed(query_id, press)
    return WordsAsked(query_id, press, _label_of(message, text_of(query, "data")))


def _label_of(message: JsonObject, data: str) -> str:
    rows = object_of(message, "reply_markup").get("inline_keyboard")
    for row in rows if isinstance(rows, list) else []:
        for button in row if isinstance(row, list) else []:
            if isinstance(button, dict) and text_of(button, "callback_data") == data:
                return text_of(button, "text")
    return ""


def _is_private(message: JsonObject) -> bool:
    return text_of(object_of(message, "chat"), "type") == "private"


def prompt_for(asked: WordsAsked) -> JsonObject:
    """The message that asks a person for words; only that person's answer to it counts."""
    # A name may look like somebody else's handle, and would then ping them.
    name = make_inert(" ".join(asked.press.presser.name.split())) or "You"
    label = asked.label or "your words"
    text = f"{name}, please answer this message: {label}"
    start = _units(f"{name}, please ")
    entities: list[JsonValue] = [
        {
            "type": "text_mention",
            "offset": 0,
            "length": _units(name),
            "user": {"id": int(asked.press.presser.id), "first_name": name, "is_bot": False},
        },
        {
            "type": "text_link",
            "offset": start,
            "length": len("answer"),
            "url": f"{PROMPT_URL}/{asked.press.message_id}/{asked.press.nonce}",
        },
    ]
    return {"text": text, "entities": entities, "asks": label}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def parse_words(
    message: JsonObject, words: str, place: tuple[Thread, Person], bot_id: str, key: str
) -> ButtonPress | BlankWords | None:
    """The words that a prompt asked this person for; None when the message answers no prompt."""
    replied = object_of(message, "reply_to_message")
    if str(int_of(object_of(replied, "from"), "id")) != bot_id:
        return None
    thread, person = place
    entities = objects_of(replied, "entities")
    # The model cannot write a mention of this kind, so no answer of ours looks like a prompt.
    asked = [str(int_of(object_of(e, "user"), "id")) for e in entities if _is(e, "text_mention")]
    links = [_PROMPT.fullmatch(text_of(e, "url")) for e in entities if _is(e, "text_link")]
    if asked != [person.id] or len(links) != 1 or links[0] is None:
        return None
    card, nonce = links[0].groups()
    press = ButtonPress(
        thread, card, person, nonce, key, words.strip(), is_direct=_is_private(message)
    )
    return press if press.text else BlankWords(press, str(int_of(message, "message_id")))


def _is(entity: JsonObject, kind: str) -> bool:
    return text_of(entity, "type") == kind
