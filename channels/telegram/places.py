"""Where a message stands and who wrote it, as Telegram's JSON says; pure."""

from __future__ import annotations

from typing import Final

from channels.fields import int_of, is_true, object_of, text_of
from geode.messages import JsonObject, Person, Thread

PLATFORM: Final = "telegram"
GENERAL: Final = "1"
"""A forum's General topic; Telegram gives it this id and refuses it in a send."""


def read_thread(message: JsonObject, bot_id: str) -> Thread | None:
    """The message's place; None when it names no chat.

    A reply outside a topic carries a thread id too, so only a topic's message names a topic.
    """
    chat = object_of(message, "chat")
    chat_id = int_of(chat, "id")
    if not chat_id:
        return None
    topic = int_of(message, "message_thread_id")
    if topic and is_true(message, "is_topic_message"):
        thread = str(topic)
    else:
        thread = GENERAL if is_true(chat, "is_forum") else ""
    return Thread(PLATFORM, bot_id, str(chat_id), thread)


def read_person(sender: JsonObject) -> Person:
    """A sender; whoever Telegram calls a bot is one."""
    names = (text_of(sender, "first_name"), text_of(sender, "last_name"))
    name = " ".join(part for part in names if part) or text_of(sender, "username")
    return Person(str(int_of(sender, "id")), name, is_bot=is_true(sender, "is_bot"))


def topic_of(thread: Thread) -> int:
    """The topic that a send names; 0 for General and for chats without topics."""
    return 0 if thread.thread in ("", GENERAL) else int(thread.thread)
