"""A local model provider: the Anthropic and OpenAI APIs, scripted, recording and strict."""

from __future__ import annotations

from functools import partial

from aiohttp import web

from channels.rehearsal.model_answers import Scripted
from channels.rehearsal.model_control import ModelControl
from channels.rehearsal.model_core import ModelCore
from channels.rehearsal.model_endpoints import ENDPOINTS

BODY_BYTES_MAX = 64 << 20


class RehearsalModel(ModelCore):
    """A model provider on 127.0.0.1, for tests, and as a process of its own for others."""

    def __init__(
        self,
        *script: Scripted,
        fallback: Scripted | None = None,
        has_rules: bool = False,
        port: int = 0,
    ) -> None:
        super().__init__(*script, fallback=fallback, has_rules=has_rules)
        self.url = ""
        """What an Anthropic client is configured with."""
        self._port = port

    @property
    def control_url(self) -> str:
        """The address of the control interface."""
        return f"{self.url}/control"

    @property
    def openai_url(self) -> str:
        """What an OpenAI client is configured with."""
        return f"{self.url}/v1"

    async def start(self) -> None:
        """Listen on loopback; a port of 0 takes a free one."""
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        for endpoint in ENDPOINTS:
            endpoint.find_broken({}, self.memory)  # loads the types before anybody waits for them
            app.router.add_post(endpoint.path, partial(self.serve, endpoint))
        ModelControl(self).add_routes(app)
        self._port = await self.listen(app, self._port)
        self.url = f"http://127.0.0.1:{self._port}"
