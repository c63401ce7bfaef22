"""Slack's payloads as inbound events; whatever is none is dropped under a name."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from channels.fields import int_of, is_true, object_of, objects_of, text_of
from channels.slack.entities import is_mentioned, read_text
from channels.slack.origin import (
    BotIdentity,
    Dropped,
    Origin,
    is_direct_channel,
    read_ours,
    read_person,
    read_workspace,
)
from channels.slack.presses import AskWords, parse_press
from channels.slack.slash import parse_slash
from channels.slack.stamps import is_ts, order_key, ts_to_us
from geode.messages import (
    ButtonPress,
    ChatCommand,
    FileRef,
    InboundMessage,
    JsonObject,
    QuotedMessage,
)
from geode.spoken import read_said

SLACKBOT = "USLACKBOT"
"""Slack's own bot, which has no bot id: it says what anybody told it to, such as reminders."""
SPOKEN_SUBTYPES = frozenset({"", "file_share", "thread_broadcast", "me_message"})
GONE_MODES = frozenset({"tombstone", "hidden_by_limit"})
STOPPED = "agent_session_stopped"
"""The stop button that Slack shows while a thread's session is processing."""

Parsed: TypeAlias = InboundMessage | ButtonPress | ChatCommand | AskWords | Dropped
Said: TypeAlias = InboundMessage | ChatCommand | Dropped


def parse_payload(payload: JsonObject, bot: BotIdentity) -> Parsed:
    """Any payload of the socket: events, interactions, slash commands and what is yet unknown."""
    if text_of(payload, "command"):
        return parse_slash(payload, bot)
    kind = text_of(payload, "type")
    if kind in ("block_actions", "view_submission"):
        return parse_press(payload, bot)
    if kind != "event_callback":
        return Dropped(f"payload.{kind or 'unknown'}")
    return _parse_event(payload, object_of(payload, "event"), bot)


def _parse_event(payload: JsonObject, event: JsonObject, bot: BotIdentity) -> Parsed:
    kind = text_of(event, "type")
    if kind not in ("message", "app_mention", STOPPED):
        return Dropped(f"event.{kind or 'unknown'}")
    channel = text_of(event, "channel")
    origin = Origin(
        team=read_workspace(payload, bot),
        channel=channel,
        is_direct=is_direct_channel(channel, text_of(event, "channel_type")),
        event_id=text_of(payload, "event_id"),
        ours=read_ours(payload, bot),
    )
    if kind == STOPPED:
        return _parse_stop(event, origin)
    return _parse_message_event(event, origin, bot, is_mention=kind == "app_mention")


def _parse_stop(event: JsonObject, origin: Origin) -> ChatCommand | Dropped:
    user, root = text_of(event, "user"), text_of(event, "thread_ts")
    if not user or not origin.channel or not (root or origin.is_direct):
        return Dropped("malformed")
    return ChatCommand(
        thread=origin.thread(root),
        sender=read_person(event, origin),
        verb="stop",
        argument="",
        dedupe_key=f"{origin.team}/{origin.event_id}",
        reply_to=root if origin.is_direct else "",
        is_direct=origin.is_direct,
    )


def _parse_message_event(
    event: JsonObject, origin: Origin, bot: BotIdentity, *, is_mention: bool
) -> Said:
    match text_of(event, "subtype"):
        case "message_changed":
            return _parse_change(event, origin, bot)
        case "message_deleted":
            return _parse_deletion(object_of(event, "previous_message"), event, origin, bot)
        case _:
            return parse_said(event, origin, bot, is_mention=is_mention)


def parse_said(
    message: JsonObject, origin: Origin, bot: BotIdentity, *, is_mention: bool = False
) -> Said:
    """What a person said: a command where it reads as one, otherwise a message."""
    parsed = parse_message(message, origin, bot, is_mention=is_mention)
    if isinstance(parsed, Dropped):
        return parsed
    named = is_mention or is_mentioned(text_of(message, "text"), bot.user_id)
    return read_said(parsed, is_mention=named)


def parse_message(
    message: JsonObject, origin: Origin, bot: BotIdentity, *, is_mention: bool = False
) -> InboundMessage | Dropped:
    """One message as an event or as the history shows it."""
    subtype = text_of(message, "subtype")
    if author := _dropped_author(message, bot):
        return author
    if subtype not in SPOKEN_SUBTYPES:
        return Dropped(f"subtype.{subtype}")
    ts, wire = text_of(message, "ts"), text_of(message, "text")
    if not is_ts(ts) or not origin.channel:
        return Dropped("malformed")
    text, files = read_text(wire, bot.user_id, bot.name), read_files(message)
    if not text and not files:
        return Dropped("empty_text")
    thread_ts = text_of(message, "thread_ts")
    return InboundMessage(
        thread=origin.thread(thread_ts or ts),
        message_id=ts,
        order_key=order_key(ts),
        dedupe_key=f"{origin.team}/{origin.channel}/{ts}",
        sender=read_person(message, origin),
        text=text,
        is_addressed=is_mention or origin.is_direct or is_mentioned(wire, bot.user_id),
        is_direct=origin.is_direct,
        has_earlier=thread_ts not in ("", ts),
        reply_to=thread_ts if origin.is_direct else "",
        sent_at_us=ts_to_us(ts),
        is_edited=bool(object_of(message, "edited")),
        files=files,
    )


def _parse_change(event: JsonObject, origin: Origin, bot: BotIdentity) -> InboundMessage | Dropped:
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
) -> InboundMessage | Dropped:
    if author := _dropped_author(previous, bot):
        return author
    ts = text_of(event, "deleted_ts") or text_of(previous, "ts")
    gone: JsonObject = {**previous, "ts": ts, "subtype": "", "text": "deleted", "files": []}
    return _as_change(parse_message(gone, origin, bot), "delete", origin)


def _as_change(
    parsed: InboundMessage | Dropped, kind: str, origin: Origin
) -> InboundMessage | Dropped:
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


def read_files(message: JsonObject) -> tuple[FileRef, ...]:
    """The files of a message that can still be fetched."""
    shown = objects_of(message, "files")
    kept = [f for f in shown if text_of(f, "id") and text_of(f, "mode") not in GONE_MODES]
    return tuple([_read_file(file) for file in kept])


def _read_file(file: JsonObject) -> FileRef:
    is_elsewhere = is_true(file, "is_external")
    url = text_of(file, "url_private_download") or text_of(file, "url_private")
    return FileRef(
        id=text_of(file, "id"),
        name=text_of(file, "name") or text_of(file, "title") or text_of(file, "id"),
        media_type=text_of(file, "mimetype"),
        size_bytes=int_of(file, "size"),
        url="" if is_elsewhere else url,
    )


def quote_message(message: JsonObject, bot: BotIdentity) -> QuotedMessage | None:
    """An earlier message of a thread as quoted data; None for what no person wrote."""
    parsed = parse_message(message, Origin(bot.workspace, "-", is_direct=False), bot)
    if isinstance(parsed, Dropped):
        return None
    notes = [f"[attached file: {file.name}]" for file in parsed.files]
    text = "\n".join([parsed.text, *notes]).strip()
    return QuotedMessage(parsed.message_id, parsed.order_key, parsed.sender, text)
