"""A strict local Jev: it accepts only the published request, and says what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web
from aiohttp.test_utils import TestServer

KEY = "jev-key-0123456789"
OPTIONS = ("supported", "contradicted", "insufficient_evidence")


def answer(choice: str = "supported", **changes: Any) -> dict[str, Any]:
    """A whole answer."""
    chances = {name: 0.9 if name == choice else 0.05 for name in OPTIONS}
    verdict = {"type": "choice", "choice": choice, "probabilities": chances, "confidence": 0.8}
    return {
        "answers": {"verdict": {**verdict, **changes}},
        "usage": {"input_tokens": 120, "output_tokens": 3},
        "id": "sys_1",
        "model": "jev-1.13.0",
    }


@dataclass
class JevServer:
    """What it says next, and what it was asked."""

    replies: list[Callable[[], web.StreamResponse] | dict[str, Any]] = field(
        default_factory=list[Callable[[], web.StreamResponse] | dict[str, Any]]
    )
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: list[str] = field(default_factory=list[str])
    wait_s: float = 0.0
    url: str = ""

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One question."""
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"error": "who"}, status=401)
        body = orjson.loads(await request.read())
        fault = find_fault(body)
        if fault:
            self.refused.append(fault)
            return web.json_response({"error": fault}, status=400)
        self.asked.append(body)
        await asyncio.sleep(self.wait_s)
        reply = self.replies.pop(0) if self.replies else answer()
        return web.json_response(reply) if isinstance(reply, dict) else reply()


def find_fault(body: dict[str, Any]) -> str:
    """The first thing about a request that the service does not know."""
    if body.keys() != {"model", "state", "questions"} or not isinstance(body["state"], dict):
        return "keys"
    for question in body["questions"].values():
        if question.keys() != {"type", "instructions", "criteria"}:
            return "question"
        if question["type"] != "choice" or not isinstance(question["criteria"], dict):
            return "type"
    return ""


@asynccontextmanager
async def serve_jev() -> AsyncIterator[JevServer]:
    """A running one, on loopback."""
    jev = JevServer()
    app = web.Application()
    app.router.add_post("/v1/systemone", jev.serve)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    jev.url = f"http://127.0.0.1:{server.port}/v1"
    try:
        yield jev
    finally:
        await server.close()
