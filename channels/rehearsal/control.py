"""The control interface of every stand-in: verbs over HTTP, for loopback only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar, TypeAlias

import orjson
from aiohttp import web

from channels.fields import to_object
from channels.rehearsal.faults import fault_from_json
from channels.rehearsal.stand_in import StandIn
from geode.messages import JsonObject

Verb: TypeAlias = "Callable[[JsonObject], JsonObject | Awaitable[JsonObject]]"


class ControlRoutes:
    """`POST /control/<verb>` with one JSON object in and one out; counters and faults included."""

    refusals: ClassVar[tuple[type[Exception], ...]] = ()
    """The platform's own refusals, told as a refused verb."""

    def __init__(self, stand_in: StandIn, verbs: Mapping[str, Verb]) -> None:
        self._stand_in = stand_in
        self._verbs: dict[str, Verb] = {
            "counters": lambda asked: stand_in.counters(),
            "fault": self._fault,
            "clear_faults": self._clear_faults,
            **verbs,
        }

    def add_routes(self, app: web.Application) -> None:
        """Answer below /control."""
        app.router.add_post("/control/{verb}", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        verb = self._verbs.get(request.match_info["verb"])
        if verb is None:
            return web.json_response({"error": "unknown verb"}, status=404)
        if request.host.rpartition(":")[0] not in ("127.0.0.1", "localhost"):
            return web.json_response({"error": "loopback only"}, status=403)
        try:
            answer = verb(to_object(orjson.loads(await request.read() or b"{}")))
            return web.json_response(answer if isinstance(answer, dict) else await answer)
        except (*self.refusals, ValueError, KeyError) as error:
            return web.json_response({"error": str(error)}, status=400)

    def _fault(self, asked: JsonObject) -> JsonObject:
        self._stand_in.faults.set(fault_from_json(asked))
        return {}

    def _clear_faults(self, asked: JsonObject) -> JsonObject:
        self._stand_in.faults.clear()
        return {}
