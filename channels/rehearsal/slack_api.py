"""The Web API of the stand-in: tokens, faults and refusals in front of every method."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson
from aiohttp import web

from channels.fields import text_of, to_object
from channels.rehearsal.faults import FaultKind, Faults
from channels.rehearsal.observers import Heard, tell
from channels.rehearsal.slack_refusal import SlackRefusalError
from channels.rehearsal.slack_rules import missing_fields
from channels.rehearsal.slack_state import APP_TOKEN, BOT_TOKEN
from channels.rehearsal.stand_in import cut_connection
from geode.messages import JsonObject, JsonValue

NESTED = ("blocks", "metadata", "attachments", "view")
"""Arguments that a form carries as JSON text."""

SCOPES = (
    *("app_mentions:read", "assistant:write", "channels:history", "channels:read"),
    *("chat:write", "commands", "files:read", "files:write", "groups:history", "groups:read"),
    *("im:history", "im:read", "metadata.message:read", "mpim:history", "reactions:write"),
    "users:read",
)

Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Method:
    """One Web API method: which kind of token it takes, what it must be given, what it does."""

    run: Callable[[JsonObject], Awaitable[JsonObject]]
    required: tuple[str, ...] = ()
    kind: str = "xoxb-"
    """What the token must begin with."""
    scopes: Callable[[JsonObject], tuple[str, ...]] = lambda call: ()
    """What the token must be allowed for this call."""


class WebApi:
    """Answers `/api/<method>` as Slack does and counts what it refuses."""

    def __init__(self, faults: Faults, methods: dict[str, Method]) -> None:
        self._faults = faults
        self._methods = methods
        self.tokens = {BOT_TOKEN, APP_TOKEN}
        self.revoked = ""
        """When set, the error code every token gets, as after a revocation."""
        self.scopes = list(SCOPES)
        """What the bot token may do."""
        self.calls: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.log: list[JsonObject] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One call: read, note, apply faults, check, run, answer."""
        method = request.match_info["method"]
        call = await _read_arguments(request)
        token = _read_token(request, call)
        self.calls[method] += 1
        tell(Heard("slack", method, call))
        self.log.append({"method": method, "arguments": call})
        early = await self._early_fault(request, method, call)
        if early is not None:
            return early
        try:
            answer: JsonObject = {"ok": True} | await self._run(method, call, token)
        except SlackRefusalError as refusal:
            self.refused[refusal.code] += 1
            answer = {"ok": False, "error": refusal.code} | refusal.fields
        return await self._answer(request, method, call, answer)

    def guarded(self, name: str, serve: Serve) -> Serve:
        """An address outside the Web API under the same faults; `name` stands for a method."""

        async def run(request: web.Request) -> web.StreamResponse:
            self.calls[name] += 1
            early = await self._early_fault(request, name, {})
            if early is not None:
                return early
            answer = await serve(request)
            if fault := self._faults.take(FaultKind.SLOW_RESPONSE, name):
                await asyncio.sleep(fault.delay_s)
            if self._faults.take(FaultKind.DROP_RESPONSE, name):
                cut_connection(request)
            return answer

        return run

    async def _run(self, name: str, call: JsonObject, token: str) -> JsonObject:
        method = self._methods.get(name)
        if method is None:
            raise SlackRefusalError("unknown_method", req_method=name)
        self._check_token(method, token)
        missing = missing_fields(call, method.required)
        if missing:
            notes: list[JsonValue] = [f"[ERROR] missing required field: {m}" for m in missing]
            raise SlackRefusalError("invalid_arguments", response_metadata={"messages": notes})
        self._check_scopes(method.scopes(call))
        return await method.run(call)

    def _check_scopes(self, needed: tuple[str, ...]) -> None:
        if set(needed) - set(self.scopes):
            provided = ",".join(self.scopes)
            raise SlackRefusalError("missing_scope", needed=",".join(needed), provided=provided)

    def _check_token(self, method: Method, token: str) -> None:
        if not token:
            raise SlackRefusalError("not_authed")
        if self.revoked:
            raise SlackRefusalError(self.revoked)
        if token not in self.tokens:
            raise SlackRefusalError("invalid_auth")
        if not token.startswith(method.kind):
            raise SlackRefusalError("not_allowed_token_type")

    async def _early_fault(
        self, request: web.Request, method: str, call: JsonObject
    ) -> web.StreamResponse | None:
        text = text_of(call, "text")
        if self._faults.take(FaultKind.DROP_REQUEST, method, text):
            cut_connection(request)
            return web.Response(status=500)
        if fault := self._faults.take(FaultKind.RATE_LIMITED, method, text):
            self.refused["ratelimited"] += 1
            headers = {"Retry-After": str(fault.retry_after_s)}
            return web.json_response(
                {"ok": False, "error": "ratelimited"}, status=429, headers=headers
            )
        if fault := self._faults.take(FaultKind.SERVER_ERROR, method, text):
            self.refused["server_error"] += 1
            return web.Response(status=fault.status, text="upstream failure")
        if fault := self._faults.take(FaultKind.ERROR, method, text):
            self.refused[fault.error] += 1
            return web.json_response({"ok": False, "error": fault.error})
        return None

    async def _answer(
        self, request: web.Request, method: str, call: JsonObject, answer: JsonObject
    ) -> web.StreamResponse:
        text = text_of(call, "text")
        if fault := self._faults.take(FaultKind.SLOW_RESPONSE, method, text):
            await asyncio.sleep(fault.delay_s)
        if self._faults.take(FaultKind.DROP_RESPONSE, method, text):
            cut_connection(request)
            return web.Response(status=500)
        headers = {"x-oauth-scopes": ",".join(self.scopes)}
        return web.json_response(answer, headers=headers)


async def _read_arguments(request: web.Request) -> JsonObject:
    call: JsonObject = dict(request.query.items())
    if request.content_type == "application/json":
        return call | to_object(orjson.loads(await request.read() or b"{}"))
    form = await request.post()
    call |= {name: value for name, value in form.items() if isinstance(value, str)}
    for name in NESTED:
        value = call.get(name)
        if isinstance(value, str):
            call[name] = _decoded(value)
    return call


def _decoded(text: str) -> JsonValue:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _read_token(request: web.Request, call: JsonObject) -> str:
    header = request.headers.get("Authorization", "")
    in_body = call.pop("token", "")
    return header.removeprefix("Bearer ") or (in_body if isinstance(in_body, str) else "")
