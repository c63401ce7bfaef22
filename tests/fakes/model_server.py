"""A local server that speaks the Anthropic Messages API: scripted, recording and strict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

import orjson
from aiohttp import web
from fakes.model_rules import find_broken_rule, reasoning_of

API_KEY = "sk-ant-test-key"
VERSION_HEADER = "anthropic-version"


def text(value: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value}


def tool_use(name: str, arguments: dict[str, Any], call_id: str = "toolu_1") -> dict[str, Any]:
    """A tool call block with whole arguments."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def broken_tool_use(name: str, raw: str, call_id: str = "toolu_1") -> dict[str, Any]:
    """A tool call whose streamed argument text is exactly `raw`."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, "raw": raw}


def thinking(value: str, signature: str) -> dict[str, Any]:
    """A signed reasoning block."""
    return {"type": "thinking", "thinking": value, "signature": signature}


def redacted_thinking(data: str) -> dict[str, Any]:
    """An encrypted reasoning block."""
    return {"type": "redacted_thinking", "data": data}


@dataclass(frozen=True)
class Answer:
    """One answer and how its stream misbehaves."""

    blocks: list[dict[str, Any]] = field(default_factory=lambda: [text("ok")])
    stop_reason: str = "end_turn"
    usage: dict[str, int] = field(
        default_factory=lambda: {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_input_tokens": 2,
            "cache_creation_input_tokens": 3,
        }
    )
    cut_after: int | None = None
    """Events before the connection is dropped."""
    error_after: tuple[int, str] | None = None
    """Events before an `error` event of that type ends the stream."""
    has_stop: bool = True
    """False: the stream ends politely without `message_stop`."""
    piece_chars: int = 5
    split_bytes: int = 0
    """Write the stream in pieces of so many bytes instead of whole events."""
    hold: asyncio.Event | None = None
    """Wait for this event at `hold_after`."""
    hold_after: int = -1
    """Events before the wait; -1: before the status line."""


@dataclass(frozen=True)
class Failure:
    """An HTTP error instead of a stream."""

    status: int
    kind: str
    message: str = "scripted failure"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent as it is, instead of the API's error object."""


@dataclass(frozen=True)
class Recorded:
    """One request as it came in."""

    raw: bytes
    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    """Loop time."""


Scripted: TypeAlias = Answer | Failure | Callable[[dict[str, Any]], Answer | Failure]


class ModelServer:
    """Answers from its script, then with `fallback`; refuses what the real API refuses."""

    def __init__(self, *script: Scripted, fallback: Scripted | None = None) -> None:
        self.script: list[Scripted] = list(script)
        self.fallback: Scripted = fallback or Answer()
        self.requests: list[Recorded] = []
        self.received = asyncio.Event()
        """Set when the first acceptable request is in."""
        self.refusals: list[str] = []
        """The rule that each refused request broke."""
        self.url = ""
        self._sent_reasoning: dict[str, list[bytes]] = {}
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/messages", self._messages)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        refused = self._check_headers(headers)
        if refused is not None:
            return _render_failure(refused)
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return self._refuse("body: not JSON")
        at = asyncio.get_running_loop().time()
        self.requests.append(Recorded(raw, body, headers, at))
        rule = find_broken_rule(body, self._sent_reasoning)
        if rule:
            return self._refuse(rule)
        self.received.set()
        entry = self.script.pop(0) if self.script else self.fallback
        made = entry if isinstance(entry, (Answer, Failure)) else entry(body)
        if isinstance(made, Failure):
            return _render_failure(made)
        return await self._stream(request, body, made)

    def _check_headers(self, headers: dict[str, str]) -> Failure | None:
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if key != API_KEY:
            return Failure(401, "authentication_error", "invalid x-api-key")
        if VERSION_HEADER not in headers:
            return Failure(400, "invalid_request_error", "anthropic-version: header is required")
        return None

    def _refuse(self, rule: str) -> web.Response:
        self.refusals.append(rule)
        return _render_failure(Failure(400, "invalid_request_error", rule))

    async def _stream(
        self, request: web.Request, body: dict[str, Any], answer: Answer
    ) -> web.StreamResponse:
        for block in answer.blocks:
            if block["type"] == "tool_use":
                self._sent_reasoning[block["id"]] = reasoning_of(answer.blocks)
        if answer.hold is not None and answer.hold_after < 0:
            await answer.hold.wait()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        events = _render_events(body, answer)
        if answer.split_bytes:
            whole, size = b"".join(events), answer.split_bytes
            events = [whole[start : start + size] for start in range(0, len(whole), size)]
        for number, event in enumerate(events):
            if answer.hold is not None and answer.hold_after == number:
                await answer.hold.wait()
            if answer.cut_after == number:
                assert request.transport is not None
                request.transport.abort()
                return response
            if answer.error_after is not None and answer.error_after[0] == number:
                told = {"type": answer.error_after[1], "message": "scripted"}
                await response.write(_sse({"type": "error", "error": told}))
                return response
            await response.write(event)
        await response.write_eof()
        return response


def _render_failure(failure: Failure) -> web.Response:
    told = {"type": failure.kind, "message": failure.message}
    body = failure.body
    return web.Response(
        status=failure.status,
        headers=failure.headers,
        content_type="application/json" if body is None else "text/html",
        body=orjson.dumps({"type": "error", "error": told}) if body is None else body,
    )


def _sse(event: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event))


def _render_events(body: dict[str, Any], answer: Answer) -> list[bytes]:
    start: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "usage": answer.usage | {"output_tokens": 1},
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "ping"},
    ]
    for index, block in enumerate(answer.blocks):
        events += _block_events(index, block, answer.piece_chars)
    events.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": answer.stop_reason, "stop_sequence": None},
            "usage": {"output_tokens": answer.usage["output_tokens"]},
        }
    )
    if answer.has_stop:
        events.append({"type": "message_stop"})
    return [_sse(event) for event in events]


def _block_events(index: int, block: dict[str, Any], size: int) -> list[dict[str, Any]]:
    begun, deltas = _open_block(block, size)
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _open_block(block: dict[str, Any], size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            pieces = [{"type": "text_delta", "text": p} for p in _cut(block["text"], size)]
            return {**block, "text": ""}, pieces
        case "thinking":
            pieces = [
                {"type": "thinking_delta", "thinking": p} for p in _cut(block["thinking"], size)
            ]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*pieces, signed]
        case "tool_use":
            begun = {key: value for key, value in block.items() if key != "raw"}
            raw = block["raw"] if "raw" in block else orjson.dumps(block["input"]).decode()
            pieces = [{"type": "input_json_delta", "partial_json": p} for p in _cut(raw, size)]
            return {**begun, "input": {}}, pieces
        case _:
            return block, []


def _cut(value: str, size: int) -> list[str]:
    step = size if len(value) < 10_000 else 65_536
    return [value[start : start + step] for start in range(0, len(value), step)]
