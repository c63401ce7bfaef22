"""The REST API of the stand-in: token, content type and faults in front of every call."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

import orjson
from aiohttp import web

from channels.fields import objects_of, text_of, to_object
from channels.rehearsal.discord_methods import Call, Methods, Uploaded
from channels.rehearsal.discord_refusal import DiscordRefusalError
from channels.rehearsal.faults import FaultKind, Faults
from channels.rehearsal.observers import Heard, tell
from channels.rehearsal.stand_in import cut_connection
from geode.messages import JsonObject, JsonValue

JSON_TYPE = "application/json"
BUCKET_LIMIT = 50


@dataclass(frozen=True, slots=True)
class Route:
    """One address of the API, the name that faults know it by, and what it does."""

    name: str
    method: str
    path: re.Pattern[str]
    run: Callable[[Call], Awaitable[JsonValue]]
    status: int = 200


def routes_of(methods: Methods) -> list[Route]:
    """Every call this stand-in answers; any other is 404."""

    def route(
        name: str, address: str, run: Callable[[Call], Awaitable[JsonValue]], status: int = 200
    ) -> Route:
        method, _, path = address.partition(" ")
        return Route(name, method, re.compile(path.replace("ID", "([^/]+)")), run, status)

    message = "channels/ID/messages/ID"
    mark = f"{message}/reactions/ID/@me"
    return [
        route("me.read", "GET users/@me", methods.read_me),
        route("guilds.list", "GET users/@me/guilds", methods.list_guilds),
        route("application.read", "GET oauth2/applications/@me", methods.read_application),
        route("channel.read", "GET channels/ID", methods.read_room),
        route("threads.active", "GET guilds/ID/threads/active", methods.read_active_threads),
        route("channels.list", "GET guilds/ID/channels", methods.list_channels),
        route("members.list", "GET guilds/ID/members", methods.list_members),
        route("message.list", "GET channels/ID/messages", methods.list_messages),
        route("message.read", f"GET {message}", methods.read_message),
        route("message.create", "POST channels/ID/messages", methods.create_message),
        route("message.edit", f"PATCH {message}", methods.edit_message),
        route("thread.create", f"POST {message}/threads", methods.open_thread, 201),
        route("channel.edit", "PATCH channels/ID", methods.change_room),
        route("direct.open", "POST users/@me/channels", methods.open_direct),
        route("commands.list", "GET applications/ID/commands", methods.list_commands),
        route("commands.put", "PUT applications/ID/commands", methods.register_commands),
        route("interaction", "POST interactions/ID/ID/callback", methods.answer_interaction, 204),
        route("followup.create", "POST webhooks/ID/ID", methods.follow_up),
        route("followup.edit", "PATCH webhooks/ID/ID/messages/@original", methods.edit_original),
        route("typing", "POST channels/ID/typing", methods.type_on, 204),
        route("reaction.add", f"PUT {mark}", methods.add_reaction, 204),
        route("reaction.remove", f"DELETE {mark}", methods.remove_reaction, 204),
    ]


class RestApi:
    """Answers `/api/v10/…` as Discord does and counts what it refuses."""

    def __init__(self, faults: Faults, methods: Methods, token: str) -> None:
        self._faults = faults
        self._routes = routes_of(methods)
        self._rooms = methods.rooms
        self.token = token
        self.calls: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.log: list[JsonObject] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One call: find its route, check, apply faults, run, answer."""
        route, pieces = self._find(request.method, request.match_info["path"])
        name = route.name if route else "unknown"
        self.calls[name] += 1
        try:
            call = await self._read(request, pieces)
            _tell(request, call)
            self.log.append({"name": name, "path": list[JsonValue](pieces), "body": call.body})
            if early := self._early_fault(request, name, call):
                return early
            self._check_permission(name, call)
            answer = await _run(route, call)
        except DiscordRefusalError as refusal:
            self.refused[str(refusal.code)] += 1
            return _answer(refusal.body, refusal.status)
        if late := await self._late_fault(request, name, call):
            return late
        return _answer(answer, route.status if route else 404)

    def _check_permission(self, name: str, call: Call) -> None:
        room = self._rooms.get(call.path[0]) if call.path else None
        if room is not None and name in room.denied:
            raise DiscordRefusalError(50013)

    def _find(self, method: str, path: str) -> tuple[Route | None, tuple[str, ...]]:
        for route in self._routes:
            found = route.path.fullmatch(path)
            if found and route.method == method:
                return route, found.groups()
        return None, ()

    async def _read(self, request: web.Request, pieces: tuple[str, ...]) -> Call:
        if request.headers.get("Authorization") != f"Bot {self.token}":
            raise DiscordRefusalError(0, status=401)
        query: JsonObject = dict(request.query.items())
        if request.content_type == "multipart/form-data":
            body, files = await _read_form(request)
            return Call(pieces, query, body, files)
        raw = await request.read()
        if raw and request.headers.get("Content-Type") != JSON_TYPE:
            raise DiscordRefusalError(50109)
        said = _decode(raw or b"{}")
        if isinstance(said, list):
            listed = [to_object(one) for one in cast("list[object]", said)]
            return Call(pieces, query, listed=tuple(listed))
        return Call(pieces, query, to_object(said))

    def _early_fault(self, request: web.Request, name: str, call: Call) -> web.Response | None:
        text = text_of(call.body, "content")
        if self._faults.take(FaultKind.DROP_REQUEST, name, text):
            cut_connection(request)
            return web.Response(status=500)
        if fault := self._faults.take(FaultKind.RATE_LIMITED, name, text):
            self.refused["429"] += 1
            return _limited(float(fault.retry_after_s))
        if fault := self._faults.take(FaultKind.SERVER_ERROR, name, text):
            self.refused[str(fault.status)] += 1
            return web.Response(status=fault.status, text="upstream failure")
        if fault := self._faults.take(FaultKind.ERROR, name, text):
            raise DiscordRefusalError(int(fault.error))
        return None

    async def _late_fault(self, request: web.Request, name: str, call: Call) -> web.Response | None:
        text = text_of(call.body, "content")
        if fault := self._faults.take(FaultKind.SLOW_RESPONSE, name, text):
            await asyncio.sleep(fault.delay_s)
        if self._faults.take(FaultKind.DROP_RESPONSE, name, text):
            cut_connection(request)
            return web.Response(status=500)
        return None


async def _read_form(request: web.Request) -> tuple[JsonObject, tuple[Uploaded, ...]]:
    body: JsonObject = {}
    files: list[Uploaded] = []
    form = await request.post()
    for name, value in form.items():
        if name == "payload_json" and isinstance(value, str):
            body = to_object(_decode(value.encode()))
        elif name.startswith("files[") and isinstance(value, web.FileField):
            files.append(Uploaded(value.filename, value.content_type, value.file.read()))
        else:
            raise DiscordRefusalError(50109)
    if len(objects_of(body, "attachments")) != len(files):
        raise DiscordRefusalError(50035, detail="attachments: Each file must be named once.")
    return body, tuple(files)


def _decode(raw: bytes) -> object:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise DiscordRefusalError(50109) from error


def _tell(request: web.Request, call: Call) -> None:
    address = f"{request.method} /{request.match_info['path']}"
    body: JsonValue = list[JsonValue](call.listed) or call.body or None
    tell(Heard("discord", address, body, call.query))


async def _run(route: Route | None, call: Call) -> JsonValue:
    if route is None:
        raise DiscordRefusalError(0, status=404)
    return await route.run(call)


def _limited(retry_after_s: float) -> web.Response:
    """429 with `Via`: without it the client believes that a firewall banned it."""
    body: JsonObject = {
        "message": "You are being rate limited.",
        "retry_after": retry_after_s,
        "global": False,
    }
    extra = {
        "Retry-After": str(int(retry_after_s)),
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Scope": "user",
    }
    return _answer(body, 429, extra)


def _answer(body: JsonValue, status: int, extra: dict[str, str] | None = None) -> web.Response:
    """The content type is exactly `application/json`, as on the real wire."""
    headers = {
        "X-RateLimit-Bucket": "rehearsal",
        "X-RateLimit-Limit": str(BUCKET_LIMIT),
        "X-RateLimit-Remaining": str(BUCKET_LIMIT - 1),
        "X-RateLimit-Reset": f"{time.time_ns() / 1e9 + 1:.3f}",
        "X-RateLimit-Reset-After": "1.000",
        "Via": "1.1 google",
        **(extra or {}),
    }
    if status == 204:
        return web.Response(status=status, headers=headers)
    headers["Content-Type"] = JSON_TYPE
    return web.Response(body=orjson.dumps(body), status=status, headers=headers)
