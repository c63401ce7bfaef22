"""A Discord server in memory: people, places and messages under real snowflakes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from geode.messages import JsonObject, JsonValue

BOT_TOKEN = "rehearsal-discord-token"  # noqa: S105 - a stand-in's token opens nothing
GUILD = "910000000000000001"
BOT = "910000000000000002"
ANA, BEN, STRANGER = "910000000000000011", "910000000000000012", "910000000000000013"
CATEGORY = "910000000000000020"
GENERAL, OTHER, FORUM = "910000000000000021", "910000000000000022", "910000000000000023"
EPOCH_MS = 1_420_070_400_000
MEDIA = "media.discordapp.net"
NONCE_S = 180.0
"""How long a nonce is remembered."""

TEXT, DIRECT, CATEGORY_KIND, THREAD, FORUM_KIND = 0, 1, 4, 11, 15


@dataclass(slots=True)
class Person:
    """Someone Discord knows, the bot included."""

    id: str
    name: str
    is_bot: bool = False
    nick: str = ""
    """In the server, when they have one."""


@dataclass(slots=True)
class Room:
    """A place: a category, a channel, a thread or forum post, or a direct message."""

    id: str
    name: str
    kind: int = TEXT
    parent: str = ""
    recipient: str = ""
    is_hidden: bool = False
    """The gateway tells nothing about the place itself, so that a client has to ask."""
    refusal: int = 0
    """When set, the error code every call on this place gets (50001, 50013)."""
    denied: set[str] = field(default_factory=set[str])
    """The calls (by the name that faults know) for which the bot lacks the permission here."""
    is_archived: bool = False
    is_locked: bool = False
    last: str = ""


@dataclass(slots=True)
class Posted:
    """One message as the server keeps it, with every earlier wording."""

    room: str
    id: str
    author: str
    text: str
    nonce: str = ""
    kind: int = 0
    flags: int = 0
    arguments: JsonObject = field(default_factory=dict[str, JsonValue])
    """The bot's own call as it arrived, so that a test sees every field."""
    edits: list[JsonObject] = field(default_factory=list[JsonObject])
    reactions: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    extra: JsonObject = field(default_factory=dict[str, JsonValue])
    """Further fields of the wire form: attachments, snapshots, what a test needs."""
    shown: JsonObject = field(default_factory=dict[str, JsonValue])
    """What the bot put beside its words: components, attachments."""
    is_deleted: bool = False


class DiscordWorld:
    """Everything the stand-in remembers; one server, one application, one bot."""

    def __init__(self) -> None:
        self.people: dict[str, Person] = {}
        self.rooms: dict[str, Room] = {}
        self.posts: dict[str, list[Posted]] = {}
        self.has_content_intent = True
        self.has_members_intent = False
        self.file_bytes_max = 10 << 20
        """Whether the operator switched the message content intent on."""
        self.blobs: dict[str, bytes] = {}
        """The bytes of attachments by their id."""
        self.expired: set[str] = set()
        """Addresses of attachments that are good no more."""
        self.commands: list[JsonObject] = []
        """The application's commands, as registered."""
        self._nonces: dict[tuple[str, str], tuple[str, float]] = {}
        self._last = 0
        people = ((BOT, "geode"), (ANA, "ana"), (BEN, "ben"), (STRANGER, "stranger"))
        for person, name in people:
            self.people[person] = Person(person, name, is_bot=person == BOT)
        self.add_room(Room(CATEGORY, "projects", CATEGORY_KIND))
        self.add_room(Room(GENERAL, "general", parent=CATEGORY))
        self.add_room(Room(OTHER, "other"))
        self.add_room(Room(FORUM, "questions", FORUM_KIND, parent=CATEGORY))

    def next_id(self) -> str:
        """A snowflake of now, after every earlier one."""
        now = (time.time_ns() // 1_000_000 - EPOCH_MS) << 22
        self._last = max(now, self._last + 1)
        return str(self._last)

    def add_room(self, room: Room) -> Room:
        """Open a place."""
        self.rooms[room.id] = room
        self.posts.setdefault(room.id, [])
        return room

    def direct_room(self, person: str) -> Room:
        """The direct message between the bot and that person, opened when new."""
        for room in self.rooms.values():
            if room.kind == DIRECT and room.recipient == person:
                return room
        return self.add_room(Room(self.next_id(), "", DIRECT, recipient=person))

    def add_post(self, post: Posted) -> Posted:
        """Keep a message; its place's last message is this one."""
        posts = self.posts[post.room]
        posts.append(post)
        posts.sort(key=lambda kept: int(kept.id))
        self.rooms[post.room].last = posts[-1].id
        return post

    def find_post(self, room: str, message: str) -> Posted | None:
        """The living message with that id."""
        return next((post for post in self.living(room) if post.id == message), None)

    def living(self, room: str) -> Iterator[Posted]:
        """The messages of a place that were not deleted, oldest first."""
        return (post for post in self.posts.get(room, []) if not post.is_deleted)

    def threads_of(self, parent: str = "") -> list[Room]:
        """The threads and forum posts of a channel, or of all."""
        return [
            room
            for room in self.rooms.values()
            if room.kind == THREAD and parent in ("", room.parent)
        ]

    def attach(self, room: str, name: str, media_type: str, content: bytes) -> JsonObject:
        """Keep a file; the attachment object that a message shows for it."""
        one = self.next_id()
        self.blobs[one] = content
        kept = "_".join(name.split())
        shown: JsonObject = {
            "id": one,
            "filename": kept,
            "size": len(content),
            "content_type": media_type,
        }
        url = f"https://cdn.discordapp.com/attachments/{room}/{one}/{kept}?ex={self.next_id()}"
        return {**shown, "url": url, "proxy_url": url.replace("cdn.discordapp.com", MEDIA)}

    def recall_nonce(self, author: str, nonce: str) -> str:
        """The id of the message that this author sent under the nonce lately, or nothing."""
        message, at = self._nonces.get((author, nonce), ("", 0.0))
        return message if time.monotonic() - at < NONCE_S else ""

    def keep_nonce(self, author: str, nonce: str, message: str) -> None:
        """Remember under which nonce a message was sent."""
        self._nonces[author, nonce] = (message, time.monotonic())

    def forget_nonces(self) -> None:
        """Let every nonce grow old at once."""
        self._nonces.clear()


def stamp_of(snowflake: str) -> str:
    """The moment of a snowflake as Discord writes moments."""
    ms = (int(snowflake) >> 22) + EPOCH_MS
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="microseconds")
