"""What each Web API method of the stand-in does to the workspace."""

from __future__ import annotations

from channels.fields import is_true, list_of, text_of, to_object
from channels.rehearsal.slack_announce import Announcer
from channels.rehearsal.slack_api import Method
from channels.rehearsal.slack_reads import ReadMethods
from channels.rehearsal.slack_refusal import SlackRefusalError, find_post, find_room, refuse
from channels.rehearsal.slack_rules import TEXT_CHARS_ADVISED, TEXT_CHARS_MAX, check_message
from channels.rehearsal.slack_state import Posted, Room, Workspace, is_ts
from geode.messages import JsonObject


class WriteMethods:
    """The methods that change the workspace; each tells the app what happened."""

    def __init__(self, workspace: Workspace, announcer: Announcer) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self.advised_against = 0
        """Posts with more text than Slack advises."""

    async def post(self, call: JsonObject) -> JsonObject:
        """chat.postMessage."""
        room = find_room(self._workspace, call)
        refuse(check_message(call))
        text = text_of(call, "text")
        if len(text) > TEXT_CHARS_ADVISED:
            self.advised_against += 1
        post = self._workspace.add_post(
            Posted(
                channel=room.id,
                ts=self._workspace.next_ts(),
                user=self._workspace.bot_user,
                bot_id=self._workspace.bot_id,
                text=text[:TEXT_CHARS_MAX],
                thread_ts=self._root_of(room, call),
                blocks=list_of(call, "blocks"),
                metadata=to_object(call.get("metadata")),
                subtype="thread_broadcast" if is_true(call, "reply_broadcast") else "",
                arguments=call,
            )
        )
        await self._announcer.posted(post)
        return self._posted(post)

    def _root_of(self, room: Room, call: JsonObject) -> str:
        thread_ts = call.get("thread_ts")
        if thread_ts in (None, ""):
            return ""
        if not is_ts(thread_ts):
            raise SlackRefusalError("invalid_thread_ts")
        root = self._workspace.find_post(room.id, str(thread_ts))
        if root is None:
            raise SlackRefusalError("thread_not_found")
        if root.is_reply:
            # Slack would silently open a second thread here; a stand-in must show the mistake.
            raise SlackRefusalError("invalid_thread_ts")
        return root.ts

    async def update(self, call: JsonObject) -> JsonObject:
        """chat.update; metadata that is not named stays."""
        room = find_room(self._workspace, call)
        post = find_post(self._workspace, room, text_of(call, "ts"))
        if post.user != self._workspace.bot_user:
            raise SlackRefusalError("cant_update_message")
        refuse(check_message(call, is_update=True))
        at, old = self._workspace.next_ts(), post.text
        post.edits.append({"ts": at, "text": post.text, "blocks": post.blocks})
        post.text, post.blocks = text_of(call, "text"), list_of(call, "blocks")
        if "metadata" in call:
            post.metadata = to_object(call["metadata"])
        await self._announcer.changed(post, old, at)
        return self._posted(post)

    async def delete(self, call: JsonObject) -> JsonObject:
        """chat.delete."""
        room = find_room(self._workspace, call)
        post = find_post(self._workspace, room, text_of(call, "ts"))
        if post.user != self._workspace.bot_user:
            raise SlackRefusalError("cant_delete_message")
        post.is_deleted = True
        await self._announcer.deleted(post)
        return {"channel": room.id, "ts": post.ts}

    async def post_ephemeral(self, call: JsonObject) -> JsonObject:
        """chat.postEphemeral."""
        room = find_room(self._workspace, call)
        refuse(check_message(call))
        if text_of(call, "user") not in room.members:
            raise SlackRefusalError("user_not_in_channel")
        ts = self._workspace.next_ts()
        self._workspace.ephemerals.append(call | {"message_ts": ts})
        return {"message_ts": ts}

    async def add_reaction(self, call: JsonObject) -> JsonObject:
        """reactions.add."""
        post, users, name = self._reaction(call)
        if self._workspace.bot_user in users:
            raise SlackRefusalError("already_reacted")
        post.reactions.setdefault(name, users).append(self._workspace.bot_user)
        await self._announcer.reacted(post, self._workspace.bot_user, name, is_added=True)
        return {}

    async def remove_reaction(self, call: JsonObject) -> JsonObject:
        """reactions.remove."""
        post, users, name = self._reaction(call)
        if self._workspace.bot_user not in users:
            raise SlackRefusalError("no_reaction")
        users.remove(self._workspace.bot_user)
        if not users:
            post.reactions.pop(name, None)
        await self._announcer.reacted(post, self._workspace.bot_user, name, is_added=False)
        return {}

    def _reaction(self, call: JsonObject) -> tuple[Posted, list[str], str]:
        room = find_room(self._workspace, call)
        post = find_post(self._workspace, room, text_of(call, "timestamp"))
        name = text_of(call, "name")
        if not name.replace("_", "").replace("-", "").isalnum():
            raise SlackRefusalError("invalid_name")
        return post, post.reactions.get(name, []), name

    def _posted(self, post: Posted) -> JsonObject:
        message = self._workspace.message_json(post, with_metadata=True)
        return {"channel": post.channel, "ts": post.ts, "text": post.text, "message": message}


def web_api_methods(
    reads: ReadMethods, writes: WriteMethods, open_socket: Method
) -> dict[str, Method]:
    """Every method the stand-in knows, by Slack's own name; any other is unknown."""
    return {
        "apps.connections.open": open_socket,
        "auth.test": Method(reads.auth_test),
        "chat.postMessage": Method(writes.post, ("channel",)),
        "chat.update": Method(writes.update, ("channel", "ts")),
        "chat.delete": Method(writes.delete, ("channel", "ts")),
        "chat.postEphemeral": Method(writes.post_ephemeral, ("channel", "user")),
        "chat.getPermalink": Method(reads.permalink, ("channel", "message_ts")),
        "conversations.history": Method(reads.history, ("channel",)),
        "conversations.replies": Method(reads.replies, ("channel", "ts")),
        "conversations.info": Method(reads.room, ("channel",)),
        "conversations.list": Method(reads.rooms),
        "conversations.open": Method(reads.open_direct, ("users",)),
        "conversations.members": Method(reads.members, ("channel",)),
        "reactions.add": Method(writes.add_reaction, ("channel", "timestamp", "name")),
        "reactions.remove": Method(writes.remove_reaction, ("channel", "timestamp", "name")),
        "users.info": Method(reads.person, ("user",)),
    }
