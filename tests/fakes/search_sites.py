"""Strict local search services: SearXNG's and Brave's APIs over real sockets, counting requests."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "BSAcanary-0123456789abcdef"
PAGES = [
    {
        "title": "Structured <strong>Concurrency</strong> &amp; tasks",
        "url": "https://docs.example.org/tasks?v=3",
        "content": "Run tasks\ntogether \u202eand\u202c wait.",
        "description": "Run tasks\ntogether \u202eand\u202c wait.",
        "engine": "duckduckgo",
        "parsed_url": ["https", "docs.example.org", "/tasks", "", "v=3", ""],
    },
    {
        "title": "Second",
        "url": "http://example.net/b",
        "content": "It&#x27;s here.",
        "description": "It&#x27;s here.",
    },
]

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class SearchServer:
    """What the service gives next, and what it was asked."""

    port: int = 0
    pages: list[dict[str, Any]] = field(default_factory=lambda: [dict(page) for page in PAGES])
    silent: list[list[str]] = field(default_factory=list)
    """SearXNG's sources that did not answer."""
    next: list[Answer] = field(default_factory=list)
    """Other answers, before any ordinary one."""
    queries: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What a request had that the real API does not take."""

    @property
    def address(self) -> str:
        """Where it is asked."""
        return f"http://127.0.0.1:{self.port}"

    async def searxng(self, request: web.Request) -> web.StreamResponse:
        """GET /search as SearXNG serves it with `json` among its formats."""
        self._check(request, {"q", "format"})
        if request.query.get("format") != "json":
            self.faults.append("no format=json")
        return await self._answer(request, self._searxng_body)

    async def brave(self, request: web.Request) -> web.StreamResponse:
        """GET /res/v1/web/search as Brave serves it: a key, gzip, at most 20 of 400 characters."""
        self._check(request, {"q", "count", "text_decorations"})
        if request.headers.get("X-Subscription-Token") != KEY:
            return brave_error(422, "SUBSCRIPTION_TOKEN_INVALID")
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            self.faults.append("no gzip")
        if not 1 <= int(request.query.get("count", "20")) <= 20:
            self.faults.append("count")
        if len(request.query.get("q", "")) > 400 or len(request.query["q"].split()) > 50:
            return brave_error(422, "VALIDATION")
        return await self._answer(request, self._brave_body)

    def _check(self, request: web.Request, known: set[str]) -> None:
        self.queries.append(request.query.get("q", ""))
        if request.method != "GET" or request.headers.get("Cookie"):
            self.faults.append("method or cookie")
        if unknown := set(request.query) - known:
            self.faults.append(f"unknown {unknown}")

    async def _answer(self, request: web.Request, body: Callable[[], object]) -> web.StreamResponse:
        if self.next:
            return await self.next.pop(0)(request)
        raw = json.dumps(body()).encode()
        zipped = "gzip" in request.headers.get("Accept-Encoding", "")
        headers = {"Content-Type": "application/json"}
        if zipped:
            headers["Content-Encoding"] = "gzip"
        return web.Response(body=gzip.compress(raw) if zipped else raw, headers=headers)

    def _searxng_body(self) -> object:
        return {
            "query": self.queries[-1],
            "number_of_results": 0,
            "results": self.pages,
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": self.silent,
        }

    def _brave_body(self) -> object:
        found = {"type": "search", "results": self.pages, "family_friendly": True}
        answer = {"type": "search", "query": {"original": self.queries[-1]}}
        return answer | ({"web": found} if self.pages else {})


def fixed(status: int, text: str = "", **headers: str) -> Answer:
    """An answer that does not depend on the request."""

    async def answer(request: web.Request) -> web.StreamResponse:
        del request
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=text, headers=named)

    return answer


def brave_error(status: int, code: str) -> web.Response:
    """An error in Brave's envelope."""
    error = {"id": "e1", "status": status, "code": code, "detail": "no"}
    return web.json_response({"type": "ErrorResponse", "error": error}, status=status)


@asynccontextmanager
async def serve_search() -> AsyncGenerator[SearchServer]:
    """A service on loopback that speaks both APIs; anything else is a fault."""
    server = SearchServer()

    async def refuse(request: web.Request) -> web.StreamResponse:
        server.faults.append(f"no such address: {request.path}")
        return web.Response(status=404)

    app = web.Application()
    app.router.add_get("/search", server.searxng)
    app.router.add_get("/below/search", server.searxng)
    app.router.add_get("/res/v1/web/search", server.brave)
    app.router.add_route("*", "/{rest:.*}", refuse)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()
