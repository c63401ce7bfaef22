"""What each Bot API method of the stand-in does to the town."""

from __future__ import annotations

from channels.fields import int_of, is_true, list_of, object_of, objects_of, text_of
from channels.rehearsal.telegram_api import Method, TelegramRefusalError
from channels.rehearsal.telegram_extras import BotExtras, UploadMethods
from channels.rehearsal.telegram_markup import check_markup
from channels.rehearsal.telegram_rules import REACTIONS, check_text
from channels.rehearsal.telegram_state import Chat, Posted, Town
from channels.rehearsal.telegram_updates import PollEndedError, UpdateQueue
from geode.messages import JsonObject, JsonValue

WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)
CONFLICT = (
    "Conflict: terminated by other getUpdates request; "
    "make sure that only one bot instance is running"
)


class BotMethods:
    """The methods, over one town and its update queue."""

    def __init__(self, town: Town, queue: UpdateQueue) -> None:
        self._town = town
        self._queue = queue
        self.has_privacy = False
        """Privacy mode: what a group says to nobody is not handed to the bot."""

    def table(self) -> dict[str, Method]:
        """Every method by Telegram's own name."""
        return {
            "getMe": self.get_me,
            "getUpdates": self.get_updates,
            "deleteWebhook": self.delete_webhook,
            "sendMessage": self.send_message,
            "editMessageText": self.edit_message_text,
            "setMessageReaction": self.set_message_reaction,
            **BotExtras(self._town, self._queue, self.find_chat).table(),
            **UploadMethods(self._town, self.make_post).table(),
        }

    async def get_me(self, call: JsonObject) -> JsonValue:
        """getMe."""
        return self._town.bot.as_json() | {
            "can_join_groups": True,
            "can_read_all_group_messages": not self.has_privacy,
            "supports_inline_queries": False,
        }

    async def get_updates(self, call: JsonObject) -> JsonValue:
        """getUpdates."""
        if self._queue.webhook is not None:
            raise TelegramRefusalError(WEBHOOK_ACTIVE)
        try:
            return list[JsonValue](await self._queue.poll(call))
        except PollEndedError:
            raise TelegramRefusalError(CONFLICT) from None

    async def delete_webhook(self, call: JsonObject) -> JsonValue:
        """deleteWebhook; there is none, which is fine for Telegram too."""
        if is_true(call, "drop_pending_updates"):
            raise TelegramRefusalError("Bad Request: the stand-in drops no updates")
        self._queue.webhook = None
        return True

    async def send_message(self, call: JsonObject) -> JsonValue:
        """sendMessage."""
        post = self.make_post(call)
        if description := check_text(call) or check_markup(call):
            raise TelegramRefusalError(description)
        post.text, post.entities = text_of(call, "text").strip(), list_of(call, "entities")
        post.markup = object_of(call, "reply_markup")
        return self._town.message_json(self._town.add_post(post))

    def make_post(self, call: JsonObject) -> Posted:
        """A message of the bot's in the place that a call names; not kept yet."""
        chat = self.find_chat(call)
        return Posted(
            chat=chat.id,
            message_id=0,
            sender=self._town.bot.id,
            text="",
            topic=self._topic(chat, call),
            reply_to=self._reply_to(chat, call),
            arguments=call,
        )

    async def edit_message_text(self, call: JsonObject) -> JsonValue:
        """editMessageText."""
        chat = self.find_chat(call)
        post = self._town.find_post(chat.id, int_of(call, "message_id"))
        if post is None:
            raise TelegramRefusalError("Bad Request: message to edit not found")
        if post.sender != self._town.bot.id:
            raise TelegramRefusalError("Bad Request: message can't be edited")
        if description := check_text(call) or check_markup(call, is_edit=True):
            raise TelegramRefusalError(description)
        text, entities = text_of(call, "text").strip(), list_of(call, "entities")
        markup = object_of(call, "reply_markup")
        if (text, entities, markup) == (post.text, post.entities, post.markup):
            raise TelegramRefusalError(
                "Bad Request: message is not modified: specified new message content and reply "
                "markup are exactly the same as a current content and reply markup of the message"
            )
        post.edits.append(post.text)
        post.text, post.entities, post.arguments = text, entities, call
        post.markup = markup
        return self._town.message_json(post)

    async def set_message_reaction(self, call: JsonObject) -> JsonValue:
        """setMessageReaction."""
        chat = self.find_chat(call)
        post = self._town.find_post(chat.id, int_of(call, "message_id"))
        if post is None:
            raise TelegramRefusalError("Bad Request: message to react not found")
        emojis = [text_of(item, "emoji") for item in objects_of(call, "reaction")]
        if len(emojis) > 1 or any(emoji not in REACTIONS for emoji in emojis):
            raise TelegramRefusalError("Bad Request: REACTION_INVALID")
        post.reactions[self._town.bot.id] = emojis
        return True

    def find_chat(self, call: JsonObject) -> Chat:
        """The chat that a call names; refused when it moved or the bot is not in it."""
        chat = self._town.chats.get(int_of(call, "chat_id"))
        if chat is None:
            raise TelegramRefusalError("Bad Request: chat not found")
        if chat.migrated_to:
            raise TelegramRefusalError(
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=chat.migrated_to,
            )
        if not chat.has_bot:
            kind = "supergroup" if chat.type == "supergroup" else chat.type
            raise TelegramRefusalError(f"Forbidden: bot was kicked from the {kind} chat")
        return chat

    def _topic(self, chat: Chat, call: JsonObject) -> int:
        topic = int_of(call, "message_thread_id")
        if topic and topic not in chat.topics:
            # General, whose id is 1, is not a thread that a bot may name.
            raise TelegramRefusalError("Bad Request: message thread not found")
        return topic

    def _reply_to(self, chat: Chat, call: JsonObject) -> int:
        reply = object_of(call, "reply_parameters")
        message_id = int_of(reply, "message_id")
        if not message_id or self._town.find_post(chat.id, message_id):
            return message_id
        if not is_true(reply, "allow_sending_without_reply"):
            raise TelegramRefusalError("Bad Request: message to be replied not found")
        return 0
