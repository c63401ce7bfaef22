"""Discord's interactions as presses and commands; whatever is neither is dropped; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from channels.discord.cards import ASK, PRESS
from channels.discord.parse import Dropped, read_person
from channels.discord.places import Spot
from channels.discord.snowflakes import is_snowflake
from channels.fields import int_of, object_of, objects_of, text_of
from geode.messages import ButtonPress, ChatCommand, JsonObject, JsonValue, Person

COMMAND, COMPONENT, SUBMIT = 2, 3, 5
CHAT_INPUT, BUTTON = 1, 2
DEFER_MESSAGE, DEFER_UPDATE, MODAL = 5, 6, 9
EPHEMERAL = 1 << 6
LABEL, TEXT_INPUT, PARAGRAPH = 18, 4, 2
LABEL_CHARS_MAX, TEXT_CHARS_MAX = 45, 4_000
ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Interaction:
    """One thing that a person did with our buttons, forms or commands."""

    id: str
    token: str = field(repr=False)
    """Answers it for fifteen minutes; whoever holds it speaks as us."""
    application: str
    guild: str
    channel: str
    presser: Person
    kind: Literal["press", "ask", "submit", "command"]
    name: str
    """The nonce of a button or form, or a command's verb."""
    text: str = ""
    """The words of a form, a command's argument, or the prompt of a button that asks."""
    label: str = ""
    message: str = ""
    """The message that carries the button."""


def parse_interaction(shown: JsonObject) -> Interaction | Dropped:
    """One INTERACTION_CREATE."""
    ids = [text_of(shown, name) for name in ("id", "channel_id", "application_id")]
    if not all(one and is_snowflake(one) for one in ids) or not text_of(shown, "token"):
        return Dropped("malformed")
    member = object_of(shown, "member")
    presser = read_person(object_of(member, "user") or object_of(shown, "user"), member)
    if not presser.id or presser.is_bot:
        return Dropped("no_author")
    read = _read(int_of(shown, "type"), object_of(shown, "data"), object_of(shown, "message"))
    if isinstance(read, Dropped):
        return read
    kind, name, text, label = read
    return Interaction(
        id=ids[0],
        token=text_of(shown, "token"),
        application=ids[2],
        guild=text_of(shown, "guild_id"),
        channel=ids[1],
        presser=presser,
        kind=kind,
        name=name,
        text=text,
        label=label,
        message=text_of(object_of(shown, "message"), "id"),
    )


_Read = tuple[Literal["press", "ask", "submit", "command"], str, str, str]


def _read(number: int, said: JsonObject, message: JsonObject) -> _Read | Dropped:
    if number == COMMAND:
        if int_of(said, "type", CHAT_INPUT) != CHAT_INPUT or not text_of(said, "name"):
            return Dropped("interaction.menu")
        return "command", text_of(said, "name").lower(), _argument_of(said), ""
    custom = text_of(said, "custom_id")
    head, _, rest = custom.partition(":")
    nonce, _, prompt = rest.partition(":")
    if not nonce or head not in (PRESS, ASK):
        return Dropped("interaction.foreign" if custom else f"interaction.type.{number}")
    if number == SUBMIT and head == ASK:
        return "submit", nonce, _answer_of(said), ""
    if number == COMPONENT and int_of(said, "component_type") == BUTTON:
        label = next((text_of(b, "label") for b in _flat(message) if _is_it(b, custom)), "")
        return ("ask" if head == ASK else "press"), nonce, prompt, label
    return Dropped(f"interaction.type.{number}")


def _is_it(component: JsonObject, custom_id: str) -> bool:
    return text_of(component, "custom_id") == custom_id


def _flat(holder: JsonObject) -> Iterator[JsonObject]:
    """The components inside rows and labels, in order."""
    for outer in objects_of(holder, "components"):
        yield from objects_of(outer, "components")
        if inner := object_of(outer, "component"):
            yield inner


def _argument_of(said: JsonObject) -> str:
    return "\n".join(text_of(option, "value") for option in objects_of(said, "options")).strip()


def _answer_of(said: JsonObject) -> str:
    return next((text_of(c, "value") for c in _flat(said) if _is_it(c, ANSWER)), "").strip()


def event_of(done: Interaction, spot: Spot) -> ButtonPress | ChatCommand:
    """What the core hears of a press, a form's words or a command."""
    thread, is_direct = spot.thread_of(""), spot.kind == "direct"
    if done.kind == "command":
        return ChatCommand(
            thread=thread,
            sender=done.presser,
            verb=done.name,
            argument=done.text,
            dedupe_key=f"interaction/{done.id}",
            is_direct=is_direct,
            category=spot.category,
            is_private=True,
        )
    return ButtonPress(
        thread=thread,
        message_id=done.message,
        presser=done.presser,
        nonce=done.name,
        dedupe_key=f"interaction/{done.id}",
        text=done.text if done.kind == "submit" else "",
        is_direct=is_direct,
        category=spot.category,
    )


def form_of(asked: Interaction) -> JsonObject:
    """The form that a button with a prompt opens."""
    is_short = len(asked.text) <= LABEL_CHARS_MAX
    box: JsonObject = {
        "type": TEXT_INPUT,
        "custom_id": ANSWER,
        "style": PARAGRAPH,
        "min_length": 1,
        "max_length": TEXT_CHARS_MAX,
        "required": True,
    }
    row: JsonObject = {
        "type": LABEL,
        "label": (asked.text if is_short else "") or "Your answer",
        "component": box,
    }
    if not is_short:
        row["description"] = asked.text
    rows: list[JsonValue] = [row]
    return {
        "custom_id": f"{ASK}:{asked.name}",
        "title": asked.label[:LABEL_CHARS_MAX] or "Answer",
        "components": rows,
    }


def acknowledgement_of(done: Interaction) -> JsonObject:
    """The one first answer of an interaction: a form, a promise in private, or nothing to see."""
    match done.kind:
        case "ask":
            return {"type": MODAL, "data": form_of(done)}
        case "command":
            return {"type": DEFER_MESSAGE, "data": {"flags": EPHEMERAL}}
        case _:
            return {"type": DEFER_UPDATE}
