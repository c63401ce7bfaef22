"""Platform ids as the operator writes them: exact text in each platform's grammar; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

DIRECT_MESSAGES = "dm"


@dataclass(frozen=True, slots=True)
class IdGrammar:
    """What one platform's ids look like, and how to tell a person where to find them."""

    person: re.Pattern[str]
    where: re.Pattern[str]
    person_example: str
    where_example: str


@dataclass(frozen=True, slots=True)
class BoundPlace:
    """A binding's `where`, taken apart at its slashes."""

    workspace: str
    channel: str
    """The platform's channel id, or `dm` for the direct messages of the binding's people."""
    thread: str = ""
    """Empty when the binding covers the whole channel."""

    @property
    def is_direct(self) -> bool:
        """Whether the binding covers direct messages instead of one channel."""
        return self.channel == DIRECT_MESSAGES


_SLACK = IdGrammar(
    person=re.compile(r"[UWB][A-Z0-9]+"),
    where=re.compile(r"[TE][A-Z0-9]+/(?:dm|[CGD][A-Z0-9]+(?:/[0-9]+\.[0-9]+)?)"),
    person_example="a member id such as U0123ABCD (profile, Copy member ID)",
    where_example='"T0123/C0456", "T0123/C0456/1712345678.000100" or "T0123/dm"',
)
_DISCORD = IdGrammar(
    person=re.compile(r"[0-9]{1,20}"),
    where=re.compile(r"(?:[0-9]{1,20}|dm)/(?:dm|[0-9]{1,20}(?:/[0-9]{1,20})?)"),
    person_example="a user id such as 80351110224678912 (developer mode, Copy User ID)",
    where_example='"SERVER_ID/CHANNEL_ID", "SERVER_ID/CHANNEL_ID/THREAD_ID" or "dm/dm"',
)
_TELEGRAM = IdGrammar(
    person=re.compile(r"-?[0-9]+"),
    where=re.compile(r"[0-9]+/(?:dm|-?[0-9]+(?:/[0-9]+)?)"),
    person_example="a numeric user id such as 5432109876 (the bot tells it on /whoami)",
    where_example='"BOT_ID/CHAT_ID", "BOT_ID/CHAT_ID/TOPIC_ID" or "BOT_ID/dm"',
)
_ANY = IdGrammar(
    person=re.compile(r"[^\s@#/][^\s@/]*"),
    where=re.compile(r"[^\s@#/][^\s@/]*(?:/[^\s@/]+){0,2}"),
    person_example="the platform's own id, without @ or spaces",
    where_example='"WORKSPACE/CHANNEL" or "WORKSPACE/CHANNEL/THREAD"',
)
_GRAMMARS = {"slack": _SLACK, "discord": _DISCORD, "telegram": _TELEGRAM}


def parse_id_text(value: object) -> str:
    """The id as exact text: a string as it stands, an integer digit by digit.

    Raises `ValueError` for anything else; a fraction may already have lost digits.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f'{value!r} is not an id; write it in quotes, digit by digit: "1234567890"')


def parse_person(platform: str, value: object) -> str:
    """One person's id on that platform; raises `ValueError` for names and @handles."""
    text = parse_id_text(value)
    grammar = _GRAMMARS.get(platform, _ANY)
    if grammar.person.fullmatch(text) is None or not text.isprintable():
        raise ValueError(
            f"{text!r} is not a {platform} id; names and @handles can be taken over by others, "
            f"so write {grammar.person_example}"
        )
    return text


def parse_people(platform: str, value: object) -> tuple[str, ...]:
    """A list of people's ids; an empty list matches nobody."""
    if isinstance(value, list | tuple):
        return tuple(parse_person(platform, item) for item in cast("list[object]", value))
    raise ValueError(f'{value!r} is not a list; write ids in brackets: ["ID", "ID"]')


def parse_where(platform: str, value: object) -> str:
    """A bound place as text; raises `ValueError` when it does not name ids of that platform."""
    text = parse_id_text(value)
    grammar = _GRAMMARS.get(platform, _ANY)
    if grammar.where.fullmatch(text) is None or not text.isprintable():
        raise ValueError(
            f"{text!r} does not name a place on {platform}; "
            f"write platform ids in the form {grammar.where_example}"
        )
    return text


def parse_destination(value: object) -> str:
    """A place that messages may be sent to, as `slack:T0123/C0456`; raises `ValueError`.

    The same form as a binding's key: a channel, a thread or a topic, never direct messages.
    """
    platform, colon, where = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not colon or not platform or not platform.isprintable():
        raise ValueError(f'{value!r} is not a destination; write "slack:T0123/C0456"')
    place = split_where(parse_where(platform, where))
    if place.is_direct or (platform == "web" and not place.thread):
        raise ValueError(f"{value!r} is no single conversation; name a channel or a thread")
    return f"{platform}:{where}"


def split_where(where: str) -> BoundPlace:
    """Take a checked `where` apart."""
    workspace, _, rest = where.partition("/")
    channel, _, thread = rest.partition("/")
    return BoundPlace(workspace, channel, thread)
