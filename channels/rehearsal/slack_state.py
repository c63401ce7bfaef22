"""A Slack workspace in memory: people, places and messages, with real time stamps as strings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from geode.messages import JsonObject, JsonValue

BOT_TOKEN = "xoxb-rehearsal-bot"  # noqa: S105 - a stand-in's token opens nothing
APP_TOKEN = "xapp-rehearsal-app"  # noqa: S105 - a stand-in's token opens nothing


@dataclass(slots=True)
class Person:
    """Someone of the workspace, the bot included."""

    id: str
    name: str
    is_bot: bool = False


@dataclass(slots=True)
class Room:
    """A channel or a direct message."""

    id: str
    name: str
    members: set[str]
    is_im: bool = False
    is_archived: bool = False
    is_mpim: bool = False

    @property
    def channel_type(self) -> str:
        """The word events use for this kind of place."""
        if self.is_im:
            return "im"
        return "mpim" if self.is_mpim else "channel"


@dataclass(slots=True)
class Posted:
    """One message as the workspace keeps it, with every earlier wording."""

    channel: str
    ts: str
    user: str
    text: str
    thread_ts: str = ""
    bot_id: str = ""
    blocks: list[JsonValue] = field(default_factory=list[JsonValue])
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])
    subtype: str = ""
    arguments: JsonObject = field(default_factory=dict[str, JsonValue])
    """The bot's own call as it arrived, so that a test sees every field."""
    edits: list[JsonObject] = field(default_factory=list[JsonObject])
    reactions: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    is_deleted: bool = False
    files: list[JsonObject] = field(default_factory=list[JsonObject])

    @property
    def is_reply(self) -> bool:
        """Whether the message stands below a root."""
        return bool(self.thread_ts) and self.thread_ts != self.ts


class Workspace:
    """Everything the stand-in remembers; one team, one app, one bot."""

    def __init__(self, *, team_id: str = "T0REHEARSAL", bot_user: str = "UBOT") -> None:
        self.team_id = team_id
        self.app_id = "A0REHEARSAL"
        self.bot_user = bot_user
        self.bot_id = "BBOT"
        self.people: dict[str, Person] = {}
        self.rooms: dict[str, Room] = {}
        self.posts: dict[str, list[Posted]] = {}
        self.ephemerals: list[JsonObject] = []
        self._last_us = 0
        self.add_person(bot_user, "geode", is_bot=True)
        for user, name in (("U0ANA", "ana"), ("U0BEN", "ben"), ("U0STRANGER", "stranger")):
            self.add_person(user, name)
        members = {bot_user, "U0ANA", "U0BEN", "U0STRANGER"}
        self.add_room(Room("C0GENERAL", "general", members))
        self.add_room(Room("C0OTHER", "other", members - {bot_user}))

    def add_person(self, user: str, name: str, *, is_bot: bool = False) -> None:
        """Make someone a member of the workspace."""
        self.people[user] = Person(user, name, is_bot)

    def add_room(self, room: Room) -> Room:
        """Open a channel or a direct message."""
        self.rooms[room.id] = room
        self.posts.setdefault(room.id, [])
        return room

    def direct_room(self, user: str) -> Room:
        """The direct message between the bot and that person, opened when new."""
        room_id = f"D{user[1:]}"
        room = self.rooms.get(room_id)
        return room or self.add_room(Room(room_id, "", {self.bot_user, user}, is_im=True))

    def next_ts(self) -> str:
        """A time stamp after every earlier one, six decimals, trailing zeros kept."""
        now_us = time.time_ns() // 1000
        self._last_us = max(now_us // 100 * 100, self._last_us + 100)
        return f"{self._last_us // 1_000_000}.{self._last_us % 1_000_000:06d}"

    def add_post(self, post: Posted) -> Posted:
        """Keep a message, sorted by its time stamp within its channel."""
        posts = self.posts[post.channel]
        posts.append(post)
        posts.sort(key=lambda kept: ts_key(kept.ts))
        return post

    def find_post(self, channel: str, ts: str) -> Posted | None:
        """The living message with exactly that time stamp."""
        for post in self.posts.get(channel, []):
            if post.ts == ts and not post.is_deleted:
                return post
        return None

    def replies(self, channel: str, root_ts: str) -> list[Posted]:
        """The living replies below a root, oldest first."""
        return [p for p in self._living(channel) if p.is_reply and p.thread_ts == root_ts]

    def roots(self, channel: str) -> list[Posted]:
        """What a channel's history shows: everything but plain replies, oldest first."""
        return [
            p for p in self._living(channel) if not p.is_reply or p.subtype == "thread_broadcast"
        ]

    def _living(self, channel: str) -> Iterator[Posted]:
        return (post for post in self.posts.get(channel, []) if not post.is_deleted)

    def message_json(self, post: Posted, *, with_metadata: bool = False) -> JsonObject:
        """A message as the Web API shows it."""
        shown: JsonObject = {
            "type": "message",
            "user": post.user,
            "text": post.text,
            "ts": post.ts,
            "team": self.team_id,
        }
        if post.subtype:
            shown["subtype"] = post.subtype
        if post.bot_id:
            shown |= {"bot_id": post.bot_id, "app_id": self.app_id, "blocks": post.blocks}
        if post.files:
            shown["files"] = list[JsonValue](post.files)
        if post.edits:
            shown["edited"] = {"user": post.user, "ts": post.edits[-1]["ts"]}
        if post.metadata and with_metadata:
            shown["metadata"] = post.metadata
        if post.reactions:
            shown["reactions"] = [
                {"name": name, "users": list[JsonValue](users), "count": len(users)}
                for name, users in post.reactions.items()
            ]
        return shown | self._thread_fields(post)

    def _thread_fields(self, post: Posted) -> JsonObject:
        if post.is_reply:
            return {"thread_ts": post.thread_ts, "parent_user_id": self._root_user(post)}
        replies = self.replies(post.channel, post.ts)
        if not replies:
            return {}
        return {
            "thread_ts": post.ts,
            "reply_count": len(replies),
            "latest_reply": replies[-1].ts,
            "reply_users": list[JsonValue](sorted({reply.user for reply in replies})),
        }

    def _root_user(self, post: Posted) -> str:
        root = self.find_post(post.channel, post.thread_ts)
        return root.user if root else ""


def ts_key(ts: str) -> tuple[int, int]:
    """A time stamp as whole numbers, in Slack's order."""
    seconds, _, micros = ts.partition(".")
    return int(seconds or 0), int((micros or "0").ljust(6, "0")[:6])


def is_ts(value: JsonValue) -> bool:
    """Whether a value is a time stamp in Slack's own spelling."""
    if not isinstance(value, str):
        return False
    seconds, dot, micros = value.partition(".")
    return bool(dot) and seconds.isdecimal() and micros.isdecimal()
