"""An MCP server over HTTP, by the SDK's own server side, on a socket of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


@dataclass
class HttpServer:
    """What it lists, what it was sent, and how it misbehaves."""

    port: int
    descriptions: dict[str, str] = field(default_factory=lambda: {"echo": "Does it."})
    calls: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    redirect: str = ""
    """Where every request is sent on to, once it is set."""
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    server: uvicorn.Server | None = None
    news: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    """What those who listen are told."""

    @property
    def url(self) -> str:
        """Its endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp"

    async def list_tools(
        self, context: Any, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """What it offers now; with a life time for caches that must not be used."""
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        tools = [
            Tool(name=name, description=words, input_schema=schema)
            for name, words in self.descriptions.items()
        ]
        return ListToolsResult(tools=tools, ttl_ms=3_600_000, cache_scope="public")

    async def call_tool(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        """One call; `hang` waits until the server is gone, `big` answers with 20 MB."""
        self.calls.append(params.name)
        if params.name == "hang":
            self.hanging.set()
            await asyncio.Event().wait()
        size = 20_000_000 if params.name == "big" else 0
        text = "a" * size or str((params.arguments or {}).get("text"))
        return CallToolResult(content=[TextContent(text=text)])


@asynccontextmanager
async def serve_http(**more: Any) -> AsyncGenerator[HttpServer]:
    """A running server; it is gone at the end, with what hangs in it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        state = HttpServer(listener.getsockname()[1], **more)
        lowlevel: Server[Any] = Server(
            "http",
            on_list_tools=state.list_tools,
            on_call_tool=state.call_tool,
            on_subscriptions_listen=ListenHandler(state.news),
        )
        app = lowlevel.streamable_http_app()

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                headers = dict(scope["headers"])
                state.authorizations.append(headers.get(b"authorization", b"").decode())
                if state.redirect:
                    place = [(b"location", state.redirect.encode())]
                    await send({"type": "http.response.start", "status": 307, "headers": place})
                    await send({"type": "http.response.body", "body": b""})
                    return
            await app(scope, receive, send)

        config = uvicorn.Config(watched, log_level="critical", timeout_graceful_shutdown=1)
        state.server = uvicorn.Server(config)
        running = asyncio.create_task(state.server.serve(sockets=[listener]))
        try:
            async with asyncio.timeout(10):
                while not state.server.started:  # noqa: ASYNC110 - the server has no event
                    await asyncio.sleep(0.01)
            yield state
        finally:
            await stop(state)
            await running


async def stop(state: HttpServer) -> None:
    """Close every connection now."""
    assert state.server is not None
    state.server.should_exit = True
    state.server.force_exit = True
    for connection in list(state.server.server_state.connections):
        connection.transport.abort()
