"""The Bot API client of the channel: python-telegram-bot's `Bot`, without retries and waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import httpx
import orjson
from telegram import (
    Bot,
    BotCommand,
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
    User,
)
from telegram.request import HTTPXRequest

from channels.fields import int_of, list_of, object_of, objects_of, text_of, to_object
from channels.telegram.downloads import GONE, FileFetcher
from channels.telegram.entities import BotIdentity
from channels.telegram.failures import (
    PlatformRefusedError,
    RefusedCallError,
    call_telegram,
    too_large,
)
from channels.telegram.parse import ALLOWED_UPDATES
from geode.errors import FileUnavailableError
from geode.messages import JsonObject

CONNECT_S = 5.0
POOL_S = 5.0
CONNECTIONS_MAX = 64
MULTIPLE_CHOICES = 300
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
RAW = "raw"
UPLOAD_S_MAX = 28.0
"""Below delivery's own time-out."""
UPLOAD_FACTOR = 8
"""So much longer than a call may what carries a file take."""
PLACEHOLDER_CHARS_MAX = 64
FETCHED_BYTES_MAX = 20_000_000
"""The public API hands out no larger file."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where in a chat a message goes."""

    chat: str
    topic: int = 0
    reply_to: int = 0


@dataclass(frozen=True, slots=True)
class Upload:
    """A file on its way to a chat."""

    name: str
    content: bytes
    caption: JsonObject
    """Text and entities, or empty."""
    is_photo: bool = False


class ApiRequest(HTTPXRequest):
    """The library's own HTTP client, with refusals passed on as they stand in the answer.

    The library folds them into classes from which neither status nor wait can be read exactly.
    """

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """One request; raises `RefusedCallError` for every answer that is not a success."""
        code, payload = await super().do_request(*args, **kwargs)
        if code < MULTIPLE_CHOICES:
            return code, payload
        answer = _read_object(payload)
        parameters = object_of(answer, "parameters")
        migrated_to = int_of(parameters, "migrate_to_chat_id")
        raise RefusedCallError(
            code,
            text_of(answer, "description") or f"HTTP {code}",
            retry_after_s=int_of(parameters, "retry_after"),
            migrated_to=str(migrated_to) if migrated_to else "",
        )


class UpdatesRequest(ApiRequest):
    """Hands updates through unread: one that the library cannot read must not stop the rest."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, object]:
        """The answer to getUpdates with each update under a name that the library leaves alone."""
        updates = objects_of(_read_object(payload), "result")
        return {"result": [{"update_id": int_of(u, "update_id"), RAW: u} for u in updates]}


def _read_object(payload: bytes) -> JsonObject:
    try:
        return to_object(orjson.loads(payload))
    except orjson.JSONDecodeError:
        return {}


class TelegramWeb:
    """Telegram's methods as this channel uses them; each raises a `ChannelError` when it fails."""

    def __init__(self, api_url: str, token: str, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._upload_s = min(timeout_s * UPLOAD_FACTOR, UPLOAD_S_MAX)
        host = urlsplit(api_url).hostname or ""
        is_near = host in LOOPBACK or bool(proxy_bypass(host))
        tls = httpx.create_ssl_context(trust_env=not is_near)
        self._requests = [
            kind(
                connection_pool_size=CONNECTIONS_MAX,
                read_timeout=timeout_s,
                write_timeout=timeout_s,
                connect_timeout=CONNECT_S,
                pool_timeout=POOL_S,
                httpx_kwargs={"trust_env": not is_near, "verify": tls},
            )
            for kind in (ApiRequest, UpdatesRequest)
        ]
        root = api_url.rstrip("/")
        self._fetching = httpx.AsyncClient(trust_env=not is_near, verify=tls)
        self._files = FileFetcher(
            f"{root}/file/bot{token}", self._fetching, timeout_s=self._upload_s
        )
        self._bot = Bot(
            token,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=self._requests[0],
            get_updates_request=self._requests[1],
        )

    async def open(self) -> None:
        """Be ready to call, also after `close`."""
        for request in self._requests:
            await request.initialize()

    async def close(self) -> None:
        """Close every connection."""
        for request in self._requests:
            await request.shutdown()
        await self._fetching.aclose()

    async def identify(self) -> BotIdentity:
        """Who the token makes us."""
        me = await call_telegram(self._bot.get_me(), timeout_s=self._timeout_s, is_write=False)
        return BotIdentity(str(me.id), me.username or "", bool(me.can_read_all_group_messages))

    async def leave_webhook(self) -> None:
        """Have updates kept for polling; what waits is not dropped."""
        call = self._bot.delete_webhook(drop_pending_updates=False)
        await call_telegram(call, timeout_s=self._timeout_s, is_write=False)

    async def read_updates(self, offset: int, wait_s: int) -> list[JsonObject]:
        """Updates from the offset on, which confirms every one before it; waits for the first."""
        call = self._bot.get_updates(
            offset=offset or None,
            timeout=wait_s,
            allowed_updates=ALLOWED_UPDATES,
            read_timeout=self._timeout_s,
        )
        found = await call_telegram(call, timeout_s=wait_s + self._timeout_s, is_write=False)
        return [cast("JsonObject", update.api_kwargs[RAW]) for update in found]

    async def set_webhook(self, url: str, secret: str) -> None:
        """Let updates be posted to that address; what waits is kept."""
        call = self._bot.set_webhook(
            url, allowed_updates=list(ALLOWED_UPDATES), secret_token=secret
        )
        await call_telegram(call, timeout_s=self._timeout_s, is_write=False)

    async def read_webhook(self) -> JsonObject:
        """How the webhook stands, in Telegram's own fields."""
        call = self._bot.get_webhook_info()
        found = await call_telegram(call, timeout_s=self._timeout_s, is_write=False)
        return to_object(found.to_dict())

    async def read_commands(self) -> tuple[tuple[str, str], ...]:
        """The menu of commands as it is registered."""
        call = self._bot.get_my_commands()
        found = await call_telegram(call, timeout_s=self._timeout_s, is_write=False)
        return tuple((each.command, each.description) for each in found)

    async def write_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Register the menu of commands."""
        call = self._bot.set_my_commands([BotCommand(*each) for each in commands])
        await call_telegram(call, timeout_s=self._timeout_s, is_write=False)

    async def is_admin(self, chat: str, user: str) -> bool:
        """Whether somebody administers a chat."""
        call = self._bot.get_chat_member(int(chat), int(user))
        member = await call_telegram(call, timeout_s=self._timeout_s, is_write=False)
        return member.status in ("administrator", "creator")

    async def answer_query(self, query: str, text: str) -> None:
        """End the waiting of a pressed button; with a text as an alert."""
        call = self._bot.answer_callback_query(query, text or None, show_alert=bool(text))
        await call_telegram(call, timeout_s=self._timeout_s, is_write=True)

    async def show_typing(self, chat: str, topic: int) -> None:
        """Show for five seconds that something is on its way."""
        call = self._bot.send_chat_action(int(chat), "typing", message_thread_id=topic or None)
        await call_telegram(call, timeout_s=self._timeout_s, is_write=True)

    async def send(self, target: Target, content: JsonObject) -> str:
        """Post a message and return its id."""
        call = self._bot.send_message(
            int(target.chat),
            text_of(content, "text"),
            entities=_entities(content, "entities"),
            link_preview_options=NO_PREVIEW,
            message_thread_id=target.topic or None,
            reply_parameters=_reply(target.reply_to),
            reply_markup=_markup(content),
        )
        message = await call_telegram(call, timeout_s=self._timeout_s, is_write=True)
        return str(message.message_id)

    async def upload(self, target: Target, file: Upload) -> str:
        """Post a file with its caption and return the message's id."""
        post = self._bot.send_photo if file.is_photo else self._bot.send_document
        call = post(
            int(target.chat),
            file.content,
            filename=file.name,
            caption=text_of(file.caption, "text") or None,
            caption_entities=_entities(file.caption, "entities"),
            message_thread_id=target.topic or None,
            reply_parameters=_reply(target.reply_to),
            write_timeout=self._upload_s,
            read_timeout=self._upload_s,
        )
        message = await call_telegram(call, timeout_s=self._upload_s, is_write=True)
        return str(message.message_id)

    async def download(self, file_id: str, bytes_max: int) -> bytes:
        """A file's bytes; raises `FileUnavailableError` when it is gone or larger than that."""
        call = self._bot.get_file(file_id)
        try:
            found = await call_telegram(call, timeout_s=self._timeout_s, is_write=False)
        except PlatformRefusedError as error:
            is_large = "file is too big" in error.description.lower()
            raise too_large(FETCHED_BYTES_MAX) if is_large else FileUnavailableError(GONE) from None
        if (found.file_size or 0) > bytes_max:
            raise too_large(bytes_max)
        # The library's own download would read a local file of the name that the server says.
        return await self._files.fetch(found.file_path or "", bytes_max)

    async def edit(self, chat: str, message_id: str, content: JsonObject) -> None:
        """Replace the text of a message of ours."""
        call = self._bot.edit_message_text(
            text_of(content, "text"),
            chat_id=int(chat),
            message_id=int(message_id),
            entities=_entities(content, "entities"),
            link_preview_options=NO_PREVIEW,
            reply_markup=_keyboard(content),
        )
        await call_telegram(call, timeout_s=self._timeout_s, is_write=True)

    async def mark(self, chat: str, message_id: str, emoji: str) -> None:
        """Make this the bot's one reaction to a message; an empty one takes it away."""
        call = self._bot.set_message_reaction(int(chat), int(message_id), emoji or None)
        await call_telegram(call, timeout_s=self._timeout_s, is_write=True)


def _reply(message_id: int) -> ReplyParameters | None:
    return ReplyParameters(message_id, allow_sending_without_reply=True) if message_id else None


def _markup(content: JsonObject) -> InlineKeyboardMarkup | ForceReply | None:
    asks = text_of(content, "asks")
    if asks:
        return ForceReply(selective=True, input_field_placeholder=asks[:PLACEHOLDER_CHARS_MAX])
    return _keyboard(content)


def _keyboard(content: JsonObject) -> InlineKeyboardMarkup | None:
    rows = list_of(object_of(content, "reply_markup"), "inline_keyboard")
    shown = [
        [
            InlineKeyboardButton(text_of(one, "text"), callback_data=text_of(one, "callback_data"))
            for one in map(to_object, row)
        ]
        for row in rows
        if isinstance(row, list)
    ]
    return InlineKeyboardMarkup(shown) if shown else None


def _entities(content: JsonObject, name: str) -> list[MessageEntity] | None:
    found = [
        MessageEntity(
            text_of(entity, "type"),
            int_of(entity, "offset"),
            int_of(entity, "length"),
            url=text_of(entity, "url") or None,
            language=text_of(entity, "language") or None,
            user=_user(object_of(entity, "user")),
        )
        for entity in objects_of(content, name)
    ]
    return found or None


def _user(source: JsonObject) -> User | None:
    user_id = int_of(source, "id")
    return User(user_id, text_of(source, "first_name"), is_bot=False) if user_id else None
