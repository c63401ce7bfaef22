"""What people do with buttons, forms and slash commands, and what Slack lets an app answer."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from channels.fields import list_of, object_of, objects_of, text_of, to_object
from channels.rehearsal.slack_refusal import SlackRefusalError, refuse
from channels.rehearsal.slack_rules import check_message, check_view
from channels.rehearsal.slack_socket import Envelope, SocketHub
from channels.rehearsal.slack_state import Posted, Room, Workspace
from geode.messages import JsonObject, JsonValue

TRIGGER_S = 3.0
RESPONSES_MAX = 5
RESPONSE_S = 1_800.0


@dataclass(slots=True)
class OpenView:
    """A form that somebody has open."""

    id: str
    user: str
    view: JsonObject
    errors: JsonObject = field(default_factory=dict[str, JsonValue])
    """What the app said about the words that were sent last."""
    is_open: bool = True


@dataclass(slots=True)
class _Address:
    user: str
    channel: str
    until: float
    left: int = RESPONSES_MAX


class Interactions:
    """Triggers, forms, response addresses: each lives for as long as Slack says."""

    def __init__(self, workspace: Workspace, hub: SocketHub, origin: Callable[[], str]) -> None:
        self._workspace = workspace
        self._hub = hub
        self._origin = origin
        self.trigger_s = TRIGGER_S
        self.views: dict[str, OpenView] = {}
        self._triggers: dict[str, tuple[str, float]] = {}
        self._addresses: dict[str, _Address] = {}

    async def press(self, post: Posted, action_id: str, user: str) -> Envelope:
        """A person presses a button that stands in a message."""
        button = find_button(post.blocks, action_id)
        room = self._workspace.rooms[post.channel]
        container: JsonObject = {
            "type": "message",
            "message_ts": post.ts,
            "channel_id": post.channel,
            "is_ephemeral": False,
        }
        if post.thread_ts:
            container["thread_ts"] = post.thread_ts
        action: JsonObject = {**button, "action_ts": self._workspace.next_ts()}
        payload: JsonObject = {
            **self._shared("block_actions", user),
            "container": container,
            "channel": {"id": room.id, "name": "directmessage" if room.is_im else room.name},
            "message": self._workspace.message_json(post),
            "state": {"values": {}},
            "response_url": self._issue_address(user, post.channel),
            "actions": [action],
        }
        return await self._hub.deliver("interactive", payload)

    async def submit(self, view_id: str, words: str) -> Envelope:
        """The person sends the words of an open form; the app's answer closes it or refuses."""
        shown = self.views[view_id]
        if not shown.is_open:
            raise SlackRefusalError("view_not_found")
        values: JsonObject = {}
        for block in objects_of(shown.view, "blocks"):
            element = object_of(block, "element")
            value: JsonObject = {"type": text_of(element, "type"), "value": words or None}
            values[text_of(block, "block_id")] = {text_of(element, "action_id"): value}
        view: JsonObject = {
            **shown.view,
            "id": shown.id,
            "team_id": self._workspace.team_id,
            "app_installed_team_id": self._workspace.team_id,
            "bot_id": self._workspace.bot_id,
            "hash": uuid.uuid4().hex[:12],
            "state": {"values": values},
        }
        payload: JsonObject = {
            **self._shared("view_submission", shown.user),
            "view": view,
            "response_urls": [],
        }
        return await self._hub.deliver(
            "interactive", payload, lambda answer: self._close(shown, answer)
        )

    def _close(self, shown: OpenView, answer: JsonObject) -> None:
        shown.errors = object_of(answer, "errors")
        shown.is_open = text_of(answer, "response_action") == "errors"

    async def slash(self, text: str, user: str, channel: str, command: str) -> Envelope:
        """A person types a slash command; Slack names no thread."""
        room = self._workspace.rooms[channel] if channel else self._workspace.direct_room(user)
        payload: JsonObject = {
            "token": "rehearsal",
            "team_id": self._workspace.team_id,
            "team_domain": "rehearsal",
            "channel_id": room.id,
            "channel_name": "directmessage" if room.is_im else room.name,
            "user_id": user,
            "user_name": self._workspace.people[user].name,
            "command": command,
            "text": text,
            "api_app_id": self._workspace.app_id,
            "is_enterprise_install": "false",
            "response_url": self._issue_address(user, room.id),
            "trigger_id": self._issue_trigger(user),
        }
        return await self._hub.deliver(
            "slash_commands", payload, lambda answer: self._show(answer, user, room)
        )

    def _show(self, answer: JsonObject, user: str, room: Room) -> None:
        if answer:
            self._workspace.ephemerals.append(
                answer | {"channel": room.id, "user": user, "by": "ack"}
            )

    def _shared(self, kind: str, user: str) -> JsonObject:
        workspace = self._workspace
        name = workspace.people[user].name
        return {
            "type": kind,
            "user": {"id": user, "username": name, "name": name, "team_id": workspace.team_id},
            "api_app_id": workspace.app_id,
            "token": "rehearsal",
            "trigger_id": self._issue_trigger(user),
            "team": {"id": workspace.team_id, "domain": "rehearsal"},
            "enterprise": None,
            "is_enterprise_install": False,
        }

    def _issue_trigger(self, user: str) -> str:
        trigger = f"{len(self._triggers) + 1}.{uuid.uuid4().hex}"
        self._triggers[trigger] = (user, _now() + self.trigger_s)
        return trigger

    def _issue_address(self, user: str, channel: str) -> str:
        token = uuid.uuid4().hex
        self._addresses[token] = _Address(user, channel, _now() + RESPONSE_S)
        return f"{self._origin()}/actions/{token}"

    async def open_view(self, call: JsonObject) -> JsonObject:
        """views.open: a trigger opens one form, within three seconds."""
        user, until = self._triggers.pop(text_of(call, "trigger_id"), ("", 0.0))
        if not user:
            raise SlackRefusalError("invalid_trigger_id")
        if _now() > until:
            raise SlackRefusalError("expired_trigger_id")
        view = to_object(call.get("view"))
        refuse(check_view(view))
        shown = OpenView(f"V{uuid.uuid4().hex[:10].upper()}", user, view)
        self.views[shown.id] = shown
        return {"view": view | {"id": shown.id, "team_id": self._workspace.team_id}}

    def respond(self, token: str, content: JsonObject) -> str:
        """A post to a response address; the error code, or an empty string."""
        address = self._addresses.get(token)
        if address is None or _now() > address.until:
            return "expired_url"
        if address.left == 0:
            return "used_url"
        if code := check_message(content):
            return code
        address.left -= 1
        self._workspace.ephemerals.append(
            content | {"channel": address.channel, "user": address.user, "by": "response_url"}
        )
        return ""


def find_button(blocks: JsonValue, action_id: str) -> JsonObject:
    """The button with that action id, or with that label; raises `KeyError` when there is none."""
    for block in blocks if isinstance(blocks, list) else []:
        for element in list_of(to_object(block), "elements"):
            button = to_object(element)
            label = text_of(object_of(button, "text"), "text")
            if action_id in (text_of(button, "action_id"), label):
                return button
    raise KeyError(f"no button {action_id!r}")


def _now() -> float:
    return asyncio.get_running_loop().time()
