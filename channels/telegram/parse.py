"""Telegram's updates as inbound events; whatever is none is dropped under a name; pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from channels.fields import int_of, is_true, object_of, objects_of, text_of
from channels.telegram.entities import (
    BotIdentity,
    SpokenCommand,
    Words,
    find_command,
    is_bot_named,
    without_mentions,
)
from channels.telegram.files import name_attachments, read_files
from channels.telegram.places import read_person, read_thread
from channels.telegram.presses import BlankWords, Query, parse_query, parse_words
from geode.messages import COMMANDS, ButtonPress, ChatCommand, InboundMessage, JsonObject
from geode.spoken import command_of, parse_command

ALLOWED_UPDATES: Final = ("message", "edited_message", "callback_query")
NOT_PEOPLE: Final = frozenset({777000, 1087968824, 136817688})
"""Telegram itself, whoever writes as an anonymous admin, and whoever writes as a channel."""
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


Parsed: TypeAlias = (
    InboundMessage
    | ChatCommand
    | ButtonPress
    | BlankWords
    | Query
    | AlbumPart
    | Migration
    | Dropped
)


def parse_update(update: JsonObject, bot: BotIdentity) -> Parsed:
    """Any update; the update's id is its dedupe key."""
    key = f"{bot.id}/{int_of(update, 'update_id')}"
    if message := object_of(update, "message"):
        return _parse_message(message, bot, key)
    if message := object_of(update, "edited_message"):
        parsed = _parse_message(message, bot, key, is_edit=True)
        return replace(parsed, kind="edit") if isinstance(parsed, InboundMessage) else parsed
    if query := object_of(update, "callback_query"):
        return parse_query(query, bot.id, key) or Dropped("malformed")
    kind = next((name for name in update if name != "update_id"), "unknown")
    return Dropped(f"update.{kind}")


def _parse_message(
    message: JsonObject, bot: BotIdentity, key: str, *, is_edit: bool = False
) -> Parsed:
    if early := _read_early(message, bot):
        return early
    words = _read_words(message)
    spoken = _spoken(message, words, bot, key)
    place = (spoken.thread, spoken.sender)
    if answered := parse_words(message, words.text, place, bot.id, key):
        return Dropped("edited_words") if is_edit else answered
    command = find_command(words)
    if command is not None and (reason := _refuse_command(command, spoken, bot)):
        return Dropped(reason)
    if not is_edit and (asked := command or _find_written(words, bot)):
        return _command(spoken, asked)
    if not spoken.text and not spoken.files:
        return Dropped("empty_text")
    album = text_of(message, "media_group_id")
    is_part = bool(album) and not is_edit
    return AlbumPart(f"{spoken.thread.channel}/{album}", spoken) if is_part else spoken


def _refuse_command(command: SpokenCommand, spoken: InboundMessage, bot: BotIdentity) -> str:
    """Why a command is not ours; in a group an unknown one without a name is another bot's."""
    if not command.is_for(bot):
        return "other_bots_command"
    is_ours = spoken.is_direct or command.bot_name or command.verb.lower() in COMMANDS
    return "" if is_ours else "unknown_command"


def _find_written(words: Words, bot: BotIdentity) -> SpokenCommand | None:
    """A command written as `!verb`, or as a mention and a verb."""
    found = parse_command(without_mentions(words, bot), is_mention=is_bot_named(words, bot))
    return SpokenCommand(found[0], "", found[1]) if found else None


def _command(spoken: InboundMessage, command: SpokenCommand) -> ChatCommand:
    # Telegram's own greeting of a bot; whoever sends it wants to know what the bot is for.
    verb = "help" if command.verb == "start" and spoken.is_direct else command.verb
    return command_of(spoken, verb, command.argument)


def _read_early(message: JsonObject, bot: BotIdentity) -> Migration | Dropped | None:
    """What a message is when it is none that a person wrote."""
    chat_id = int_of(object_of(message, "chat"), "id")
    if not chat_id or int_of(message, "message_id") <= 0:
        return Dropped("malformed")
    return _read_migration(message, chat_id) or _dropped_author(message, bot)


def _spoken(message: JsonObject, words: Words, bot: BotIdentity, key: str) -> InboundMessage:
    is_direct = text_of(object_of(message, "chat"), "type") == "private"
    message_id = str(int_of(message, "message_id"))
    thread = read_thread(message, bot.id)
    assert thread is not None, "a message without a chat was dropped"
    return InboundMessage(
        thread=thread,
        message_id=message_id,
        order_key=message_id.rjust(ID_DIGITS, "0"),
        dedupe_key=key,
        sender=read_person(object_of(message, "from")),
        text=_with_notes(without_mentions(words, bot), message),
        is_addressed=is_direct or is_bot_named(words, bot) or _answers_bot(message, bot),
        is_direct=is_direct,
        reply_to="" if is_direct else message_id,
        sent_at_us=int_of(message, "date") * 1_000_000,
        files=read_files(message),
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


def _answers_bot(message: JsonObject, bot: BotIdentity) -> bool:
    replied = object_of(message, "reply_to_message")
    # In a topic every message seems to answer the one that opened the topic.
    if "forum_topic_created" in replied:
        return False
    return str(int_of(object_of(replied, "from"), "id")) == bot.id


def _with_notes(text: str, message: JsonObject) -> str:
    forwarded = ["[forwarded message]"] if object_of(message, "forward_origin") else []
    return "\n".join([*forwarded, *([text] if text else []), *name_attachments(message)])


def join_album(messages: list[InboundMessage]) -> InboundMessage:
    """An album as the one message it was: every caption and attachment, under its first key."""
    ordered = sorted(messages, key=lambda message: message.order_key)
    return replace(
        ordered[0],
        dedupe_key=messages[0].dedupe_key,
        text="\n".join(message.text for message in ordered if message.text),
        files=tuple(file for message in ordered for file in message.files),
        is_addressed=any(message.is_addressed for message in ordered),
    )
