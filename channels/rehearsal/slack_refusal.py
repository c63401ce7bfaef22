"""Slack's refusals as one exception, and the look-ups that end in one."""

from __future__ import annotations

from channels.fields import text_of
from channels.rehearsal.slack_state import Posted, Room, Workspace
from geode.messages import JsonObject, JsonValue


class SlackRefusalError(Exception):
    """The call is refused with one of Slack's error codes."""

    def __init__(self, code: str, **fields: JsonValue) -> None:
        super().__init__(code)
        self.code = code
        self.fields: JsonObject = dict(fields)


def refuse(code: str) -> None:
    """Raise the refusal when there is a code."""
    if code:
        raise SlackRefusalError(code)


def find_room(workspace: Workspace, call: JsonObject, *, must_be_member: bool = True) -> Room:
    """The place a call names; the bot must be in it unless said otherwise."""
    room = workspace.rooms.get(text_of(call, "channel"))
    if room is None:
        raise SlackRefusalError("channel_not_found")
    if room.is_archived:
        raise SlackRefusalError("is_archived")
    if must_be_member and workspace.bot_user not in room.members:
        raise SlackRefusalError("not_in_channel")
    return room


def find_post(workspace: Workspace, room: Room, ts: str) -> Posted:
    """The living message with exactly that time stamp."""
    post = workspace.find_post(room.id, ts)
    if post is None:
        raise SlackRefusalError("message_not_found")
    return post
