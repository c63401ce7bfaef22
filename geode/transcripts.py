"""The seam to rooms that GEODE keeps itself, for a channel that is its own platform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from geode.messages import JsonObject, OutboundFile, Person, Thread


@dataclass(frozen=True, slots=True)
class RoomMessage:
    """One message in a room that GEODE keeps itself, for a channel that is its own platform."""

    thread: Thread
    key: str
    """Names the message whatever is repeated; unique in the channel."""
    payload: JsonObject
    """What it says, in the channel's own fields."""
    author: Person | None = None
    """None: the agent."""
    only_for: str = ""
    """The id of the one person who sees it; empty: everybody in the room."""
    files: tuple[OutboundFile, ...] = ()
    """Their contents were kept with `put_file` before."""
    id: str = ""
    """Given when it is kept; sorts as text in the order of keeping, over all rooms."""
    said_at_us: int = 0
    """Given when it is kept."""
    revision: int = 0
    """Given when it is kept or changed: grows with each such event, over all rooms."""


@dataclass(frozen=True, slots=True)
class RoomThread:
    """One conversation of a room."""

    thread: Thread
    first: RoomMessage
    """Its first message that everybody sees."""
    last_at_us: int


class Transcript(Protocol):
    """What was said in the rooms of a channel that is its own platform; durable, in order.

    Every method raises `StoreError` when the store cannot be reached.
    """

    async def put(self, message: RoomMessage, *, begins_thread: bool = False) -> RoomMessage:
        """Keep a message and return it as kept; the same key again returns the first one.

        With `begins_thread` it opens a thread of its room, which has the message's id.
        """
        ...

    async def change(self, message_id: str, payload: JsonObject) -> RoomMessage | None:
        """Replace what a message says; None when there is none. Repeating it is harmless."""
        ...

    async def find(self, platform: str, key: str) -> RoomMessage | None:
        """The message kept under the key."""
        ...

    async def read_message(self, platform: str, message_id: str) -> RoomMessage | None:
        """One message by its id."""
        ...

    async def read_thread(
        self, thread: Thread, *, before: str = "", limit: int = 100
    ) -> Sequence[RoomMessage]:
        """The last messages of a thread before that id (empty: the end), oldest first."""
        ...

    async def read_people(
        self, room: Thread, *, after: str, since_us: int = 0, limit: int = 100
    ) -> Sequence[RoomMessage]:
        """What people said in any thread of a room (empty thread part) after that id, in order."""
        ...

    async def read_changes(
        self, platform: str, *, after: int, limit: int = 100
    ) -> Sequence[RoomMessage]:
        """Messages kept or changed after that revision, each as it is now, by revision."""
        ...

    async def read_revision(self) -> int:
        """The revision up to which everything is kept now."""
        ...

    async def list_threads(self, room: Thread, limit: int) -> Sequence[RoomThread]:
        """The threads of a room, the one with the newest message first."""
        ...

    async def put_file(self, content: bytes) -> str:
        """Keep a file's content durably and return its SHA-256."""
        ...

    async def get_file(self, sha256: str, bytes_max: int) -> bytes | None:
        """A kept file's content; None when it is gone or larger."""
        ...
