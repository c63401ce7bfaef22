"""More methods of the Bot API stand-in: webhook, menu, presses, typing, membership, files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from channels.fields import int_of, is_true, list_of, object_of, text_of
from channels.rehearsal.telegram_api import Method, TelegramRefusalError
from channels.rehearsal.telegram_markup import check_commands
from channels.rehearsal.telegram_rules import check_entities
from channels.rehearsal.telegram_state import Chat, Posted, Town
from channels.rehearsal.telegram_updates import UpdateQueue, Webhook
from channels.text import utf16_length
from geode.messages import JsonObject, JsonValue

ALERT_CHARS_MAX: Final = 200
CAPTION_UNITS_MAX: Final = 1_024
FETCHED_BYTES_MAX: Final = 20 * 1024 * 1024
ACTIONS: Final = frozenset({"typing", "upload_photo", "upload_document"})
RIGHTS: Final = (
    *("can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages"),
    *("can_manage_video_chats", "can_restrict_members", "can_promote_members"),
    *("can_change_info", "can_invite_users", "can_post_stories", "can_edit_stories"),
    "can_delete_stories",
)
NO_FILE: Final = "Bad Request: wrong file_id or the file is temporarily unavailable"
TOO_OLD: Final = "Bad Request: query is too old and response timeout expired or query ID is invalid"


class BotExtras:
    """Methods that post no message."""

    def __init__(
        self, town: Town, queue: UpdateQueue, find_chat: Callable[[JsonObject], Chat]
    ) -> None:
        self._town = town
        self._queue = queue
        self._find_chat = find_chat

    def table(self) -> dict[str, Method]:
        """Every method by Telegram's own name."""
        return {
            "setWebhook": self.set_webhook,
            "getWebhookInfo": self.get_webhook_info,
            "getMyCommands": self.get_my_commands,
            "setMyCommands": self.set_my_commands,
            "getChatMember": self.get_chat_member,
            "getFile": self.get_file,
            "answerCallbackQuery": self.answer_callback_query,
            "sendChatAction": self.send_chat_action,
        }

    async def set_webhook(self, call: JsonObject) -> JsonValue:
        """setWebhook; plain http is taken, as a Bot API server of one's own does."""
        url = text_of(call, "url")
        if not urlsplit(url).hostname:
            raise TelegramRefusalError("Bad Request: bad webhook: invalid URL")
        names = [name for name in list_of(call, "allowed_updates") if isinstance(name, str)]
        self._queue.allow(names)
        self._queue.webhook = Webhook(url, text_of(call, "secret_token"))
        self._queue.end_polls()
        return True

    async def get_webhook_info(self, call: JsonObject) -> JsonValue:
        """getWebhookInfo."""
        hook = self._queue.webhook
        info: JsonObject = {
            "url": hook.url if hook else "",
            "has_custom_certificate": False,
            "pending_update_count": len(self._queue.waiting),
        }
        if hook and hook.failure:
            info |= {"last_error_date": 1, "last_error_message": hook.failure}
        return info

    async def get_my_commands(self, call: JsonObject) -> JsonValue:
        """getMyCommands."""
        return self._town.commands

    async def set_my_commands(self, call: JsonObject) -> JsonValue:
        """setMyCommands."""
        if description := check_commands(call):
            raise TelegramRefusalError(description)
        self._town.commands = list_of(call, "commands")
        return True

    async def get_chat_member(self, call: JsonObject) -> JsonValue:
        """getChatMember."""
        chat = self._find_chat(call)
        user = self._town.users.get(int_of(call, "user_id"))
        if user is None:
            raise TelegramRefusalError("Bad Request: user not found")
        is_admin = chat.is_run_by_bot and user.id == self._town.bot.id
        rights: JsonObject = dict.fromkeys(RIGHTS, False) if is_admin else {}
        status = "administrator" if is_admin else "member"
        return {"user": user.as_json(), "status": status, **rights}

    async def get_file(self, call: JsonObject) -> JsonValue:
        """getFile; of what is larger than 20 MB Telegram names no path."""
        file_id = text_of(call, "file_id")
        content = self._town.files.get(file_id)
        if content is None:
            raise TelegramRefusalError(NO_FILE)
        if len(content) > FETCHED_BYTES_MAX:
            raise TelegramRefusalError("Bad Request: file is too big")
        shown: JsonObject = {"file_id": file_id, "file_unique_id": f"u{file_id}"}
        return shown | {"file_size": len(content), "file_path": f"files/{file_id}"}

    async def answer_callback_query(self, call: JsonObject) -> JsonValue:
        """answerCallbackQuery; once for each press."""
        query = text_of(call, "callback_query_id")
        if self._town.queries.get(query, {}) is not None:
            raise TelegramRefusalError(TOO_OLD)
        text = text_of(call, "text")
        if len(text) > ALERT_CHARS_MAX:
            raise TelegramRefusalError("Bad Request: MESSAGE_TOO_LONG")
        self._town.queries[query] = {"text": text, "is_alert": is_true(call, "show_alert")}
        return True

    async def send_chat_action(self, call: JsonObject) -> JsonValue:
        """sendChatAction."""
        chat, topic = self._find_chat(call), int_of(call, "message_thread_id")
        if text_of(call, "action") not in ACTIONS:
            raise TelegramRefusalError("Bad Request: wrong parameter action in request")
        if topic and topic not in chat.topics:
            raise TelegramRefusalError("Bad Request: message thread not found")
        self._town.typing.append((chat.id, topic))
        return True


class UploadMethods:
    """Methods that post a file."""

    def __init__(self, town: Town, make_post: Callable[[JsonObject], Posted]) -> None:
        self._town = town
        self._make_post = make_post

    def table(self) -> dict[str, Method]:
        """Every method by Telegram's own name."""
        return {"sendDocument": self.send_document, "sendPhoto": self.send_photo}

    async def send_document(self, call: JsonObject) -> JsonValue:
        """sendDocument."""
        post, file_id, sent = self._post(call, "document")
        document: JsonObject = {
            "file_id": file_id,
            "file_unique_id": f"u{file_id}",
            "file_name": text_of(sent, "name"),
            "file_size": int_of(sent, "size"),
        }
        post.extra = {"document": document}
        return self._town.message_json(self._town.add_post(post))

    async def send_photo(self, call: JsonObject) -> JsonValue:
        """sendPhoto; what does not begin as a picture is refused."""
        post, file_id, _ = self._post(call, "photo")
        if not self._town.files[file_id].startswith((b"\x89PNG", b"\xff\xd8", b"RIFF")):
            raise TelegramRefusalError("Bad Request: IMAGE_PROCESS_FAILED")
        size: JsonObject = {"file_id": file_id, "file_unique_id": "u", "width": 90, "height": 90}
        post.extra = {"photo": [size]}
        return self._town.message_json(self._town.add_post(post))

    def _post(self, call: JsonObject, field: str) -> tuple[Posted, str, JsonObject]:
        sent = object_of(call, field)
        caption = text_of(call, "caption")
        if utf16_length(caption) > CAPTION_UNITS_MAX:
            raise TelegramRefusalError("Bad Request: message caption is too long")
        entities = list_of(call, "caption_entities")
        if description := check_entities(caption, {"entities": entities}):
            raise TelegramRefusalError(description)
        post = self._make_post(call)
        post.text, post.entities = caption, entities
        return post, text_of(sent, "file_id"), sent
