"""Files of a Slack conversation: a person's bytes in, our bytes out."""

from __future__ import annotations

import io
import logging
from urllib.parse import urljoin

import aiohttp

from channels.fields import is_true, list_of, object_of, objects_of, text_of
from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.history import SlackHistory, root_of
from channels.slack.parse import read_files
from channels.slack.render import render_plain
from channels.slack.stamps import is_ts, ts_to_us
from channels.slack.web import HTTP_OK, SlackWeb
from geode.errors import (
    ChannelDownError,
    FileUnavailableError,
    SendRateLimitedError,
    SendUnknownError,
)
from geode.messages import FileRef, JsonObject, OutboundFile, Part, Place
from geode.ports import Clock

log = logging.getLogger(__name__)

TRANSFER_S = 60.0
CHUNK_BYTES = 64 * 1024
HEAD_BYTES = 512
REDIRECTS_MAX = 3
LOOKS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Pauses, in seconds, between looks for an upload's message: Slack shows it a little later."""
SKEW_US = 5_000_000
TOO_MANY, SERVER_ERROR = 429, 500
FORBIDDEN, GONE = (401, 403), (404, 410)
HTML_STARTS = (b"<!doctype html", b"<html")


class SlackFiles:
    """Downloads by the address that Slack named, uploads in Slack's three steps."""

    def __init__(self, web: SlackWeb, history: SlackHistory, clock: Clock) -> None:
        self._web = web
        self._history = history
        self._clock = clock

    async def download(self, file: FileRef, bytes_max: int) -> bytes:
        """The bytes of a person's file, never more than allowed, never a sign-in page."""
        if file.size_bytes > bytes_max:
            raise FileUnavailableError(_too_big(file, bytes_max))
        found = file if file.url else await self._look_up(file)
        url = found.url
        for _ in range(REDIRECTS_MAX + 1):
            answer = await self._fetch(url, found, bytes_max)
            if isinstance(answer, bytes):
                return answer
            url = urljoin(url, answer)
        raise FileUnavailableError(f"Slack sends the reader of {file.name} in circles.")

    async def _look_up(self, file: FileRef) -> FileRef:
        """A shared channel's file comes without its address; it is asked for."""
        try:
            answer = await self._web.read("files.info", file=file.id)
        except TokenRefusedError as error:
            raise FileUnavailableError(_no_right(file)) from error
        except PlatformRefusedError as error:
            raise FileUnavailableError(
                f"Slack does not give {file.name} ({error.code})."
            ) from error
        shown = object_of(answer, "file")
        found = read_files({"files": [shown]})
        if is_true(shown, "is_external") or not found or not found[0].url:
            raise FileUnavailableError(f"{file.name} lies outside Slack; send it as a file.")
        return found[0]

    async def _fetch(self, url: str, file: FileRef, bytes_max: int) -> bytes | str:
        """The bytes, or where Slack sends us for them."""
        if not self._web.may_carry_token(url):
            raise FileUnavailableError(f"{file.name} lies outside Slack; send it as a file.")
        headers = self._web.bearer
        async with self._web.request("GET", url, timeout_s=TRANSFER_S, headers=headers) as answer:
            if onward := answer.headers.get("Location", ""):
                return onward
            _check_status(answer, file)
            if answer.content_type == "text/html" and not _is_html(file):
                raise FileUnavailableError(_no_right(file))
            content = await _read_capped(answer, file, bytes_max)
        if _looks_like_page(content) and (not _is_html(file) or _is_other_size(content, file)):
            raise FileUnavailableError(_no_right(file))
        return content

    async def upload(self, place: Place, part: Part, content: bytes) -> str:
        """Post a file in its thread and return the message's time stamp."""
        assert part.file is not None
        file_id = await self._put(part.file, content)
        answer = await self._web.finish_upload(
            file_id,
            part.file.name,
            channel=place.thread.channel,
            thread_ts=root_of(place),
            comment=render_plain(part.plain.strip()),
        )
        shown = objects_of(answer, "files")
        ts = _share_of(shown[0] if shown else {}, place) or await self._await_share(file_id, place)
        if not ts:
            raise SendUnknownError("Slack took the file and has not shown it yet.")
        return ts

    async def _put(self, file: OutboundFile, content: bytes) -> str:
        """Hand the bytes over; until the upload is finished nobody sees them."""
        answer = await self._web.ask_upload(file.name, len(content))
        url = text_of(answer, "upload_url")
        if not self._web.may_carry_token(url):
            raise ChannelDownError("Slack named an address for the file that is not its own.")
        headers = {"Content-Type": "application/octet-stream"}
        async with self._web.request(
            "POST", url, timeout_s=TRANSFER_S, data=io.BytesIO(content), headers=headers
        ) as response:
            if response.status != HTTP_OK:
                raise ChannelDownError(f"Slack did not take the file (HTTP {response.status}).")
        return text_of(answer, "file_id")

    async def _await_share(self, file_id: str, place: Place) -> str:
        """The message that shows the file, as soon as there is one; empty when none came."""
        for pause_s in LOOKS:
            try:
                answer = await self._web.read("files.info", file=file_id)
            except (PlatformRefusedError, ChannelDownError, SendRateLimitedError) as error:
                log.info("slack_share_not_seen file=%s reason=%s", file_id, error)
                return ""
            if ts := _share_of(object_of(answer, "file"), place):
                return ts
            await self._clock.sleep(pause_s)
        return ""

    async def find(
        self, place: Place, file: OutboundFile, since_us: int, bot_user: str
    ) -> str | None:
        """Our message of the place that shows a file of that name and size since then.

        A file carries no key, so an earlier one of the same name must not pass for it.
        """
        found: str | None = None
        async for message in self._history.since(place, since_us):
            ts = text_of(message, "ts")
            if text_of(message, "user") != bot_user or not is_ts(ts):
                continue
            is_new = ts_to_us(ts) >= since_us - SKEW_US
            if is_new and any(_is_same(shown, file) for shown in read_files(message)):
                found = ts
        return found


def _is_same(shown: FileRef, file: OutboundFile) -> bool:
    return shown.name == file.name and shown.size_bytes == file.size_bytes


def _share_of(file: JsonObject, place: Place) -> str:
    """The time stamp under which a file stands in the place, in whichever kind of channel."""
    shares, root = object_of(file, "shares"), root_of(place)
    for kind in ("public", "private"):
        for share in list_of(object_of(shares, kind), place.thread.channel):
            ts = text_of(share, "ts") if isinstance(share, dict) else ""
            if isinstance(share, dict) and is_ts(ts) and root in ("", text_of(share, "thread_ts")):
                return ts
    return ""


async def _read_capped(answer: aiohttp.ClientResponse, file: FileRef, bytes_max: int) -> bytes:
    kept = bytearray()
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        kept += chunk
        if len(kept) > bytes_max:
            raise FileUnavailableError(_too_big(file, bytes_max))
    return bytes(kept)


def _check_status(answer: aiohttp.ClientResponse, file: FileRef) -> None:
    status = answer.status
    if status == TOO_MANY:
        written = answer.headers.get("Retry-After", "")
        raise SendRateLimitedError(float(written) if written.isdecimal() else 30.0)
    if status >= SERVER_ERROR:
        raise ChannelDownError(f"Slack did not give {file.name} (HTTP {status}).")
    if status in FORBIDDEN:
        raise FileUnavailableError(_no_right(file))
    if status in GONE:
        raise FileUnavailableError(f"{file.name} is gone; send it again.")
    if status != HTTP_OK:
        raise FileUnavailableError(f"Slack does not give {file.name} (HTTP {status}).")


def _looks_like_page(content: bytes) -> bool:
    return content[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(HTML_STARTS)


def _is_html(file: FileRef) -> bool:
    return file.media_type == "text/html" or file.name.lower().endswith((".html", ".htm"))


def _is_other_size(content: bytes, file: FileRef) -> bool:
    return file.size_bytes not in (0, len(content))


def _no_right(file: FileRef) -> str:
    return (
        f"Slack gave a sign-in page instead of {file.name}: "
        "the app needs the scope files:read; add it and install the app again."
    )


def _too_big(file: FileRef, bytes_max: int) -> str:
    return f"{file.name} is larger than the {bytes_max:,} bytes that are read; send a smaller one."
