"""Slack's payloads as inbound messages; whatever is none is dropped under a name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from channels.fields import object_of, objects_of, text_of
from channels.slack.entities import is_mentioned, read_text
from geode.messages import InboundMessage, JsonObject, Person, QuotedMessage, Thread

PLATFORM = "slack"
SLACKBOT = "USLACKBOT"
"""Slack's own bot, which has no bot id: it says what anybody told it to, such as reminders."""
SPOKEN_SUBTYPES = frozenset({"", "file_share", "thread_broadcast", "me_message"})


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who we are in the workspace, as `auth.test` said."""

    user_id: str
    bot_id: str
    team_id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """An event that is no message for us, and why."""

    reason: str


Parsed: TypeAlias = InboundMessage | Dropped


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an event came from: the envelope's team, the channel, and the event's own id."""

    team: str
    channel: str
    is_direct: bool
    event_id: str = ""


def parse_payload(payload: JsonObject, bot: BotIdentity) -> Parsed:
    """Any payload of the socket: events, interactions, slash commands and what is yet unknown."""
    if text_of(payload, "command"):
        return Dropped("slash_command")
    if text_of(payload, "type") != "event_callback":
        return Dropped(f"payload.{text_of(payload, 'type') or 'unknown'}")
    event = object_of(payload, "event")
    kind = text_of(event, "type")
    if kind not in ("message", "app_mention"):
        return Dropped(f"event.{kind or 'unknown'}")
    channel = text_of(event, "channel")
    # The envelope's team is the workspace we are installed in; a shared channel's event may carry
    # its author's team inside.
    origin = Origin(
        team=text_of(payload, "team_id") or bot.team_id,
        channel=channel,
        is_direct=is_direct_channel(channel, text_of(event, "channel_type")),
        event_id=text_of(payload, "event_id"),
    )
    return _parse_message_event(event, origin, bot, is_mention=kind == "app_mention")


def is_direct_channel(channel: str, channel_type: str = "") -> bool:
    """Whether a channel is a direct message between one person and the bot."""
    return channel_type == "im" or (not channel_type and channel.startswith("D"))


def _parse_message_event(
    event: JsonObject, origin: Origin, bot: BotIdentity, *, is_mention: bool
) -> Parsed:
    match text_of(event, "subtype"):
        case "message_changed":
            return _parse_change(event, origin, bot)
        case "message_deleted":
            return _parse_deletion(object_of(event, "previous_message"), event, origin, bot)
        case _:
            return parse_message(event, origin, bot, is_mention=is_mention)


def parse_message(
    message: JsonObject, origin: Origin, bot: BotIdentity, *, is_mention: bool = False
) -> Parsed:
    """One message as an event or as the history shows it."""
    subtype = text_of(message, "subtype")
    if author := _dropped_author(message, bot):
        return author
    if subtype not in SPOKEN_SUBTYPES:
        return Dropped(f"subtype.{subtype}")
    ts, wire = text_of(message, "ts"), text_of(message, "text")
    if not is_ts(ts) or not origin.channel:
        return Dropped("malformed")
    text = _with_files(read_text(wire, bot.user_id, bot.name), message)
    if not text:
        return Dropped("empty_text")
    thread_ts = text_of(message, "thread_ts")
    return InboundMessage(
        thread=Thread(
            PLATFORM, origin.team, origin.channel, "" if origin.is_direct else thread_ts or ts
        ),
        message_id=ts,
        order_key=order_key(ts),
        dedupe_key=f"{origin.team}/{origin.channel}/{ts}",
        sender=Person(text_of(message, "user")),
        text=text,
        is_addressed=is_mention or origin.is_direct or is_mentioned(wire, bot.user_id),
        is_direct=origin.is_direct,
        has_earlier=thread_ts not in ("", ts),
        reply_to=thread_ts if origin.is_direct else "",
        sent_at_us=ts_to_us(ts),
        is_edited=bool(object_of(message, "edited")),
    )


def _parse_change(event: JsonObject, origin: Origin, bot: BotIdentity) -> Parsed:
    """A change with the same words is a link preview or the like, whoever it seems to be from."""
    message, previous = object_of(event, "message"), object_of(event, "previous_message")
    if text_of(message, "subtype") == "tombstone":
        return _parse_deletion(previous or message, event, origin, bot)
    if author := _dropped_author(message, bot):
        return author
    is_same = text_of(message, "text") == text_of(previous, "text")
    if is_same or not (previous or object_of(message, "edited")):
        return Dropped("change_without_new_text")
    return _as_change(parse_message(message, origin, bot), "edit", origin)


def _parse_deletion(
    previous: JsonObject, event: JsonObject, origin: Origin, bot: BotIdentity
) -> Parsed:
    if author := _dropped_author(previous, bot):
        return author
    ts = text_of(event, "deleted_ts") or text_of(previous, "ts")
    gone: JsonObject = {**previous, "ts": ts, "subtype": "", "text": "deleted"}
    return _as_change(parse_message(gone, origin, bot), "delete", origin)


def _as_change(parsed: Parsed, kind: str, origin: Origin) -> Parsed:
    if isinstance(parsed, Dropped):
        return parsed
    key = f"{origin.team}/{origin.event_id}"
    if kind == "edit":
        return replace(parsed, kind="edit", dedupe_key=key)
    return replace(parsed, kind="delete", dedupe_key=key, text="", is_addressed=False)


def _dropped_author(message: JsonObject, bot: BotIdentity) -> Dropped | None:
    """The reason to drop a message for its author, read where Slack puts it, or None."""
    user = text_of(message, "user")
    if user == bot.user_id or (bot.bot_id and text_of(message, "bot_id") == bot.bot_id):
        return Dropped("own_message")
    is_bot = text_of(message, "bot_id") or text_of(message, "subtype") == "bot_message"
    if is_bot or user == SLACKBOT:
        return Dropped("bot_message")
    return None if user else Dropped("no_author")


def _with_files(text: str, message: JsonObject) -> str:
    names = [text_of(file, "name") or text_of(file, "id") for file in objects_of(message, "files")]
    notes = [f"[attached file, not readable here: {name}]" for name in names if name]
    return "\n".join([text, *notes]).strip()


def quote_message(message: JsonObject, bot: BotIdentity) -> QuotedMessage | None:
    """An earlier message of a thread as quoted data; None for what no person wrote."""
    parsed = parse_message(message, Origin(bot.team_id, "-", is_direct=False), bot)
    if isinstance(parsed, Dropped):
        return None
    return QuotedMessage(parsed.message_id, parsed.order_key, parsed.sender, parsed.text)


def is_ts(text: str) -> bool:
    """Whether a text is a Slack time stamp."""
    seconds, dot, micros = text.partition(".")
    return bool(dot) and seconds.isdecimal() and micros.isdecimal()


def order_key(ts: str) -> str:
    """A key that sorts as text in the order of time stamps."""
    seconds, _, micros = ts.partition(".")
    return f"{seconds:0>12}.{micros:0<6}"


def ts_to_us(ts: str) -> int:
    """UTC microseconds of a time stamp, without a float on the way."""
    seconds, _, micros = ts.partition(".")
    return int(seconds) * 1_000_000 + int(f"{micros:0<6}"[:6])


def us_to_ts(us: int) -> str:
    """A time stamp for a bound of a search; never earlier than zero."""
    us = max(us, 0)
    return f"{us // 1_000_000}.{us % 1_000_000:06d}"
