"""Files of a Discord conversation: a person's bytes in, from Discord's own hosts only."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import aiohttp
import yarl

from channels.discord.attached import url_of
from channels.discord.failures import PlatformRefusedError
from channels.discord.gateway import GatewayClient
from channels.discord.rest import DiscordRest
from channels.fields import int_of, objects_of, text_of
from geode.errors import ChannelDownError, FileUnavailableError, SendRateLimitedError
from geode.messages import FileRef, JsonObject, OutboundFile

HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
TRANSFER_S = 60.0
CHUNK_BYTES = 64 * 1024
OK, TOO_MANY, SERVER_ERROR = 200, 429, 500
EXPIRED = frozenset({401, 403, 404, 410})
LIMIT_WAIT_S = 30.0
_OTHER = re.compile(r"[^\w.-]+")


class _LinkExpiredError(FileUnavailableError):
    """The address is not good any more; the message may name a new one."""


class DiscordFiles:
    """Downloads through the login's own way to Discord, its proxy and authorities included."""

    def __init__(self, rest: DiscordRest, client: Callable[[], GatewayClient | None]) -> None:
        self._rest = rest
        self._client = client

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        """The bytes of a person's file, never more than allowed."""
        if file.size_bytes > bytes_max:
            raise FileUnavailableError(_too_big(file, bytes_max))
        try:
            return await self._fetch(file.url, file, bytes_max)
        except _LinkExpiredError:
            return await self._fetch(await self._ask_again(file), file, bytes_max)

    async def _ask_again(self, file: FileRef) -> str:
        """The address that the message shows now."""
        channel, _, rest = file.id.partition("/")
        message, _, attachment = rest.partition("/")
        try:
            shown = await self._rest.read_message(channel, message)
        except PlatformRefusedError as error:
            raise FileUnavailableError(_gone(file)) from error
        url = url_of(shown, attachment)
        if not url:
            raise FileUnavailableError(_gone(file))
        return url

    async def _fetch(self, url: str, file: FileRef, bytes_max: int) -> bytes:
        if not _is_discords(url):
            raise FileUnavailableError(f"{file.name} lies outside Discord; send it as a file.")
        client = self._client()
        if client is None or client.is_closed():
            raise ChannelDownError("Discord is not connected yet.")
        try:
            async with asyncio.timeout(TRANSFER_S), client.open_url(url) as answer:
                _check_status(answer, file)
                return await _read_capped(answer, file, bytes_max)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            reason = type(error).__name__
            raise ChannelDownError(f"Discord did not give {file.name} ({reason}).") from error


def _is_discords(url: str) -> bool:
    try:
        target = yarl.URL(url)
    except ValueError:
        return False
    is_plain = target.user is None and target.explicit_port in (None, 443)
    return target.scheme == "https" and target.host in HOSTS and is_plain


def _check_status(answer: aiohttp.ClientResponse, file: FileRef) -> None:
    status = answer.status
    if status == TOO_MANY:
        written = answer.headers.get("Retry-After", "")
        raise SendRateLimitedError(float(written) if written.isdecimal() else LIMIT_WAIT_S)
    if status >= SERVER_ERROR:
        raise ChannelDownError(f"Discord did not give {file.name} (HTTP {status}).")
    if status in EXPIRED:
        raise _LinkExpiredError(_gone(file))
    if status != OK:
        raise FileUnavailableError(f"Discord does not give {file.name} (HTTP {status}).")


async def _read_capped(answer: aiohttp.ClientResponse, file: FileRef, bytes_max: int) -> bytes:
    kept = bytearray()
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        kept += chunk
        if len(kept) > bytes_max:
            raise FileUnavailableError(_too_big(file, bytes_max))
    return bytes(kept)


def is_shown(message: JsonObject, file: OutboundFile) -> bool:
    """Whether the message carries that file; Discord writes names with other separators."""
    return any(
        int_of(shown, "size", -1) == file.size_bytes
        and _bare(text_of(shown, "filename")) == _bare(file.name)
        for shown in objects_of(message, "attachments")
    )


def _bare(name: str) -> str:
    return _OTHER.sub("_", name).strip("_").lower()


def _gone(file: FileRef) -> str:
    return f"The link to {file.name} has expired or the message is gone; send the file again."


def _too_big(file: FileRef, bytes_max: int) -> str:
    return f"{file.name} is larger than the {bytes_max:,} bytes that are read; send a smaller one."
