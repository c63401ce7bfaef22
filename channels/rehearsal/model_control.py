"""The control interface of the model server: what it answers next, what goes wrong, what came."""

from __future__ import annotations

from collections.abc import Callable

import orjson
from aiohttp import web

from channels.fields import objects_of, to_object
from channels.rehearsal.faults import fault_from_json
from channels.rehearsal.model_answers import scripted_from_json
from channels.rehearsal.model_core import ModelCore
from geode.messages import JsonObject, JsonValue

Verb = Callable[[JsonObject], JsonObject]


class ModelControl:
    """`POST /control/<verb>` with one JSON object in and one out."""

    def __init__(self, model: ModelCore) -> None:
        self._model = model
        self._verbs: dict[str, Verb] = {
            "script": self._script,
            "requests": self._requests,
            "counters": lambda asked: self._model.counters(),
            "fault": self._fault,
            "clear_faults": self._clear_faults,
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
            asked = to_object(orjson.loads(await request.read() or b"{}"))
            return web.json_response(verb(asked))
        except (ValueError, KeyError) as error:
            return web.json_response({"error": str(error)}, status=400)

    def _script(self, asked: JsonObject) -> JsonObject:
        """Queue answers: blocks with a stop reason, or a status with a kind and a message."""
        self._model.script += [scripted_from_json(one) for one in objects_of(asked, "answers")]
        return {"waiting": len(self._model.script)}

    def _requests(self, asked: JsonObject) -> JsonObject:
        rows: list[JsonValue] = [
            {"endpoint": one.endpoint, "body": one.body} for one in self._model.requests
        ]
        return {"requests": rows}

    def _fault(self, asked: JsonObject) -> JsonObject:
        self._model.faults.set(fault_from_json(asked))
        return {}

    def _clear_faults(self, asked: JsonObject) -> JsonObject:
        self._model.faults.clear()
        return {}
