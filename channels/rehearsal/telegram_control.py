"""The control interface of the Telegram stand-in: what people do and what was said."""

from __future__ import annotations

from channels.fields import int_of, object_of, text_of
from channels.rehearsal.control import ControlRoutes, Verb
from channels.rehearsal.telegram_core import PHOTO, TelegramCore
from channels.rehearsal.telegram_state import ANA, FORUM, Posted, Town
from geode.messages import JsonObject, JsonValue


class TelegramControl(ControlRoutes):
    """The verbs of this stand-in."""

    def __init__(self, telegram: TelegramCore) -> None:
        self._telegram = telegram
        verbs: dict[str, Verb] = {
            "say": self._say,
            "edit": self._edit,
            "update": self._update,
            "migrate": self._migrate,
            "press": self._press,
            "queries": lambda asked: {"queries": dict[str, JsonValue](telegram.town.queries)},
            "upload": self._upload,
            "kick": self._kick,
            "transcript": self._transcript,
            "privacy": self._privacy,
        }
        super().__init__(telegram, verbs)

    def _say(self, asked: JsonObject) -> JsonObject:
        extra = object_of(asked, "extra")
        if asked.get("photo"):
            extra = {"photo": PHOTO, **extra}
        post = self._telegram.say(
            text_of(asked, "text"),
            user=int_of(asked, "user", ANA),
            chat=_signed(asked, "chat", FORUM),
            topic=int_of(asked, "topic"),
            reply_to=int_of(asked, "reply_to"),
            **extra,
        )
        return {"chat": post.chat, "message_id": post.message_id}

    def _edit(self, asked: JsonObject) -> JsonObject:
        self._telegram.edit(
            _signed(asked, "chat", FORUM), int_of(asked, "message_id"), text_of(asked, "text")
        )
        return {}

    def _update(self, asked: JsonObject) -> JsonObject:
        return {"update_id": self._telegram.queue.push(**object_of(asked, "update"))}

    def _migrate(self, asked: JsonObject) -> JsonObject:
        return {"chat": self._telegram.migrate(_signed(asked, "chat", 0))}

    def _press(self, asked: JsonObject) -> JsonObject:
        chat = _signed(asked, "chat", FORUM)
        post = self._telegram.town.find_post(chat, int_of(asked, "message_id"))
        if post is None:
            raise ValueError("no such message")
        user = int_of(asked, "user", ANA)
        return {"query": self._telegram.press(post, text_of(asked, "label"), user=user)}

    def _upload(self, asked: JsonObject) -> JsonObject:
        """A file of a person's, to be named in `extra` of what the person says next."""
        content = text_of(asked, "content").encode()
        return self._telegram.add_file(content, text_of(asked, "name") or "notes.txt")

    def _kick(self, asked: JsonObject) -> JsonObject:
        self._telegram.town.chats[_signed(asked, "chat", FORUM)].has_bot = False
        return {}

    def _transcript(self, asked: JsonObject) -> JsonObject:
        town = self._telegram.town
        chats = [_signed(asked, "chat", 0)] if asked.get("chat") else list(town.posts)
        messages: list[JsonValue] = [
            post_json(town, post)
            for chat in chats
            for post in town.posts.get(chat, [])
            if int_of(asked, "topic") in (0, post.topic)
        ]
        return {"messages": messages}

    def _privacy(self, asked: JsonObject) -> JsonObject:
        self._telegram.methods.has_privacy = bool(asked.get("is_on"))
        return {}


def _signed(asked: JsonObject, name: str, default: int) -> int:
    value = asked.get(name, default)
    return int(value) if isinstance(value, int | str) else default


def post_json(town: Town, post: Posted) -> JsonObject:
    """A message with everything a test or a demo may ask about it."""
    return {
        **town.message_json(post),
        "chat_id": post.chat,
        "topic": post.topic,
        "author": town.users[post.sender].first_name.lower(),
        "edits": list[JsonValue](post.edits),
        "arguments": post.arguments,
    }
