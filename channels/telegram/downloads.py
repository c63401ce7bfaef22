"""Fetches files that people attached: streamed, within a size, from the Bot API server alone."""

from __future__ import annotations

import asyncio
import re
from typing import Final
from urllib.parse import quote

import httpx

from channels.telegram.failures import too_large
from geode.errors import ChannelDownError, FileUnavailableError

GONE: Final = "Telegram does not have the file any more; please send it again."
KEPT: Final = "The Bot API server keeps its files to itself; run it without --local."
_PATH = re.compile(r"[^/\\\x00-\x1f?#][^\\\x00-\x1f?#]*")
SERVER_ERROR, OK = 500, 200


class FileFetcher:
    """The file half of a Bot API server; its address holds the token and is never told."""

    def __init__(self, root: str, client: httpx.AsyncClient, *, timeout_s: float) -> None:
        self._root = root
        self._client = client
        self._timeout_s = timeout_s

    async def fetch(self, path: str, bytes_max: int) -> bytes:
        """A file's bytes by the path, or the address, that getFile gave.

        Raises `FileUnavailableError` when it is gone or too large, `ChannelDownError` otherwise.
        """
        path = path.removeprefix(f"{self._root}/")
        if not _PATH.fullmatch(path) or ".." in path.split("/"):
            raise FileUnavailableError(KEPT)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._read(f"{self._root}/{quote(path)}", bytes_max)
        except (httpx.HTTPError, TimeoutError) as error:
            reason = f"The file could not be fetched ({type(error).__name__})."
            # The library's error holds the address: it must not be shown as the cause.
            raise ChannelDownError(reason) from None

    async def _read(self, url: str, bytes_max: int) -> bytes:
        async with self._client.stream("GET", url) as response:
            if response.status_code >= SERVER_ERROR:
                raise ChannelDownError(f"Telegram failed (HTTP {response.status_code}).")
            if response.status_code != OK:
                raise FileUnavailableError(GONE)
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > bytes_max:
                    raise too_large(bytes_max)
            return bytes(content)
