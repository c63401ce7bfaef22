"""What the REST calls do to the world, and what they tell the gateway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from channels.fields import int_of, is_true, list_of, text_of
from channels.rehearsal.discord_components import check_commands
from channels.rehearsal.discord_gateway import Gateway
from channels.rehearsal.discord_interactions import InteractionBook
from channels.rehearsal.discord_refusal import DiscordRefusalError
from channels.rehearsal.discord_rules import check_message, check_thread, is_pinging
from channels.rehearsal.discord_state import (
    BOT,
    CATEGORY_KIND,
    DIRECT,
    FORUM_KIND,
    GUILD,
    THREAD,
    DiscordWorld,
    Posted,
    Room,
    stamp_of,
)
from channels.rehearsal.discord_wire import (
    application_json,
    member_json,
    message_json,
    room_json,
    user_json,
)
from geode.messages import JsonObject, JsonValue

PAGE_MAX = 100
MEMBERS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Uploaded:
    """One file of a multipart body."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """One REST call, taken apart."""

    path: tuple[str, ...]
    """The variable pieces of the address, in order."""
    query: JsonObject
    body: JsonObject = field(default_factory=dict[str, JsonValue])
    files: tuple[Uploaded, ...] = ()
    listed: tuple[JsonObject, ...] = ()
    """The objects of a body that is an array."""


class Methods:
    """The calls by name; each raises `DiscordRefusalError` or returns its answer's JSON."""

    def __init__(self, world: DiscordWorld, gateway: Gateway) -> None:
        self._world = world
        self._gateway = gateway
        self.book = InteractionBook(world, gateway)
        self.counters: Counter[str] = Counter()

    @property
    def rooms(self) -> Mapping[str, Room]:
        """Every place by its id."""
        return self._world.rooms

    def _room(self, call: Call) -> Room:
        room = self._world.rooms.get(call.path[0])
        if room is None:
            raise DiscordRefusalError(10003)
        if room.refusal:
            raise DiscordRefusalError(room.refusal)
        return room

    def _writable(self, call: Call) -> Room:
        room = self._room(call)
        if room.kind in (CATEGORY_KIND, FORUM_KIND):
            raise DiscordRefusalError(50008)
        return room

    def _post(self, room: Room, message: str) -> Posted:
        post = self._world.find_post(room.id, message)
        if post is None:
            raise DiscordRefusalError(10008)
        return post

    async def read_me(self, call: Call) -> JsonValue:
        """`GET users/@me`."""
        return user_json(self._world.people[BOT])

    async def read_application(self, call: Call) -> JsonValue:
        """`GET oauth2/applications/@me`."""
        return application_json(self._world)

    async def list_guilds(self, call: Call) -> JsonValue:
        """`GET users/@me/guilds`."""
        return [{"id": GUILD, "name": "town"}] if self._gateway.is_invited else []

    async def read_room(self, call: Call) -> JsonValue:
        """`GET channels/ID`."""
        return room_json(self._world, self._room(call))

    async def list_channels(self, call: Call) -> JsonValue:
        """`GET guilds/ID/channels`: no threads, no direct messages."""
        if call.path[0] != GUILD:
            raise DiscordRefusalError(50001)
        rooms = [r for r in self._world.rooms.values() if r.kind not in (THREAD, DIRECT)]
        return [room_json(self._world, room) for room in rooms]

    async def list_members(self, call: Call) -> JsonValue:
        """`GET guilds/ID/members`: only with the privileged intent."""
        if call.path[0] != GUILD or not self._world.has_members_intent:
            raise DiscordRefusalError(50001)
        limit = int_of(call.query, "limit", 1)
        if not 1 <= limit <= MEMBERS_MAX:
            raise DiscordRefusalError(50035, detail="limit: Must be between 1 and 1000.")
        people = list(self._world.people.values())[:limit]
        return [{**member_json(person), "user": user_json(person)} for person in people]

    async def read_active_threads(self, call: Call) -> JsonValue:
        """`GET guilds/ID/threads/active`."""
        if call.path[0] != GUILD:
            raise DiscordRefusalError(50001)
        threads = [room_json(self._world, room) for room in self._world.threads_of()]
        return {"threads": list[JsonValue](threads), "members": []}

    async def list_messages(self, call: Call) -> JsonValue:
        """`GET channels/ID/messages`: newest first, those next to `after` when it is given."""
        room = self._writable(call)
        limit = int_of(call.query, "limit", 50)
        if not 1 <= limit <= PAGE_MAX:
            raise DiscordRefusalError(50035, detail="limit: Must be between 1 and 100.")
        found = list(self._world.living(room.id))
        after, before = text_of(call.query, "after"), text_of(call.query, "before")
        if after:
            found = [post for post in found if int(post.id) > int(after)][:limit]
        elif before:
            found = [post for post in found if int(post.id) < int(before)]
        return [message_json(self._world, post) for post in reversed(found[-limit:])]

    async def read_message(self, call: Call) -> JsonValue:
        """`GET channels/ID/messages/ID`."""
        return message_json(self._world, self._post(self._room(call), call.path[1]))

    async def create_message(self, call: Call) -> JsonValue:
        """`POST channels/ID/messages`; an enforced nonce that is known creates nothing."""
        room = self._writable(call)
        if room.is_locked:
            raise DiscordRefusalError(160005)
        check_message(call.body, has_files=bool(call.files))
        if any(len(file.content) > self._world.file_bytes_max for file in call.files):
            raise DiscordRefusalError(40005)
        self.counters["pinging"] += is_pinging(call.body)
        nonce = str(call.body.get("nonce") or "")
        if is_true(call.body, "enforce_nonce"):
            known = self._world.recall_nonce(BOT, nonce)
            if known and (post := self._world.find_post(room.id, known)):
                self.counters["nonce_repeats"] += 1
                return self._answer(post, nonce)
        post = Posted(
            room.id,
            self._world.next_id(),
            BOT,
            text_of(call.body, "content").strip(),
            nonce=nonce,
            flags=int_of(call.body, "flags"),
            arguments=call.body,
            shown=self._shown(call, room.id),
        )
        room.is_archived = False
        self._world.add_post(post)
        if nonce:
            self._world.keep_nonce(BOT, nonce, post.id)
        shown = message_json(self._world, post, form="gateway")
        await self._gateway.dispatch("MESSAGE_CREATE", shown | ({"nonce": nonce} if nonce else {}))
        return self._answer(post, nonce)

    def _shown(self, call: Call, room: str) -> JsonObject:
        files: list[JsonValue] = [
            self._world.attach(room, file.name, file.media_type, file.content)
            for file in call.files
        ]
        rows = list_of(call.body, "components")
        shown: JsonObject = {"components": rows, "attachments": files}
        return {name: value for name, value in shown.items() if value}

    def _answer(self, post: Posted, nonce: str) -> JsonObject:
        return message_json(self._world, post) | ({"nonce": nonce} if nonce else {})

    async def edit_message(self, call: Call) -> JsonValue:
        """`PATCH channels/ID/messages/ID`; only our own."""
        post = self._post(self._writable(call), call.path[1])
        if post.author != BOT:
            raise DiscordRefusalError(50005)
        if self._world.rooms[post.room].is_archived:
            raise DiscordRefusalError(50083)
        check_message(call.body, is_edit=True, has_files="attachments" in post.shown)
        if "components" in call.body:
            post.shown["components"] = list_of(call.body, "components")
        self.counters["pinging"] += is_pinging(call.body)
        post.edits.append({"at": stamp_of(self._world.next_id()), "content": post.text})
        post.text = text_of(call.body, "content").strip()
        shown = message_json(self._world, post, form="gateway")
        await self._gateway.dispatch("MESSAGE_UPDATE", shown)
        return message_json(self._world, post)

    async def open_thread(self, call: Call) -> JsonValue:
        """`POST channels/ID/messages/ID/threads`: the thread gets the message's id."""
        room = self._room(call)
        name = check_thread(call.body)
        if room.kind != 0:
            raise DiscordRefusalError(50024)
        post = self._post(room, call.path[1])
        if post.id in self._world.rooms:
            raise DiscordRefusalError(160004)
        thread = self._world.add_room(Room(post.id, name, THREAD, parent=room.id))
        self.counters["threads_opened"] += 1
        starter: JsonObject = {"referenced_message": message_json(self._world, post)}
        note = Posted(thread.id, self._world.next_id(), post.author, "", kind=21, extra=starter)
        self._world.add_post(note)
        shown = room_json(self._world, thread)
        await self._gateway.dispatch("THREAD_CREATE", shown | {"newly_created": True})
        return shown

    async def change_room(self, call: Call) -> JsonValue:
        """`PATCH channels/ID`: only a thread, and only out of the archive."""
        room = self._room(call)
        if room.kind != THREAD:
            raise DiscordRefusalError(50013)
        if room.is_locked:
            raise DiscordRefusalError(160005)
        room.is_archived = is_true(call.body, "archived")
        return room_json(self._world, room)

    async def open_direct(self, call: Call) -> JsonValue:
        """`POST users/@me/channels`."""
        person = self._world.people.get(text_of(call.body, "recipient_id"))
        if person is None or person.is_bot:
            raise DiscordRefusalError(50033)
        return room_json(self._world, self._world.direct_room(person.id))

    async def list_commands(self, call: Call) -> JsonValue:
        """`GET applications/ID/commands`."""
        self._check_application(call)
        return list[JsonValue](self._world.commands)

    async def register_commands(self, call: Call) -> JsonValue:
        """`PUT applications/ID/commands`: all of them at once."""
        self._check_application(call)
        check_commands(list(call.listed))
        more: JsonObject = {"application_id": BOT, "default_member_permissions": None}
        made = [{"id": self._world.next_id(), **more, **command} for command in call.listed]
        self._world.commands = made
        self.counters["commands_registered"] += 1
        return list[JsonValue](made)

    def _check_application(self, call: Call) -> None:
        if call.path[0] != BOT:
            raise DiscordRefusalError(50001)

    async def answer_interaction(self, call: Call) -> JsonValue:
        """`POST interactions/ID/TOKEN/callback`."""
        self.book.answer(call.path[0], call.path[1], call.body)
        return None

    async def follow_up(self, call: Call) -> JsonValue:
        """`POST webhooks/ID/TOKEN`."""
        self.counters["pinging"] += is_pinging(call.body)
        return self.book.follow_up(call.path[1], call.body)

    async def edit_original(self, call: Call) -> JsonValue:
        """`PATCH webhooks/ID/TOKEN/messages/@original`."""
        self.counters["pinging"] += is_pinging(call.body)
        return self.book.edit_original(call.path[1], call.body)

    async def type_on(self, call: Call) -> JsonValue:
        """`POST channels/ID/typing`."""
        self._writable(call)
        return None

    async def add_reaction(self, call: Call) -> JsonValue:
        """`PUT channels/ID/messages/ID/reactions/EMOJI/@me`."""
        users = self._reaction(call)
        if BOT not in users:
            users.append(BOT)
        return None

    async def remove_reaction(self, call: Call) -> JsonValue:
        """`DELETE channels/ID/messages/ID/reactions/EMOJI/@me`."""
        users = self._reaction(call)
        if BOT in users:
            users.remove(BOT)
        return None

    def _reaction(self, call: Call) -> list[str]:
        post = self._post(self._room(call), call.path[1])
        return post.reactions.setdefault(unquote(call.path[2]), [])
