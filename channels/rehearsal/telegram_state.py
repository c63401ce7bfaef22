"""A Telegram in memory: people, chats with topics, messages, and how each of them looks as JSON."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from channels.rehearsal.telegram_rules import find_entities
from geode.messages import JsonObject, JsonValue

BOT_TOKEN = "12345:rehearsal-bot-token"  # noqa: S105 - a stand-in's token opens nothing
BOT_ID = 12345
ANA, BEN, STRANGER = 101, 102, 103
FORUM, CLUB, BASIC = -1001000000001, -1001000000002, -505
TOPIC_WORK, TOPIC_PLAY = 42, 43
ANONYMOUS_ADMIN = 1087968824
MEDIA = ("photo", "document", "video", "animation", "audio", "voice", "video_note")


@dataclass(slots=True)
class User:
    """Someone with an account, bots included."""

    id: int
    first_name: str
    username: str = ""
    is_bot: bool = False

    def as_json(self) -> JsonObject:
        """The user as messages show it."""
        shown: JsonObject = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        return shown | ({"username": self.username} if self.username else {})


@dataclass(slots=True)
class Chat:
    """A private chat, a group or a supergroup; a forum has topics."""

    id: int
    type: str
    title: str = ""
    is_forum: bool = False
    topics: dict[int, str] = field(default_factory=dict[int, str])
    migrated_to: int = 0
    has_bot: bool = True
    is_run_by_bot: bool = False
    """The bot is an administrator."""

    def as_json(self) -> JsonObject:
        """The chat as messages show it."""
        shown: JsonObject = {"id": self.id, "type": self.type}
        if self.title:
            shown["title"] = self.title
        return shown | ({"is_forum": True} if self.is_forum else {})


@dataclass(slots=True)
class Posted:
    """One message as the chat keeps it, with every earlier wording."""

    chat: int
    message_id: int
    sender: int
    text: str
    topic: int = 0
    reply_to: int = 0
    entities: list[JsonValue] = field(default_factory=list[JsonValue])
    extra: JsonObject = field(default_factory=dict[str, JsonValue])
    """More fields of the message: media, a group id, a sender chat."""
    arguments: JsonObject = field(default_factory=dict[str, JsonValue])
    """The bot's own call as it arrived, so that a test sees every field."""
    edits: list[str] = field(default_factory=list[str])
    reactions: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    date: int = 0
    is_gone: bool = False
    markup: JsonObject = field(default_factory=dict[str, JsonValue])
    """The keyboard or prompt below it."""


class Town:
    """Everything the stand-in remembers; one bot."""

    def __init__(self) -> None:
        self.users: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}
        self.posts: dict[int, list[Posted]] = {}
        self.files: dict[str, bytes] = {}
        """What can be fetched, by file id."""
        self.typing: list[tuple[int, int]] = []
        """Each chat and topic in which the bot was shown typing."""
        self.commands: list[JsonValue] = []
        self.queries: dict[str, JsonObject | None] = {}
        """Each press of a button, with its answer once there is one."""
        self._next_message = 10
        self.bot = self.add_user(User(BOT_ID, "Geode", "geode_bot", is_bot=True))
        for user, name in ((ANA, "Ana"), (BEN, "Ben"), (STRANGER, "Stranger")):
            self.add_user(User(user, name, name.lower()))
        self.add_user(User(ANONYMOUS_ADMIN, "Group", "GroupAnonymousBot", is_bot=True))
        topics = {TOPIC_WORK: "work", TOPIC_PLAY: "play"}
        self.add_chat(Chat(FORUM, "supergroup", "forum", is_forum=True, topics=topics))
        self.add_chat(Chat(CLUB, "supergroup", "club"))
        self.add_chat(Chat(BASIC, "group", "basic"))

    def add_user(self, user: User) -> User:
        """Open an account."""
        self.users[user.id] = user
        return user

    def add_chat(self, chat: Chat) -> Chat:
        """Open a chat."""
        self.chats[chat.id] = chat
        self.posts.setdefault(chat.id, [])
        return chat

    def private_chat(self, user: int) -> Chat:
        """The chat between the bot and that person, opened when new."""
        return self.chats.get(user) or self.add_chat(Chat(user, "private"))

    def migrate(self, old: int) -> Chat:
        """Turn a basic group into a supergroup with an id of its own."""
        new_id = -1002000000000 + old
        new = self.add_chat(Chat(new_id, "supergroup", self.chats[old].title))
        self.chats[old].migrated_to = new_id
        return new

    def add_post(self, post: Posted) -> Posted:
        """Keep a message under the next id."""
        self._next_message += 1
        post.message_id = self._next_message
        post.date = post.date or time.time_ns() // 1_000_000_000
        self.posts[post.chat].append(post)
        return post

    def find_post(self, chat: int, message_id: int) -> Posted | None:
        """The living message with that id."""
        for post in self.posts.get(chat, []):
            if post.message_id == message_id and not post.is_gone:
                return post
        return None

    def message_json(self, post: Posted, *, depth: int = 1) -> JsonObject:
        """A message as updates and answers show it."""
        chat = self.chats[post.chat]
        shown: JsonObject = {
            "message_id": post.message_id,
            "date": post.date,
            "chat": chat.as_json(),
            "from": self.users[post.sender].as_json(),
            **self._words(post),
        }
        if post.topic:
            shown |= {"message_thread_id": post.topic, "is_topic_message": True}
        if depth and (replied := self._replied(post, chat)):
            shown["reply_to_message"] = replied
        if "inline_keyboard" in post.markup:
            shown["reply_markup"] = post.markup
        shown.update(post.extra)
        return shown

    def _words(self, post: Posted) -> JsonObject:
        has_media = any(name in post.extra for name in MEDIA)
        text, entities = ("caption", "caption_entities") if has_media else ("text", "entities")
        shown: JsonObject = {text: post.text} if post.text else {}
        found = post.entities or find_entities(post.text)
        if found:
            shown[entities] = found
        return shown

    def _replied(self, post: Posted, chat: Chat) -> JsonObject | None:
        if post.reply_to:
            replied = self.find_post(post.chat, post.reply_to)
            return self.message_json(replied, depth=0) if replied else None
        if post.topic:
            # In a topic whatever answers nothing else answers the message that opened the topic.
            return {
                "message_id": post.topic,
                "date": 1,
                "chat": chat.as_json(),
                "from": self.bot.as_json(),
                "forum_topic_created": {"name": chat.topics.get(post.topic, ""), "icon_color": 1},
            }
        return None
