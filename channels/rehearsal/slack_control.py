"""The control interface of the stand-in: what people do, what goes wrong, what was counted."""

from __future__ import annotations

from typing import cast

from channels.fields import int_of, is_true, object_of, text_of
from channels.rehearsal.control import ControlRoutes, Verb
from channels.rehearsal.slack_announce import MentionOrder
from channels.rehearsal.slack_core import SlackCore
from channels.rehearsal.slack_people import people_verbs
from channels.rehearsal.slack_refusal import SlackRefusalError
from channels.rehearsal.slack_state import Posted, Room, Workspace
from geode.messages import JsonObject, JsonValue


class Control(ControlRoutes):
    """The verbs of this stand-in."""

    refusals = (SlackRefusalError,)

    def __init__(self, slack: SlackCore) -> None:
        self._slack = slack
        verbs: dict[str, Verb] = {
            "say": self._say,
            "edit": self._edit,
            "delete": self._delete,
            "unfurl": self._unfurl,
            "event": self._event,
            "envelope": self._envelope,
            "room": self._room,
            "transcript": self._transcript,
            "socket": self._socket,
            "revoke": self._revoke,
        }
        super().__init__(slack, verbs | people_verbs(slack))

    async def _say(self, asked: JsonObject) -> JsonObject:
        post = await self._slack.say(
            text_of(asked, "text"),
            user=text_of(asked, "user") or "U0ANA",
            channel=text_of(asked, "channel") if "channel" in asked else "C0GENERAL",
            thread_ts=text_of(asked, "thread_ts"),
            order=cast("MentionOrder", text_of(asked, "order") or "AB"),
            gap_s=int_of(asked, "gap_ms") / 1000,
        )
        return {"channel": post.channel, "ts": post.ts}

    async def _edit(self, asked: JsonObject) -> JsonObject:
        await self._slack.edit(
            text_of(asked, "channel"), text_of(asked, "ts"), text_of(asked, "text")
        )
        return {}

    async def _delete(self, asked: JsonObject) -> JsonObject:
        await self._slack.delete(text_of(asked, "channel"), text_of(asked, "ts"))
        return {}

    async def _unfurl(self, asked: JsonObject) -> JsonObject:
        await self._slack.unfurl(text_of(asked, "channel"), text_of(asked, "ts"))
        return {}

    async def _event(self, asked: JsonObject) -> JsonObject:
        await self._slack.send_event(object_of(asked, "event"))
        return {}

    async def _envelope(self, asked: JsonObject) -> JsonObject:
        await self._slack.hub.deliver(text_of(asked, "type"), object_of(asked, "payload"))
        return {}

    async def _room(self, asked: JsonObject) -> JsonObject:
        workspace = self._slack.workspace
        room_id = text_of(asked, "channel")
        members = set(workspace.people)
        is_mpim = is_true(asked, "is_mpim")
        workspace.add_room(Room(room_id, room_id.lower(), members, is_mpim=is_mpim))
        return {"channel": room_id}

    async def _transcript(self, asked: JsonObject) -> JsonObject:
        channel, thread_ts = text_of(asked, "channel"), text_of(asked, "thread_ts")
        workspace = self._slack.workspace
        channels = [channel] if channel else list(workspace.posts)
        messages: list[JsonValue] = [
            post_json(workspace, post)
            for name in channels
            for post in workspace.posts.get(name, [])
            if not thread_ts or thread_ts in (post.ts, post.thread_ts)
        ]
        return {"messages": messages, "ephemerals": list[JsonValue](workspace.ephemerals)}

    async def _socket(self, asked: JsonObject) -> JsonObject:
        hub = self._slack.hub
        match text_of(asked, "do"):
            case "redeliver":
                return {"count": await hub.redeliver(int_of(asked, "count", 1))}
            case "disconnect":
                reason = text_of(asked, "reason") or "refresh_requested"
                return {"count": await hub.disconnect_all(reason)}
            case "kill":
                return {"count": hub.kill_all()}
            case "deafen":
                return {"count": hub.deafen_all()}
            case "freeze":
                return {"count": hub.freeze_all()}
            case unknown:
                raise ValueError(f"unknown socket action {unknown!r}")

    async def _revoke(self, asked: JsonObject) -> JsonObject:
        self._slack.api.revoked = text_of(asked, "error")
        return {}


def post_json(workspace: Workspace, post: Posted) -> JsonObject:
    """A message with everything a test or a demo may ask about it."""
    shown = workspace.message_json(post, with_metadata=True)
    return {
        **shown,
        "channel": post.channel,
        "thread_ts": post.thread_ts,
        "author": workspace.people[post.user].name,
        "blocks": post.blocks,
        "edits": list[JsonValue](post.edits),
        "arguments": post.arguments,
        "is_deleted": post.is_deleted,
    }
