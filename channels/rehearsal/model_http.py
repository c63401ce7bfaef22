"""The HTTP side of the model APIs: headers, errors, whole answers and streams."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from channels.rehearsal.model_answers import Answer, Failure
from channels.rehearsal.model_endpoints import Endpoint
from channels.rehearsal.model_faults import ANTHROPIC
from channels.rehearsal.stand_in import cut_connection

API_KEY = "sk-ant-test-key"
VERSIONS = frozenset({"2023-06-01", "2026-10-21"})


def check_headers(endpoint: Endpoint, headers: dict[str, str]) -> Failure | None:
    """Why the request is refused before its body is looked at."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    is_anthropic = endpoint.vendor is ANTHROPIC
    key = (headers.get("x-api-key") if is_anthropic else "") or bearer
    if key != API_KEY:
        return endpoint.vendor.bad_key
    bad = endpoint.vendor.bad_request
    if is_anthropic and headers.get("anthropic-version") not in VERSIONS:
        return Failure(400, bad, "anthropic-version: a known version is required")
    if headers.get("content-type", "").partition(";")[0] != "application/json":
        return Failure(400, bad, "content-type: must be application/json")
    return None


def render_failure(endpoint: Endpoint, failure: Failure) -> web.Response:
    """An HTTP error in the words of the API."""
    raw = failure.body
    return web.Response(
        status=failure.status,
        headers={**_marks(endpoint), **failure.headers},
        content_type="application/json" if raw is None else "text/html",
        body=orjson.dumps(endpoint.failure(failure)) if raw is None else raw,
    )


def render_whole(endpoint: Endpoint, answer: dict[str, Any]) -> web.Response:
    """An answer that is not a stream."""
    raw = orjson.dumps(answer)
    return web.Response(body=raw, content_type="application/json", headers=_marks(endpoint))


def _marks(endpoint: Endpoint) -> dict[str, str]:
    name = "request-id" if endpoint.vendor is ANTHROPIC else "x-request-id"
    return {name: "req_rehearsal"}


async def write_stream(
    request: web.Request, endpoint: Endpoint, answer: Answer, events: list[bytes]
) -> web.StreamResponse:
    """Write the events, and go wrong where the answer says so."""
    if answer.hold is not None and answer.hold_after < 0:
        await answer.hold.wait()
    headers = {"Content-Type": "text/event-stream", **_marks(endpoint)}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    if answer.split_bytes:
        whole, size = b"".join(events), answer.split_bytes
        events = [whole[start : start + size] for start in range(0, len(whole), size)]
    for number, event in enumerate(events):
        if answer.hold is not None and answer.hold_after == number:
            await answer.hold.wait()
        if answer.cut_after == number:
            abort(request)
            return response
        if answer.error_after is not None and answer.error_after[0] == number:
            await response.write(endpoint.error_event(answer.error_after[1], number))
            return response
        await response.write(event)
    await response.write_eof()
    return response


def abort(request: web.Request) -> web.Response:
    """Cut the connection; what is returned reaches nobody."""
    cut_connection(request)
    return web.Response(status=500)
