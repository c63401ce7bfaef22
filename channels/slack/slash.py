"""The slash command `/geode` as a chat command; pure."""

from __future__ import annotations

from channels.fields import text_of
from channels.slack.entities import read_text
from channels.slack.origin import (
    PLATFORM,
    BotIdentity,
    Dropped,
    clean_name,
    is_direct_channel,
    read_workspace,
)
from geode.messages import ChatCommand, JsonObject, Person, Thread

MARKS = "!/"


def parse_slash(payload: JsonObject, bot: BotIdentity) -> ChatCommand | Dropped:
    """`/geode VERB ARGUMENT`; alone it asks for help.

    Slack says in which channel it was typed and never in which thread, so no thread is guessed.
    An unknown verb stays as it is: whoever answers says which verbs there are.
    """
    channel, user = text_of(payload, "channel_id"), text_of(payload, "user_id")
    trigger = text_of(payload, "trigger_id")
    if not channel or not user or not trigger:
        return Dropped("malformed")
    said = read_text(text_of(payload, "text"), bot.user_id, bot.name)
    word, _, argument = said.partition(" ")
    workspace = read_workspace(payload, bot)
    return ChatCommand(
        thread=Thread(PLATFORM, workspace, channel, ""),
        sender=Person(user, clean_name(text_of(payload, "user_name"))),
        verb=word.lstrip(MARKS).lower() or "help",
        argument=argument.strip(),
        dedupe_key=f"{workspace}/slash/{trigger}",
        is_direct=is_direct_channel(channel),
        is_private=True,
    )
