"""The Bot API of the stand-in: tokens, faults and strict fields in front of every method."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import orjson
from aiohttp import web

from channels.fields import text_of
from channels.rehearsal.faults import Fault, FaultKind, Faults
from channels.rehearsal.observers import Heard, tell
from channels.rehearsal.stand_in import cut_connection
from channels.rehearsal.telegram_rules import METHODS, read_call
from channels.rehearsal.telegram_state import BOT_TOKEN
from geode.messages import JsonObject, JsonValue

Method = Callable[[JsonObject], Awaitable[JsonValue]]
FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data"


class TelegramRefusalError(Exception):
    """The call is refused with one of Telegram's descriptions."""

    def __init__(self, description: str, **parameters: JsonValue) -> None:
        super().__init__(description)
        self.description = description
        self.parameters: JsonObject = dict(parameters)

    @property
    def code(self) -> int:
        """The status that goes with the description's first words."""
        kind = self.description.partition(":")[0]
        return next((s.value for s in HTTPStatus if s.phrase == kind), HTTPStatus.BAD_REQUEST)


class BotApi:
    """Answers `/bot<token>/<method>` as Telegram does and counts what it refuses."""

    def __init__(self, faults: Faults, methods: dict[str, Method], files: dict[str, bytes]) -> None:
        self._faults = faults
        self._files = files
        self._methods = methods
        self.token = BOT_TOKEN
        self.calls: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.log: list[JsonObject] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One call: read, note, apply faults, check, run, answer."""
        method = request.match_info["method"]
        self.calls[method] += 1
        try:
            call = await self._read(request, method)
            if (cut := await self._fault_before(request, method, call)) is not None:
                return cut
            result = await self._methods[method](call)
        except TelegramRefusalError as refusal:
            return self._refuse(refusal)
        return await self._answer(request, method, call, result)

    async def _read(self, request: web.Request, method: str) -> JsonObject:
        if request.match_info["token"] != self.token:
            raise TelegramRefusalError("Unauthorized")
        form: dict[str, str] = dict(request.query)
        files: JsonObject = {}
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                files[name] = self._keep(value)
            else:
                form[name] = str(value)
        tell(Heard("telegram", method, {**form, **files}))
        if method not in METHODS:
            raise TelegramRefusalError("Not Found: method not found")
        if request.can_read_body and request.content_type not in (FORM, PARTS):
            raise TelegramRefusalError("Bad Request: the stand-in takes forms only")
        call = read_call(method, form, files)
        if isinstance(call, str):
            raise TelegramRefusalError(call)
        self.log.append({"method": method, "arguments": call})
        return call

    def _keep(self, field: web.FileField) -> JsonObject:
        content = field.file.read()
        file_id = hashlib.sha256(content).hexdigest()[:20]
        self._files[file_id] = content
        return {"file_id": file_id, "name": field.filename, "size": len(content)}

    async def serve_file(self, request: web.Request) -> web.StreamResponse:
        """The bytes of a file by the path that getFile gave."""
        file_id = request.match_info["path"].removeprefix("files/")
        self.calls["file"] += 1
        if request.match_info["token"] != self.token or file_id not in self._files:
            return web.Response(status=404, text="Not Found")
        call: JsonObject = {}
        if self._take(FaultKind.DROP_REQUEST, "file", call):
            cut_connection(request)
        if fault := self._take(FaultKind.SERVER_ERROR, "file", call):
            return web.Response(status=fault.status)
        return web.Response(body=self._files[file_id])

    def _take(self, kind: FaultKind, method: str, call: JsonObject) -> Fault | None:
        return self._faults.take(kind, method, text_of(call, "text"), str(call.get("chat_id", "")))

    async def _fault_before(
        self, request: web.Request, method: str, call: JsonObject
    ) -> web.StreamResponse | None:
        if self._take(FaultKind.DROP_REQUEST, method, call):
            cut_connection(request)
            return web.Response(status=500)
        if fault := self._take(FaultKind.RATE_LIMITED, method, call):
            seconds = fault.retry_after_s
            words = f"Too Many Requests: retry after {seconds}"
            raise TelegramRefusalError(words, retry_after=seconds)
        if fault := self._take(FaultKind.SERVER_ERROR, method, call):
            self.refused[f"HTTP {fault.status}"] += 1
            return web.Response(status=fault.status, text="<html>upstream failure</html>")
        if fault := self._take(FaultKind.ERROR, method, call):
            raise TelegramRefusalError(fault.error)
        return None

    def _refuse(self, refusal: TelegramRefusalError) -> web.Response:
        self.refused[refusal.description] += 1
        answer: JsonObject = {
            "ok": False,
            "error_code": refusal.code,
            "description": refusal.description,
        }
        if refusal.parameters:
            answer["parameters"] = refusal.parameters
        return web.json_response(answer, status=refusal.code)

    async def _answer(
        self, request: web.Request, method: str, call: JsonObject, result: JsonValue
    ) -> web.StreamResponse:
        if fault := self._take(FaultKind.SLOW_RESPONSE, method, call):
            await asyncio.sleep(fault.delay_s)
        if self._take(FaultKind.DROP_RESPONSE, method, call):
            cut_connection(request)
            return web.Response(status=500)
        body = orjson.dumps({"ok": True, "result": result})
        return web.Response(body=body, content_type="application/json")
