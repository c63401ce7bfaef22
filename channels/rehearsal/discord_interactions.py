"""Interactions: what people press, fill in and command, and how a bot may answer each, once."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field

from channels.fields import int_of, object_of, objects_of, text_of
from channels.rehearsal.discord_components import check_form
from channels.rehearsal.discord_gateway import Gateway
from channels.rehearsal.discord_refusal import DiscordRefusalError
from channels.rehearsal.discord_rules import EPHEMERAL, check_message
from channels.rehearsal.discord_state import BOT, DIRECT, GUILD, DiscordWorld, Posted, Room
from channels.rehearsal.discord_wire import member_json, message_json, room_json, user_json
from geode.messages import JsonObject, JsonValue

COMMAND, COMPONENT, SUBMIT = 2, 3, 5
SAY, DEFER, DEFER_UPDATE, UPDATE, MODAL = 4, 5, 6, 7, 9
FIRST_S, TOKEN_S = 3.0, 900.0


@dataclass(slots=True)
class Asked:
    """One interaction as the server keeps it."""

    id: str
    token: str
    kind: int
    user: str
    room: str
    custom_id: str = ""
    message: str = ""
    at: float = field(default_factory=time.monotonic)
    answered: int = 0
    """The type of the one first answer; 0: none yet."""
    is_deaf: bool = False
    """The first answer is refused as too late, whenever it comes."""
    is_over: bool = False
    """The token is as dead as after fifteen minutes."""
    form: JsonObject = field(default_factory=dict[str, JsonValue])
    whispers: list[JsonObject] = field(default_factory=list[JsonObject])
    """What the person alone was told, in order; the first may be the promised answer."""

    @property
    def texts(self) -> list[str]:
        """The words that the person alone was told."""
        return [text_of(whisper, "content") for whisper in self.whispers if "content" in whisper]


class InteractionBook:
    """Every interaction by its token; double answers and dead tokens are refused."""

    def __init__(self, world: DiscordWorld, gateway: Gateway) -> None:
        self._world = world
        self._gateway = gateway
        self.asked: dict[str, Asked] = {}
        self.are_deaf = False
        """New interactions refuse their first answer as too late."""

    async def press(self, post: Posted, custom_id: str, user: str) -> Asked:
        """A person presses a button of the bot's message; raises when it is not there."""
        if custom_id not in _ids_of(post):
            raise DiscordRefusalError(10008)
        asked = self._note(COMPONENT, user, post.room, custom_id, post.id)
        said: JsonObject = {"custom_id": custom_id, "component_type": 2, "id": 1}
        shown = message_json(self._world, post)
        await self._tell(asked, {"data": said, "message": shown})
        return asked

    async def submit(self, opened: Asked, text: str) -> Asked:
        """The person sends the form that an interaction opened; raises when it opened none."""
        if opened.answered != MODAL:
            raise DiscordRefusalError(10062)
        asked = self._note(
            SUBMIT, opened.user, opened.room, text_of(opened.form, "custom_id"), opened.message
        )
        rows: list[JsonValue] = [
            {"type": 18, "id": n, "component": {**object_of(row, "component"), "value": text}}
            for n, row in enumerate(objects_of(opened.form, "components"), 1)
        ]
        said: JsonObject = {"custom_id": asked.custom_id, "components": rows}
        post = self._world.find_post(opened.room, opened.message)
        more: JsonObject = {"message": message_json(self._world, post)} if post else {}
        await self._tell(asked, {"data": said, **more})
        return asked

    async def command(self, name: str, argument: str, user: str, room: Room) -> Asked:
        """A person uses a slash command."""
        asked = self._note(COMMAND, user, room.id)
        said: JsonObject = {"id": self._world.next_id(), "name": name, "type": 1}
        if argument:
            said["options"] = [{"name": "argument", "type": 3, "value": argument}]
        await self._tell(asked, {"data": said})
        return asked

    def _note(
        self, kind: int, user: str, room: str, custom_id: str = "", message: str = ""
    ) -> Asked:
        asked = Asked(
            self._world.next_id(), uuid.uuid4().hex * 4, kind, user, room, custom_id, message
        )
        asked.is_deaf = self.are_deaf
        self.asked[asked.token] = asked
        return asked

    async def _tell(self, asked: Asked, more: JsonObject) -> None:
        room, person = self._world.rooms[asked.room], self._world.people[asked.user]
        shown: JsonObject = {
            "id": asked.id,
            "application_id": BOT,
            "type": asked.kind,
            "token": asked.token,
            "version": 1,
            "channel_id": room.id,
            "channel": room_json(self._world, room),
            "locale": "en-US",
            "app_permissions": "2248473465835073",
            "entitlements": [],
            "authorizing_integration_owners": {},
            "attachment_size_limit": 10_485_760,
        }
        if room.kind == DIRECT:
            shown |= {"user": user_json(person), "context": 1}
        else:
            member: JsonObject = {
                **member_json(person),
                "user": user_json(person),
                "permissions": "0",
            }
            shown |= {"member": member, "guild_id": GUILD, "context": 0, "guild_locale": "en-US"}
        await self._gateway.dispatch("INTERACTION_CREATE", {**shown, **more})

    def answer(self, number: str, token: str, body: JsonObject) -> None:
        """`POST interactions/ID/TOKEN/callback`: within three seconds, and once."""
        asked = self.asked.get(token)
        if asked is None or asked.id != number:
            raise DiscordRefusalError(10062)
        if asked.answered:
            raise DiscordRefusalError(40060)
        if asked.is_deaf or time.monotonic() - asked.at > FIRST_S:
            raise DiscordRefusalError(10062)
        kind, said = int_of(body, "type"), object_of(body, "data")
        _check_kind(asked, kind)
        if kind == MODAL:
            check_form(said)
            asked.form = said
        elif kind in (SAY, UPDATE):
            check_message(said, is_edit=kind == UPDATE, is_private=True)
            asked.whispers.append(said)
        elif kind == DEFER:
            asked.whispers.append({"flags": int_of(said, "flags") & EPHEMERAL})
        asked.answered = kind

    def _alive(self, token: str) -> Asked:
        asked = self.asked.get(token)
        if asked is None or asked.is_over or time.monotonic() - asked.at > TOKEN_S:
            raise DiscordRefusalError(50027, status=401)
        if not asked.answered:
            raise DiscordRefusalError(10015)
        return asked

    def follow_up(self, token: str, body: JsonObject) -> JsonObject:
        """`POST webhooks/ID/TOKEN`."""
        asked = self._alive(token)
        check_message(body, is_private=True)
        asked.whispers.append(body)
        return {"id": self._world.next_id(), "content": text_of(body, "content"), "type": 0}

    def edit_original(self, token: str, body: JsonObject) -> JsonObject:
        """`PATCH webhooks/ID/TOKEN/messages/@original`."""
        asked = self._alive(token)
        if asked.answered not in (SAY, DEFER):
            raise DiscordRefusalError(10008)
        check_message(body, is_edit=True)
        flags = int_of(asked.whispers[0], "flags") & EPHEMERAL
        asked.whispers[0] = {**body, "flags": int_of(body, "flags") | flags}
        return {"id": asked.id, "content": text_of(body, "content"), "type": 0}


def _check_kind(asked: Asked, kind: int) -> None:
    """A form answers no form, and only what came from a message can change one."""
    allowed = {SAY, DEFER}
    if asked.kind != SUBMIT:
        allowed.add(MODAL)
    if asked.message:
        allowed |= {DEFER_UPDATE, UPDATE}
    if kind not in allowed:
        raise DiscordRefusalError(50035, detail="type: Value is not one of the allowed ones.")


def buttons_of(post: Posted) -> list[JsonObject]:
    """The buttons under a message, in order."""
    rows = objects_of(post.shown, "components")
    return [button for row in rows for button in objects_of(row, "components")]


def button_of(post: Posted, label: str) -> str:
    """The id of the button with that label; raises `DiscordRefusalError` when there is none."""
    for button in buttons_of(post):
        if text_of(button, "label") == label:
            return text_of(button, "custom_id")
    raise DiscordRefusalError(10008)


def _ids_of(post: Posted) -> list[str]:
    return [text_of(button, "custom_id") for button in buttons_of(post)]
