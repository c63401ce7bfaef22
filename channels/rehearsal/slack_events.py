"""The events Slack sends for what happens in a workspace, in Slack's own shapes."""

from __future__ import annotations

from itertools import count

from channels.rehearsal.slack_state import Posted, Workspace
from geode.messages import JsonObject, JsonValue


class EventWriter:
    """Wraps what happened into event callbacks, each with an id of its own."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._numbers = count(1)

    def callback(self, event: JsonObject) -> JsonObject:
        """One event callback as Slack posts it; the event id is new every time."""
        workspace = self._workspace
        return {
            "token": "rehearsal",
            "team_id": workspace.team_id,
            "context_team_id": workspace.team_id,
            "api_app_id": workspace.app_id,
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev{next(self._numbers):08d}",
            "event_time": _seconds(event),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": workspace.team_id,
                    "user_id": workspace.bot_user,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
            "event_context": "4-rehearsal",
        }

    def posted(self, post: Posted) -> JsonObject:
        """A `message` event: what every member's app hears, the bot's own posts included."""
        event = self._message(post)
        event |= {
            "channel_type": self._workspace.rooms[post.channel].channel_type,
            "event_ts": post.ts,
        }
        return event

    def mentioned(self, post: Posted) -> JsonObject:
        """The second event of a mention: same message and time stamp, another event id."""
        event = self._message(post)
        event |= {"type": "app_mention", "event_ts": post.ts}
        return event

    def changed(self, post: Posted, old_text: str, at: str) -> JsonObject:
        """A `message_changed` event: no author at the top, the message inside."""
        old = self._message(post) | {"text": old_text}
        edited: JsonObject = {"user": post.user, "ts": at}
        return {
            **self._hidden(post, "message_changed", at),
            "message": {**self._message(post), "edited": edited},
            "previous_message": old,
        }

    def unfurled(self, post: Posted, at: str) -> JsonObject:
        """A `message_changed` event in which only a link preview was added."""
        preview: JsonObject = {"attachments": [{"id": 1, "title": "preview"}]}
        return {
            **self._hidden(post, "message_changed", at),
            "message": {**self._message(post), **preview},
            "previous_message": self._message(post),
        }

    def deleted(self, post: Posted, at: str) -> JsonObject:
        """A `message_deleted` event."""
        return {
            **self._hidden(post, "message_deleted", at),
            "deleted_ts": post.ts,
            "previous_message": self._message(post),
        }

    def reacted(self, post: Posted, user: str, name: str, *, is_added: bool) -> JsonObject:
        """A reaction event on one message."""
        return {
            "type": "reaction_added" if is_added else "reaction_removed",
            "user": user,
            "reaction": name,
            "item": {"type": "message", "channel": post.channel, "ts": post.ts},
            "item_user": post.user,
            "event_ts": self._workspace.next_ts(),
        }

    def stopped(self, post: Posted, user: str) -> JsonObject:
        """The stop button of a thread whose session is processing."""
        return {
            "type": "agent_session_stopped",
            "user": user,
            "channel": post.channel,
            "thread_ts": post.thread_ts or post.ts,
            "streaming_message_ts": [],
            "event_ts": self._workspace.next_ts(),
        }

    def _hidden(self, post: Posted, subtype: str, at: str) -> JsonObject:
        return {
            "type": "message",
            "subtype": subtype,
            "hidden": True,
            "channel": post.channel,
            "channel_type": self._workspace.rooms[post.channel].channel_type,
            "ts": at,
            "event_ts": at,
        }

    def _message(self, post: Posted) -> JsonObject:
        event: JsonObject = {
            "type": "message",
            "user": post.user,
            "text": post.text,
            "ts": post.ts,
            "team": self._workspace.team_id,
            "channel": post.channel,
        }
        if post.subtype:
            event["subtype"] = post.subtype
        if post.files:
            event["files"] = list[JsonValue](post.files)
        if post.thread_ts or self._workspace.replies(post.channel, post.ts):
            event["thread_ts"] = post.thread_ts or post.ts
        if post.bot_id:
            event |= {"bot_id": post.bot_id, "app_id": self._workspace.app_id}
            event["blocks"] = post.blocks
        return event


def _seconds(event: JsonObject) -> int:
    at = event.get("event_ts")
    return int(at.partition(".")[0]) if isinstance(at, str) else 0
