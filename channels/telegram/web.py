"""The Bot API client of the channel: python-telegram-bot's `Bot`, without retries and waits."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import httpx
import orjson
from telegram import Bot, LinkPreviewOptions, MessageEntity, ReplyParameters
from telegram.request import HTTPXRequest

from channels.fields import int_of, object_of, objects_of, text_of, to_object
from channels.telegram.entities import BotIdentity
from channels.telegram.failures import RefusedCallError, call_telegram
from channels.telegram.parse import ALLOWED_UPDATES
from geode.messages import JsonObject

CONNECT_S = 5.0
POOL_S = 5.0
CONNECTIONS_MAX = 64
MULTIPLE_CHOICES = 300
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
RAW = "raw"


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

    async def send(self, chat: str, content: JsonObject, topic: int, reply_to: int) -> str:
        """Post a message and return its id."""
        reply = ReplyParameters(reply_to, allow_sending_without_reply=True) if reply_to else None
        call = self._bot.send_message(
            int(chat),
            text_of(content, "text"),
            entities=_entities(content),
            link_preview_options=NO_PREVIEW,
            message_thread_id=topic or None,
            reply_parameters=reply,
        )
        message = await call_telegram(call, timeout_s=self._timeout_s, is_write=True)
        return str(message.message_id)

    async def edit(self, chat: str, message_id: str, content: JsonObject) -> None:
        """Replace the text of a message of ours."""
        call = self._bot.edit_message_text(
            text_of(content, "text"),
            chat_id=int(chat),
            message_id=int(message_id),
            entities=_entities(content),
            link_preview_options=NO_PREVIEW,
        )
        await call_telegram(call, timeout_s=self._timeout_s, is_write=True)

    async def mark(self, chat: str, message_id: str, emoji: str) -> None:
        """Make this the bot's one reaction to a message; an empty one takes it away."""
        call = self._bot.set_message_reaction(int(chat), int(message_id), emoji or None)
        await call_telegram(call, timeout_s=self._timeout_s, is_write=True)


def _entities(content: JsonObject) -> list[MessageEntity] | None:
    found = [
        MessageEntity(
            text_of(entity, "type"),
            int_of(entity, "offset"),
            int_of(entity, "length"),
            url=text_of(entity, "url") or None,
            language=text_of(entity, "language") or None,
        )
        for entity in objects_of(content, "entities")
    ]
    return found or None
