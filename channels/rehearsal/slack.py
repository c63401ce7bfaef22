"""A strict local Slack: the Web API and Socket Mode over one workspace in memory."""

from __future__ import annotations

import orjson
from aiohttp import web

from channels.fields import to_object
from channels.rehearsal.observers import Heard, tell
from channels.rehearsal.slack_control import Control
from channels.rehearsal.slack_core import SlackCore


class RehearsalSlack(SlackCore):
    """A Slack on 127.0.0.1: an async context manager for tests, a process of its own for others."""

    def __init__(
        self, *, port: int = 0, ack_deadline_s: float = 3.0, team_id: str = "T0REHEARSAL"
    ) -> None:
        super().__init__(port=port, ack_deadline_s=ack_deadline_s, team_id=team_id)

    @property
    def base_url(self) -> str:
        """The Web API address to configure as `api_url`."""
        return f"{self.origin}/api/"

    @property
    def control_url(self) -> str:
        """The address of the control interface."""
        return f"{self.origin}/control"

    async def start(self) -> None:
        """Listen on loopback; a port of 0 takes a free one."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/api/{method}", self.api.serve)
        app.router.add_get("/link", self.hub.serve)
        app.router.add_post("/actions/{token}", self.api.guarded("response_url", self._respond))
        app.router.add_post("/upload/{file}", self.api.guarded("upload", self.files.take_bytes))
        app.router.add_get("/files-pri/{file}/{name}", self.api.guarded("download", self._download))
        Control(self).add_routes(app)
        self._port = await self.listen(app, self._port)

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        content = to_object(orjson.loads(await request.read() or b"{}"))
        tell(Heard("slack", "response_url", content))
        code = self.interactions.respond(request.match_info["token"], content)
        return web.Response(status=404 if code else 200, text=code or "ok")

    async def _download(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        is_known = token in self.api.tokens and not self.api.revoked
        return await self.files.give_bytes(request, is_known=is_known)

    async def stop(self) -> None:
        """Close every socket and stop listening."""
        await self.hub.close()
        await super().stop()
