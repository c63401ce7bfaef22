"""Discord's message objects as inbound messages; whatever is none is dropped under a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from channels.discord.attached import read_files
from channels.discord.entities import is_mentioned, read_text
from channels.discord.places import Spot
from channels.discord.snowflakes import is_snowflake, order_key, snowflake_to_us
from channels.fields import int_of, is_true, list_of, object_of, objects_of, text_of
from geode.messages import ChatCommand, InboundMessage, JsonObject, Person, QuotedMessage
from geode.spoken import read_said

PLAIN, REPLY, STARTER = 0, 19, 21
SPOKEN_KINDS = (PLAIN, REPLY)
NO_TEXT = "empty_text"


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who we are; `ids` is every id that means us, our own role in the server included."""

    user_id: str
    name: str = ""
    roles: tuple[str, ...] = ()

    @property
    def ids(self) -> Mapping[str, str]:
        """Each with our name."""
        return dict.fromkeys((self.user_id, *self.roles), self.name)


@dataclass(frozen=True, slots=True)
class Dropped:
    """An event that is no message for us, and why."""

    reason: str


Parsed: TypeAlias = InboundMessage | Dropped
Said: TypeAlias = InboundMessage | ChatCommand | Dropped


def parse_said(message: JsonObject, spot: Spot, bot: BotIdentity) -> Said:
    """What a person said: a command where it reads as one, otherwise a message."""
    parsed = parse_message(message, spot, bot)
    if isinstance(parsed, Dropped):
        return parsed
    return read_said(parsed, is_mention=is_addressed(message, bot))


def parse_message(message: JsonObject, spot: Spot, bot: BotIdentity) -> Parsed:
    """One message as the gateway or the history shows it."""
    if author := _dropped_author(message, bot):
        return author
    message_id = text_of(message, "id")
    if not is_snowflake(message_id) or not message_id:
        return Dropped("malformed")
    if int_of(message, "type") not in SPOKEN_KINDS:
        return Dropped(f"type.{int_of(message, 'type')}")
    if spot.kind in ("other", "forum"):
        return Dropped("place")
    text, files = read_words(message, bot), read_files(message)
    if not text and not files:
        return Dropped(NO_TEXT)
    thread = spot.thread_of(message_id)
    is_direct = spot.kind == "direct"
    return InboundMessage(
        thread=thread,
        message_id=message_id,
        order_key=order_key(message_id),
        dedupe_key=f"{spot.id}/{message_id}",
        sender=read_person(object_of(message, "author"), object_of(message, "member")),
        text=text,
        is_addressed=is_direct or is_addressed(message, bot),
        is_direct=is_direct,
        has_earlier=spot.kind == "thread" and message_id != spot.id,
        sent_at_us=snowflake_to_us(message_id),
        category=spot.category,
        is_edited=bool(text_of(message, "edited_timestamp")),
        files=files,
    )


def parse_edit(message: JsonObject, spot: Spot, bot: BotIdentity) -> Parsed:
    """A change of the words; link previews and the like arrive as changes too and are none."""
    edited_at = text_of(message, "edited_timestamp")
    if not edited_at:
        return Dropped("change_without_new_text")
    parsed = parse_message(message, spot, bot)
    if isinstance(parsed, Dropped):
        return parsed
    return replace(parsed, kind="edit", dedupe_key=f"{parsed.dedupe_key}/{edited_at}")


def parse_deletion(message_id: str, spot: Spot, author: str) -> Parsed:
    """A deletion; Discord does not say whose message it was, so `author` is what we remember."""
    if not is_snowflake(message_id) or not message_id or spot.kind in ("other", "forum"):
        return Dropped("malformed")
    if not author:
        return Dropped("deletion_of_unknown")
    return InboundMessage(
        thread=spot.thread_of(message_id),
        message_id=message_id,
        order_key=order_key(message_id),
        dedupe_key=f"{spot.id}/{message_id}/deleted",
        sender=Person(author),
        text="",
        kind="delete",
        is_direct=spot.kind == "direct",
        sent_at_us=snowflake_to_us(message_id),
        category=spot.category,
    )


def quote_message(message: JsonObject, bot: BotIdentity) -> QuotedMessage | None:
    """An earlier message as quoted data; None for what no person wrote.

    A thread opened from a message begins with a note that carries that message.
    """
    if int_of(message, "type") == STARTER:
        message = object_of(message, "referenced_message")
    spot = Spot("-", "-", "direct")
    parsed = parse_message(message, spot, bot)
    if isinstance(parsed, Dropped):
        return None
    notes = [f"[attached file: {file.name}]" for file in parsed.files]
    text = "\n".join([parsed.text, *notes]).strip()
    return QuotedMessage(parsed.message_id, parsed.order_key, parsed.sender, text)


def is_addressed(message: JsonObject, bot: BotIdentity) -> bool:
    """Whether the message mentions us, our own role, or answers us with a ping."""
    mentioned = {text_of(user, "id") for user in objects_of(message, "mentions")}
    roles = {role for role in list_of(message, "mention_roles") if isinstance(role, str)}
    is_named = bot.user_id in mentioned or not roles.isdisjoint(bot.roles)
    return is_named or is_mentioned(text_of(message, "content"), bot.ids)


def read_words(message: JsonObject, bot: BotIdentity) -> str:
    """What the message says, forwarded words included."""
    names = {text_of(u, "id"): _name_of(u) for u in objects_of(message, "mentions")}
    words = [read_text(text_of(message, "content"), bot.ids, names)]
    for snapshot in objects_of(message, "message_snapshots"):
        forwarded = object_of(snapshot, "message")
        words += [f"[forwarded] {text_of(forwarded, 'content')}".strip(), *_notes(forwarded)]
    if poll := object_of(object_of(message, "poll"), "question"):
        words.append(f"[poll: {text_of(poll, 'text')}]")
    return "\n".join(part for part in [*words, *_notes(message)] if part).strip()


def _notes(message: JsonObject) -> list[str]:
    stickers = [text_of(sticker, "name") for sticker in objects_of(message, "sticker_items")]
    return [f"[sticker: {name}]" for name in stickers if name]


def _dropped_author(message: JsonObject, bot: BotIdentity) -> Dropped | None:
    author = object_of(message, "author")
    if text_of(author, "id") == bot.user_id:
        return Dropped("own_message")
    if is_true(author, "bot") or text_of(message, "webhook_id"):
        return Dropped("bot_message")
    return None if text_of(author, "id") else Dropped("no_author")


def read_person(user: JsonObject, member: JsonObject) -> Person:
    """A person under the name that the others see: of the server, of Discord, of the account."""
    name = text_of(member, "nick") or _name_of(user)
    return Person(text_of(user, "id"), name, is_bot=is_true(user, "bot"))


def _name_of(user: JsonObject) -> str:
    return text_of(user, "global_name") or text_of(user, "username")
