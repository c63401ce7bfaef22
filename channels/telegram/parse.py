"""Telegram's updates as inbound events; whatever is none is dropped under a name; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from channels.fields import int_of, is_true, object_of, objects_of, text_of
from channels.telegram.entities import (
    BotIdentity,
    Words,
    find_command,
    is_bot_named,
    without_mentions,
)
from geode.messages import ChatCommand, InboundMessage, JsonObject, Person, Thread

PLATFORM: Final = "telegram"
ALLOWED_UPDATES: Final = ("message", "edited_message")
GENERAL: Final = "1"
"""A forum's General topic; Telegram gives it this id and refuses it in a send."""
VERBS: Final = frozenset(
    [
        "new",
        "stop",
        "status",
        "usage",
        "help",
        "whoami",
        "model",
        "jobs",
        "why",
        "review",
        "effects",
        "computer",
        "compact",
        "forget",
    ]
)
NOT_PEOPLE: Final = frozenset({777000, 1087968824, 136817688})
"""Telegram itself, whoever writes as an anonymous admin, and whoever writes as a channel."""
ATTACHMENTS: Final = (
    "photo",
    "document",
    "video",
    "animation",
    "audio",
    "voice",
    "video_note",
    "sticker",
    "contact",
    "location",
    "poll",
)
ID_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class Dropped:
    """An update that is nothing for us, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class AlbumPart:
    """One message of several that were sent as one; the rest follows in updates of its own."""

    album: str
    message: InboundMessage


@dataclass(frozen=True, slots=True)
class Migration:
    """A group became a supergroup, which has an id of its own."""

    old_chat: str
    new_chat: str


Parsed: TypeAlias = InboundMessage | ChatCommand | AlbumPart | Migration | Dropped


def parse_update(update: JsonObject, bot: BotIdentity) -> Parsed:
    """Any update; the update's id is its dedupe key."""
    key = f"{bot.id}/{int_of(update, 'update_id')}"
    if message := object_of(update, "message"):
        return _parse_message(message, bot, key)
    if message := object_of(update, "edited_message"):
        parsed = _parse_message(message, bot, key, is_edit=True)
        return replace(parsed, kind="edit") if isinstance(parsed, InboundMessage) else parsed
    kind = next((name for name in update if name != "update_id"), "unknown")
    return Dropped(f"update.{kind}")


def _parse_message(
    message: JsonObject, bot: BotIdentity, key: str, *, is_edit: bool = False
) -> Parsed:
    if early := _read_early(message, bot):
        return early
    words = _read_words(message)
    command = find_command(words)
    if command is not None and not command.is_for(bot):
        return Dropped("other_bots_command")
    spoken = _spoken(message, words, bot, key)
    if command is not None and command.verb in VERBS and not is_edit:
        return ChatCommand(spoken.thread, spoken.sender, command.verb, command.argument, key)
    if not spoken.text:
        return Dropped("empty_text")
    album = text_of(message, "media_group_id")
    is_part = bool(album) and not is_edit
    return AlbumPart(f"{spoken.thread.channel}/{album}", spoken) if is_part else spoken


def _read_early(message: JsonObject, bot: BotIdentity) -> Migration | Dropped | None:
    """What a message is when it is none that a person wrote."""
    chat_id = int_of(object_of(message, "chat"), "id")
    if not chat_id or int_of(message, "message_id") <= 0:
        return Dropped("malformed")
    return _read_migration(message, chat_id) or _dropped_author(message, bot)


def _spoken(message: JsonObject, words: Words, bot: BotIdentity, key: str) -> InboundMessage:
    chat = object_of(message, "chat")
    is_direct = text_of(chat, "type") == "private"
    message_id = str(int_of(message, "message_id"))
    return InboundMessage(
        thread=Thread(PLATFORM, bot.id, str(int_of(chat, "id")), _topic_of(message)),
        message_id=message_id,
        order_key=message_id.rjust(ID_DIGITS, "0"),
        dedupe_key=key,
        sender=_person(object_of(message, "from")),
        text=_with_notes(without_mentions(words, bot), message),
        is_addressed=is_direct or is_bot_named(words, bot) or _answers_bot(message, bot),
        is_direct=is_direct,
        reply_to="" if is_direct else message_id,
        sent_at_us=int_of(message, "date") * 1_000_000,
    )


def _read_migration(message: JsonObject, chat_id: int) -> Migration | None:
    if new := int_of(message, "migrate_to_chat_id"):
        return Migration(str(chat_id), str(new))
    if old := int_of(message, "migrate_from_chat_id"):
        return Migration(str(old), str(chat_id))
    return None


def _dropped_author(message: JsonObject, bot: BotIdentity) -> Dropped | None:
    if object_of(message, "sender_chat"):
        return Dropped("not_a_person")
    sender = object_of(message, "from")
    sender_id = int_of(sender, "id")
    if str(sender_id) == bot.id:
        return Dropped("own_message")
    if sender_id in NOT_PEOPLE:
        return Dropped("not_a_person")
    if is_true(sender, "is_bot"):
        return Dropped("bot_message")
    return None if sender_id else Dropped("no_author")


def _read_words(message: JsonObject) -> Words:
    if text := text_of(message, "text"):
        return Words(text, tuple(objects_of(message, "entities")))
    return Words(text_of(message, "caption"), tuple(objects_of(message, "caption_entities")))


def _topic_of(message: JsonObject) -> str:
    """A reply outside a topic carries a thread id too, so only a topic's message names a topic."""
    topic = int_of(message, "message_thread_id")
    if topic and is_true(message, "is_topic_message"):
        return str(topic)
    return GENERAL if is_true(object_of(message, "chat"), "is_forum") else ""


def _answers_bot(message: JsonObject, bot: BotIdentity) -> bool:
    replied = object_of(message, "reply_to_message")
    # In a topic every message seems to answer the one that opened the topic.
    if "forum_topic_created" in replied:
        return False
    return str(int_of(object_of(replied, "from"), "id")) == bot.id


def _person(sender: JsonObject) -> Person:
    names = (text_of(sender, "first_name"), text_of(sender, "last_name"))
    name = " ".join(part for part in names if part) or text_of(sender, "username")
    return Person(str(int_of(sender, "id")), name)


def _with_notes(text: str, message: JsonObject) -> str:
    found = [name for name in ATTACHMENTS if message.get(name)]
    if "animation" in found and "document" in found:
        found.remove("document")  # an animation is told twice
    notes = [f"[attached {_label(name, message)}, not readable here]" for name in found]
    forwarded = ["[forwarded message]"] if object_of(message, "forward_origin") else []
    return "\n".join([*forwarded, *([text] if text else []), *notes])


def _label(name: str, message: JsonObject) -> str:
    file_name = text_of(object_of(message, name), "file_name")
    return f"{name}: {file_name}" if file_name else name.replace("_", " ")


def join_album(messages: list[InboundMessage]) -> InboundMessage:
    """An album as the one message it was: every caption and attachment, under its first key."""
    ordered = sorted(messages, key=lambda message: message.order_key)
    return replace(
        ordered[0],
        dedupe_key=messages[0].dedupe_key,
        text="\n".join(message.text for message in ordered),
        is_addressed=any(message.is_addressed for message in ordered),
    )
