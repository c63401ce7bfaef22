"""A Slack without a wire: the workspace, what people do in it, what goes wrong, what is counted."""

from __future__ import annotations

from channels.rehearsal.slack_announce import Announcer, MentionOrder
from channels.rehearsal.slack_api import Method, WebApi
from channels.rehearsal.slack_files import Files
from channels.rehearsal.slack_interactions import Interactions
from channels.rehearsal.slack_methods import WriteMethods
from channels.rehearsal.slack_reads import ReadMethods
from channels.rehearsal.slack_refusal import SlackRefusalError
from channels.rehearsal.slack_socket import Envelope, SocketHub
from channels.rehearsal.slack_state import APP_TOKEN, BOT_TOKEN, Posted, Workspace
from channels.rehearsal.slack_table import list_methods
from channels.rehearsal.stand_in import StandIn
from geode.messages import JsonObject


class SlackCore(StandIn):
    """Everything the stand-in is, except that it does not listen yet."""

    def __init__(self, *, port: int, ack_deadline_s: float, team_id: str) -> None:
        super().__init__()
        self._port = port
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.workspace = Workspace(team_id=team_id)
        self.hub = SocketHub(
            self.faults, ack_deadline_s=ack_deadline_s, app_id=self.workspace.app_id
        )
        self.announcer = Announcer(self.workspace, self.hub)
        self.writes = WriteMethods(self.workspace, self.announcer)
        self.interactions = Interactions(self.workspace, self.hub, lambda: self.origin)
        self.files = Files(self.workspace, self.announcer, lambda: self.origin)
        methods = list_methods(
            ReadMethods(self.workspace), self.writes, self.interactions, self.files
        )
        methods["apps.connections.open"] = Method(self._open_socket, kind="xapp-")
        self.api = WebApi(self.faults, methods)

    @property
    def origin(self) -> str:
        """Where the stand-in listens."""
        return f"http://127.0.0.1:{self._port}"

    async def _open_socket(self, call: JsonObject) -> JsonObject:
        ticket = self.hub.issue_ticket()
        return {
            "url": f"ws://127.0.0.1:{self._port}/link?ticket={ticket}&app_id={self.workspace.app_id}"
        }

    async def say(
        self,
        text: str,
        *,
        user: str = "U0ANA",
        channel: str = "C0GENERAL",
        thread_ts: str = "",
        order: MentionOrder = "AB",
        gap_s: float = 0.0,
    ) -> Posted:
        """A person writes; `text` is Slack's own spelling (`<@UBOT> hi`, `&lt;`).

        An empty `channel` is the person's direct message with the bot.
        """
        room = self.workspace.rooms[channel] if channel else self.workspace.direct_room(user)
        post = self.workspace.add_post(
            Posted(room.id, self.workspace.next_ts(), user, text, thread_ts=thread_ts)
        )
        await self.announcer.posted(post, order=order, gap_s=gap_s)
        return post

    async def share(
        self, name: str, content: bytes, *, text: str = "", thread_ts: str = "", **more: str
    ) -> Posted:
        """A person sends a file; `more`: its `media_type`, their `user`, the `channel`."""
        user, channel = more.get("user", "U0ANA"), more.get("channel", "C0GENERAL")
        room = self.workspace.rooms[channel] if channel else self.workspace.direct_room(user)
        file = self.files.add(name, content, user=user, media_type=more.get("media_type", ""))
        stamp = self.workspace.next_ts()
        post = Posted(room.id, stamp, user, text, thread_ts=thread_ts, subtype="file_share")
        await self.files.share(post, file)
        return post

    async def press(self, channel: str, ts: str, button: str, user: str = "U0ANA") -> Envelope:
        """A person presses a button, named by its action id or its label."""
        return await self.interactions.press(self._post(channel, ts), button, user)

    async def slash(
        self, text: str, *, user: str = "U0ANA", channel: str = "C0GENERAL"
    ) -> Envelope:
        """A person types `/geode` and a text."""
        return await self.interactions.slash(text, user, channel, "/geode")

    async def stop_session(self, channel: str, ts: str, user: str = "U0ANA") -> Envelope:
        """A person presses the stop button of a thread."""
        return await self.announcer.event(
            self.announcer.writer.stopped(self._post(channel, ts), user)
        )

    async def edit(self, channel: str, ts: str, text: str) -> Posted:
        """A person edits a message of theirs."""
        post = self._post(channel, ts)
        at, old = self.workspace.next_ts(), post.text
        post.edits.append({"ts": at, "text": old})
        post.text = text
        await self.announcer.changed(post, old, at)
        return post

    async def delete(self, channel: str, ts: str) -> None:
        """A person deletes a message of theirs."""
        post = self._post(channel, ts)
        post.is_deleted = True
        await self.announcer.deleted(post)

    async def unfurl(self, channel: str, ts: str) -> None:
        """Slack adds a link preview to a message."""
        await self.announcer.unfurled(self._post(channel, ts))

    async def send_event(self, event: JsonObject) -> Envelope:
        """Deliver any event as it is, for shapes that nothing else produces."""
        return await self.announcer.event(event)

    def _post(self, channel: str, ts: str) -> Posted:
        post = self.workspace.find_post(channel, ts)
        if post is None:
            raise SlackRefusalError("message_not_found")
        return post

    def bot_posts(self, channel: str = "C0GENERAL", thread_ts: str | None = None) -> list[Posted]:
        """What the bot said in a channel or thread and did not take back, oldest first."""
        return [
            post
            for post in self.workspace.posts.get(channel, [])
            if post.bot_id
            and not post.is_deleted
            and (thread_ts is None or post.thread_ts == thread_ts)
        ]

    def counters(self) -> JsonObject:
        """Everything counted: calls, refusals, sockets, acknowledgements, faults used."""
        return {
            "calls": dict(self.api.calls),
            "refused": dict(self.api.refused),
            "socket": dict(self.hub.counters),
            "faults_taken": dict(self.faults.taken),
            "connections_now": len(self.hub.connections),
            "unacked": sum(not envelope.is_acked for envelope in self.hub.envelopes),
            "text_over_advice": self.writes.advised_against,
        }
