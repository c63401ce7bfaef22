"""A Telegram without a wire: the town, what people do in it, what goes wrong, what is counted."""

from __future__ import annotations

from channels.fields import text_of, to_object
from channels.rehearsal.stand_in import StandIn
from channels.rehearsal.telegram_api import BotApi
from channels.rehearsal.telegram_markup import list_buttons
from channels.rehearsal.telegram_methods import BotMethods
from channels.rehearsal.telegram_rules import find_entities
from channels.rehearsal.telegram_state import ANA, FORUM, Posted, Town
from channels.rehearsal.telegram_updates import UpdateQueue
from geode.messages import JsonObject, JsonValue

PHOTO: list[JsonValue] = [
    {"file_id": "F", "file_unique_id": "u", "width": 90, "height": 90, "file_size": 10}
]


class TelegramCore(StandIn):
    """Everything the stand-in is, except that it does not listen yet."""

    def __init__(self, *, port: int) -> None:
        super().__init__()
        self._port = port
        self.town = Town()
        self.queue = UpdateQueue()
        self.methods = BotMethods(self.town, self.queue)
        self.api = BotApi(self.faults, self.methods.table(), self.town.files)

    @property
    def bot_token(self) -> str:
        """The token to configure."""
        return self.api.token

    def say(
        self,
        text: str,
        *,
        user: int = ANA,
        chat: int = FORUM,
        topic: int = 0,
        reply_to: int = 0,
        **extra: JsonValue,
    ) -> Posted:
        """A person writes; a `chat` of 0 is the person's own chat with the bot.

        More fields (`photo`, `media_group_id`, `sender_chat`, `entities`, …) go into the message.
        """
        room = self.town.chats[chat] if chat else self.town.private_chat(user)
        entities = extra.pop("entities", None)
        post = Posted(room.id, 0, user, text, topic, reply_to, extra=extra)
        post.entities = entities if isinstance(entities, list) else []
        self.town.add_post(post)
        if self._is_heard(post):
            self.queue.push(message=self.town.message_json(post))
        return post

    def _is_heard(self, post: Posted) -> bool:
        if not self.methods.has_privacy or self.town.chats[post.chat].type == "private":
            return True
        words = text_of({"text": post.text}, "text").lower()
        replied = self.town.find_post(post.chat, post.reply_to)
        is_reply = replied is not None and replied.sender == self.town.bot.id
        kinds = [text_of(to_object(e), "type") for e in find_entities(post.text)]
        return is_reply or f"@{self.town.bot.username}" in words or "bot_command" in kinds

    def edit(self, chat: int, message_id: int, text: str) -> Posted:
        """A person edits a message of theirs."""
        post = self._post(chat, message_id)
        post.edits.append(post.text)
        post.text, post.entities = text, []
        edited = self.town.message_json(post) | {"edit_date": post.date + 1}
        self.queue.push(edited_message=edited)
        return post

    def press(self, post: Posted, label: str, *, user: int = ANA) -> str:
        """A person presses a button of a message of the bot's; the id of the query."""
        buttons = list_buttons(post.markup)
        data = next((text_of(b, "callback_data") for b in buttons if b["text"] == label), "")
        if not data:
            raise ValueError(f"no button {label!r}")
        query_id = f"q{len(self.town.queries) + 1}"
        self.town.queries[query_id] = None
        query: JsonObject = {
            "id": query_id,
            "from": self.town.users[user].as_json(),
            "chat_instance": "1",
            "message": self.town.message_json(post),
            "data": data,
        }
        self.queue.push(callback_query=query)
        return query_id

    def add_file(self, content: bytes, name: str = "notes.txt") -> JsonObject:
        """A document to say something with, whose bytes can be fetched."""
        file_id = f"f{len(self.town.files) + 1}"
        self.town.files[file_id] = content
        shown: JsonObject = {"file_id": file_id, "file_unique_id": f"u{file_id}"}
        return shown | {"file_name": name, "file_size": len(content)}

    def migrate(self, chat: int) -> int:
        """A basic group becomes a supergroup; both chats are told. Returns the new id."""
        new = self.town.migrate(chat)
        for room, fields in (
            (chat, {"migrate_to_chat_id": new.id}),
            (new.id, {"migrate_from_chat_id": chat}),
        ):
            post = self.town.add_post(Posted(room, 0, ANA, "", extra=dict(fields)))
            self.queue.push(message=self.town.message_json(post))
        return new.id

    def _post(self, chat: int, message_id: int) -> Posted:
        post = self.town.find_post(chat, message_id)
        if post is None:
            raise ValueError("no such message")
        return post

    def bot_posts(self, chat: int = FORUM, topic: int | None = None) -> list[Posted]:
        """What the bot said in a chat or topic, oldest first."""
        return [
            post
            for post in self.town.posts.get(chat, [])
            if post.sender == self.town.bot.id and topic in (None, post.topic)
        ]

    def counters(self) -> JsonObject:
        """Everything counted: calls, refusals, updates, faults used."""
        return {
            "calls": dict(self.api.calls),
            "refused": dict(self.api.refused),
            "faults_taken": dict(self.faults.taken),
            "updates_waiting": len(self.queue.waiting),
            "confirmed_below": self.queue.confirmed_below,
            "polls_ended": self.queue.polls_ended,
        }
