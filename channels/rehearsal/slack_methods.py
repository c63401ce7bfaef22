"""What each Web API method of the stand-in does to the workspace."""

from __future__ import annotations

from channels.fields import is_true, list_of, objects_of, text_of, to_object
from channels.rehearsal.slack_announce import Announcer
from channels.rehearsal.slack_refusal import SlackRefusalError, find_post, find_room, refuse
from channels.rehearsal.slack_rules import TEXT_CHARS_ADVISED, TEXT_CHARS_MAX, check_message
from channels.rehearsal.slack_state import Posted, Room, Workspace, is_ts
from geode.messages import JsonObject

SESSION_STATES = frozenset({"processing", "active", "suspended", "closed"})


class WriteMethods:
    """The methods that change the workspace; each tells the app what happened."""

    def __init__(self, workspace: Workspace, announcer: Announcer) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self.advised_against = 0
        """Posts with more text than Slack advises."""
        self.takes_plans = True
        """Whether the workspace knows the blocks of an agent's plan."""
        self.statuses: list[JsonObject] = []
        """Every working state that was set, oldest first."""

    async def post(self, call: JsonObject) -> JsonObject:
        """chat.postMessage."""
        room = find_room(self._workspace, call)
        self._check(call)
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

    def _check(self, call: JsonObject, *, is_update: bool = False) -> None:
        kinds = [text_of(block, "type") for block in objects_of(call, "blocks")]
        if not self.takes_plans and {"plan", "task_card"} & set(kinds):
            raise SlackRefusalError("invalid_blocks")
        refuse(check_message(call, is_update=is_update))

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
        self._check(call, is_update=True)
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

    async def set_session(self, call: JsonObject) -> JsonObject:
        """agents.sessions.setStatus: one of four words, and nothing else."""
        if text_of(call, "status") not in SESSION_STATES:
            raise SlackRefusalError("invalid_arguments")
        return self._set_status(call, "agents.sessions.setStatus")

    async def set_assistant(self, call: JsonObject) -> JsonObject:
        """assistant.threads.setStatus: any text; an empty one takes it away."""
        if not isinstance(call.get("status"), str):
            raise SlackRefusalError("invalid_arguments")
        return self._set_status(call, "assistant.threads.setStatus")

    def _set_status(self, call: JsonObject, method: str) -> JsonObject:
        room = find_room(self._workspace, call | {"channel": text_of(call, "channel_id")})
        if self._workspace.find_post(room.id, text_of(call, "thread_ts")) is None:
            raise SlackRefusalError("thread_not_found")
        self.statuses.append(call | {"method": method})
        return {"status": text_of(call, "status")}

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
