"""Tells the app what happened: which events, in which order, to which socket."""

from __future__ import annotations

import asyncio
from typing import Literal

from channels.rehearsal.slack_events import EventWriter
from channels.rehearsal.slack_socket import Envelope, SocketHub
from channels.rehearsal.slack_state import Posted, Workspace
from geode.messages import JsonObject

MentionOrder = Literal["AB", "BA", "A", "B"]
"""A is the `app_mention` envelope, B the `message` envelope of the same text."""


class Announcer:
    """Turns changes of the workspace into envelopes on the app's sockets."""

    def __init__(self, workspace: Workspace, hub: SocketHub) -> None:
        self._workspace = workspace
        self._hub = hub
        self.writer = EventWriter(workspace)

    async def event(self, event: JsonObject) -> Envelope:
        """Deliver one event in a callback of its own."""
        return await self._hub.deliver("events_api", self.writer.callback(event))

    async def posted(
        self, post: Posted, *, order: MentionOrder = "AB", gap_s: float = 0.0
    ) -> list[Envelope]:
        """Deliver what a new message causes: two events for a mention in a channel, else one."""
        room = self._workspace.rooms[post.channel]
        if self._workspace.bot_user not in room.members:
            return []
        if room.is_im or post.bot_id or not self._is_mention(post.text):
            return [await self.event(self.writer.posted(post))]
        sent: list[Envelope] = []
        for position, which in enumerate(order):
            if position and gap_s:
                await asyncio.sleep(gap_s)
            writer = self.writer.mentioned if which == "A" else self.writer.posted
            sent.append(await self.event(writer(post)))
        return sent

    def _is_mention(self, text: str) -> bool:
        bot = self._workspace.bot_user
        return f"<@{bot}>" in text or f"<@{bot}|" in text

    async def changed(self, post: Posted, old_text: str, at: str) -> Envelope:
        """Deliver a `message_changed` event."""
        return await self.event(self.writer.changed(post, old_text, at))

    async def unfurled(self, post: Posted) -> Envelope:
        """Deliver the `message_changed` event of a link preview."""
        return await self.event(self.writer.unfurled(post, self._workspace.next_ts()))

    async def deleted(self, post: Posted) -> Envelope:
        """Deliver a `message_deleted` event."""
        return await self.event(self.writer.deleted(post, self._workspace.next_ts()))

    async def reacted(self, post: Posted, user: str, name: str, *, is_added: bool) -> Envelope:
        """Deliver a reaction event."""
        return await self.event(self.writer.reacted(post, user, name, is_added=is_added))
