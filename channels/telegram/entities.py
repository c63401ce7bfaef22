"""Telegram's entities over a person's text: mentions and commands by UTF-16 offsets; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from channels.fields import int_of, object_of, text_of
from geode.messages import JsonObject


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who the token makes us, as `getMe` said."""

    id: str
    username: str = ""
    reads_all: bool = True
    """Privacy mode is off: groups hand every message to the bot."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text with the positions of its entities as positions in the string."""

    text: str
    entities: tuple[JsonObject, ...]

    def spans(self) -> Iterator[tuple[int, int, JsonObject]]:
        """Each entity that lies within the text, on whole characters, in order."""
        positions = _positions(self.text)
        for entity in self.entities:
            offset = int_of(entity, "offset", -1)
            start = positions.get(offset)
            end = positions.get(offset + int_of(entity, "length"))
            if start is not None and end is not None and start < end:
                yield start, end, entity


def _positions(text: str) -> dict[int, int]:
    """Where a UTF-16 offset lies in the string; offsets inside a character are not there."""
    found, at = {0: 0}, 0
    for index, char in enumerate(text):
        at += 2 if ord(char) > 0xFFFF else 1
        found[at] = index + 1
    return found


def is_bot_named(words: Words, bot: BotIdentity) -> bool:
    """Whether the text mentions the bot, or holds a command that is addressed to it by name.

    Telegram marks every mention itself, so a text that merely looks like one is none.
    """
    return any(_names_bot(words.text[start:end], e, bot) for start, end, e in words.spans())


def _names_bot(shown: str, entity: JsonObject, bot: BotIdentity) -> bool:
    match text_of(entity, "type"):
        case "mention":
            return _is_name(shown.removeprefix("@"), bot)
        case "bot_command":
            return _is_name(shown.partition("@")[2], bot)
        case "text_mention":
            return str(int_of(object_of(entity, "user"), "id")) == bot.id
        case _:
            return False


def _is_name(name: str, bot: BotIdentity) -> bool:
    # Names are ASCII, so folding their case moves no offset.
    return bool(bot.username) and name.lower() == bot.username.lower()


def without_mentions(words: Words, bot: BotIdentity) -> str:
    """The text without the bot's mentions, which stay only when they are all there is."""
    rest = words.text
    for start, end, entity in sorted(words.spans(), key=lambda span: span[0], reverse=True):
        is_mention = text_of(entity, "type") in ("mention", "text_mention")
        if is_mention and _names_bot(words.text[start:end], entity, bot):
            rest = f"{rest[:start].rstrip(' ')} {rest[end:].lstrip(' ')}"
    return rest.strip() or words.text.strip()


@dataclass(frozen=True, slots=True)
class SpokenCommand:
    """A command with which a text begins; `bot_name` is empty when it names no bot."""

    verb: str
    bot_name: str
    argument: str

    def is_for(self, bot: BotIdentity) -> bool:
        """Whether the bot should look at it; a bot that has no name yet takes unsuffixed ones."""
        return not self.bot_name or _is_name(self.bot_name, bot)


def find_command(words: Words) -> SpokenCommand | None:
    """The command at the very beginning, as Telegram marked it."""
    for start, end, entity in words.spans():
        if start == 0 and text_of(entity, "type") == "bot_command":
            verb, _, name = words.text[:end].removeprefix("/").partition("@")
            return SpokenCommand(verb.lower(), name, words.text[end:].strip())
    return None
