"""The rooms that GEODE keeps itself: what was said there survives, in order, with its files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import orjson

from geode.errors import StoreError
from geode.messages import JsonObject, Thread
from geode.ports import Clock
from geode.store import rooms
from geode.store.blobs import Blobs
from geode.store.database import Store
from geode.transcripts import RoomMessage, RoomThread

ROOMS = "rooms"
"""The folder of the state in which the rooms' files are kept."""


class RoomTranscript:
    """The one implementation of `Transcript`: rows for what was said, a folder for files."""

    def __init__(self, store: Store, clock: Clock, files: Blobs) -> None:
        self._store = store
        self._clock = clock
        self._files = files

    async def put(self, message: RoomMessage, *, begins_thread: bool = False) -> RoomMessage:
        """Keep a message and return it as kept; the same key again returns the first one."""
        now_us = self._clock.now_us()
        unit = partial(
            rooms.put_message, message=message, now_us=now_us, begins_thread=begins_thread
        )
        return await self._store.write("rooms.put", unit)

    async def change(self, message_id: str, payload: JsonObject) -> RoomMessage | None:
        """Replace what a message says; None when there is none."""
        text = orjson.dumps(payload).decode()
        unit = partial(rooms.change_message, message_id=message_id, payload=text)
        return await self._store.write("rooms.change", unit)

    async def find(self, platform: str, key: str) -> RoomMessage | None:
        """The message kept under the key."""
        return await self._store.read(lambda tx: rooms.find_message(tx, platform, key))

    async def read_message(self, platform: str, message_id: str) -> RoomMessage | None:
        """One message by its id."""
        return await self._store.read(lambda tx: rooms.read_message(tx, platform, message_id))

    async def read_thread(
        self, thread: Thread, *, before: str = "", limit: int = 100
    ) -> Sequence[RoomMessage]:
        """The last messages of a thread before that id, oldest first."""
        return await self._store.read(lambda tx: rooms.read_thread(tx, thread, before, limit))

    async def read_people(
        self, room: Thread, *, after: str, since_us: int = 0, limit: int = 100
    ) -> Sequence[RoomMessage]:
        """What people said in any thread of a room after that id, in order."""
        return await self._store.read(
            lambda tx: rooms.read_people(tx, room, after, since_us, limit)
        )

    async def read_changes(
        self, platform: str, *, after: int, limit: int = 100
    ) -> Sequence[RoomMessage]:
        """Messages kept or changed after that revision, by revision."""
        return await self._store.read(lambda tx: rooms.read_changes(tx, platform, after, limit))

    async def read_revision(self) -> int:
        """The revision up to which everything is kept now."""
        return await self._store.read(rooms.read_revision)

    async def list_threads(self, room: Thread, limit: int) -> Sequence[RoomThread]:
        """The threads of a room, the one with the newest message first."""
        return await self._store.read(lambda tx: rooms.list_threads(tx, room, limit))

    async def put_file(self, content: bytes) -> str:
        """Keep a file's content durably and return its SHA-256."""
        try:
            return await asyncio.to_thread(self._files.put, content)
        except OSError as error:
            raise StoreError(f"The file could not be kept: {error.strerror}.") from error

    async def get_file(self, sha256: str, bytes_max: int) -> bytes | None:
        """A kept file's content; None when it is gone or larger."""
        return await asyncio.to_thread(self._files.get, sha256, bytes_max)
