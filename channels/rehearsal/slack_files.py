"""Files of the stand-in: uploads in three steps, downloads with a token, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import orjson
from aiohttp import web

from channels.fields import int_of, list_of, text_of, to_object
from channels.rehearsal.slack_refusal import SlackRefusalError, find_room, refuse
from channels.rehearsal.slack_rules import check_message
from channels.rehearsal.slack_state import Posted, Workspace
from geode.messages import JsonObject, JsonValue

if TYPE_CHECKING:
    from channels.rehearsal.slack_announce import Announcer

SIGN_IN_PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in | Slack</title></head></html>"
FILE_BYTES_MAX = 1_000_000_000


@dataclass(slots=True)
class StoredFile:
    """A file of the workspace, its bytes included once they are there."""

    id: str
    name: str
    user: str
    media_type: str = ""
    content: bytes | None = None
    length: int = 0
    """What was announced before the bytes came."""
    is_external: bool = False
    shares: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Channel, time stamp and thread of every message that shows it."""


class Files:
    """Every file, and the methods of the Web API about them."""

    def __init__(
        self, workspace: Workspace, announcer: Announcer, origin: Callable[[], str]
    ) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self._origin = origin
        self._numbers = count(1)
        self.kept: dict[str, StoredFile] = {}
        self.lacks_scope = False
        """The app may not read files: a download shows the sign-in page with status 200."""
        self.redirect = ""
        """Where a download is sent instead."""
        self.page_type = "text/html; charset=utf-8"
        self.hides_shares = 0
        """How many looks at a fresh upload find no message yet."""
        self.downloads: list[JsonObject] = []

    def add(self, name: str, content: bytes, *, user: str, media_type: str = "") -> StoredFile:
        """A person's file."""
        file = StoredFile(self._next_id(), name, user, media_type, content, len(content))
        self.kept[file.id] = file
        return file

    def _next_id(self) -> str:
        return f"F{next(self._numbers):08d}"

    def file_json(self, file: StoredFile) -> JsonObject:
        """A file as messages and methods show it."""
        address = f"{self._origin()}/files-pri/{file.id}/{file.name}"
        shown: JsonObject = {
            "id": file.id,
            "name": file.name,
            "title": file.name,
            "mimetype": file.media_type,
            "size": len(file.content or b""),
            "mode": "external" if file.is_external else "hosted",
            "is_external": file.is_external,
            "user": file.user,
            "url_private": address,
            "url_private_download": f"{address}?download=1",
        }
        return shown

    async def ask_upload(self, call: JsonObject) -> JsonObject:
        """files.getUploadURLExternal."""
        length = int_of(call, "length")
        if not 0 < length <= FILE_BYTES_MAX:
            raise SlackRefusalError("invalid_arguments")
        file = StoredFile(
            self._next_id(), text_of(call, "filename"), self._workspace.bot_user, length=length
        )
        self.kept[file.id] = file
        return {"upload_url": f"{self._origin()}/upload/{file.id}", "file_id": file.id}

    async def finish_upload(self, call: JsonObject) -> JsonObject:
        """files.completeUploadExternal: shows the files in one message of ours."""
        files = [self._uploaded(to_object(item)) for item in _list_in(call, "files")]
        if not files:
            raise SlackRefusalError("invalid_arguments")
        if not text_of(call, "channel_id"):
            return {"files": [self.file_json(file) for file in files]}
        room = find_room(self._workspace, call | {"channel": text_of(call, "channel_id")})
        refuse(check_message({"text": text_of(call, "initial_comment") or "file"}))
        thread_ts = text_of(call, "thread_ts")
        if thread_ts and self._workspace.find_post(room.id, thread_ts) is None:
            raise SlackRefusalError("thread_not_found")
        post = Posted(
            channel=room.id,
            ts=self._workspace.next_ts(),
            user=self._workspace.bot_user,
            text=text_of(call, "initial_comment"),
            thread_ts=thread_ts,
            bot_id=self._workspace.bot_id,
            subtype="file_share",
            arguments=call,
        )
        await self.share(post, *files)
        return {"files": [self.file_json(file) for file in files]}

    async def share(self, post: Posted, *files: StoredFile) -> None:
        """Show files in a message and tell the app."""
        post.files = [self.file_json(file) for file in files]
        self._workspace.add_post(post)
        for file in files:
            file.shares.append((post.channel, post.ts, post.thread_ts))
        await self._announcer.posted(post)

    def _uploaded(self, item: JsonObject) -> StoredFile:
        file = self.kept.get(text_of(item, "id"))
        if file is None or file.content is None:
            raise SlackRefusalError("file_not_found")
        if file.shares:
            raise SlackRefusalError("file_already_shared")
        return file

    async def show(self, call: JsonObject) -> JsonObject:
        """files.info."""
        file = self.kept.get(text_of(call, "file"))
        if file is None:
            raise SlackRefusalError("file_not_found")
        if self.lacks_scope:
            raise SlackRefusalError("missing_scope", needed="files:read")
        shown = self.file_json(file)
        if self.hides_shares:
            self.hides_shares -= 1
            return {"file": shown}
        public: JsonObject = {}
        for channel, ts, thread_ts in file.shares:
            share: JsonObject = {"ts": ts}
            if thread_ts:
                share["thread_ts"] = thread_ts
            public[channel] = [share]
        shown["shares"] = {"public": public}
        return {"file": shown}

    async def take_bytes(self, request: web.Request) -> web.Response:
        """The second step of an upload."""
        file = self.kept.get(request.match_info["file"])
        content = await request.read()
        if file is None or file.content is not None or len(content) != file.length:
            return web.Response(status=400, text="upload refused")
        file.content = content
        return web.Response(text=f"OK - {len(content)}")

    async def give_bytes(self, request: web.Request, *, is_known: bool) -> web.Response:
        """A download; without the right to it Slack answers 200 with its sign-in page."""
        self.downloads.append({"file": request.match_info["file"], "is_known": is_known})
        file = self.kept.get(request.match_info["file"])
        if self.redirect:
            return web.Response(status=302, headers={"Location": self.redirect})
        if not is_known or self.lacks_scope:
            return web.Response(body=SIGN_IN_PAGE, headers={"Content-Type": self.page_type})
        if file is None or file.content is None:
            return web.Response(status=404)
        kind = file.media_type or "application/octet-stream"
        return web.Response(body=file.content, headers={"Content-Type": kind})


def _list_in(call: JsonObject, name: str) -> list[JsonValue]:
    """A list that a form carries as JSON text."""
    value = call.get(name)
    if isinstance(value, str):
        try:
            return list_of({name: orjson.loads(value)}, name)
        except orjson.JSONDecodeError:
            return []
    return list_of(call, name)
