"""A server over HTTP: one exact origin, its own list each time, an honest word on a lost call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.mcp_http import HttpServer, serve_http, stop
from fakes.mcp_room import McpRoom, running_manager
from mcp.shared.subscriptions import ToolsListChanged

from geode.errors import McpCallError
from geode.steps import Done

MUTATE = {"effect": "mutate", "resources": ["s:all"]}


@asynccontextmanager
async def _room(folder: Path, server: HttpServer, **more: Any) -> AsyncGenerator[McpRoom]:
    tools = dict.fromkeys(server.descriptions, MUTATE)
    table = {"mcp": {"servers": {"s": {"url": server.url, "tools": tools, **more}}}}
    async with running_manager(folder, table, {"KEY": "secret-key"}) as room:
        yield room


async def test_server_over_http_is_called_with_its_token(tmp_path: Path) -> None:
    async with serve_http() as server, _room(tmp_path, server, token="env:KEY") as room:
        assert await room.call("s__echo", {"text": "a"}) == Done("a")

        assert set(server.authorizations) == {"Bearer secret-key"}
        assert room.redactor.redact("it is secret-key") == "it is [redacted]"


async def test_list_is_the_servers_own_and_never_a_cached_one(tmp_path: Path) -> None:
    async with serve_http() as server, _room(tmp_path, server) as room:
        connection = room.manager._connections["s"]
        server.descriptions["echo"] = "Other."

        connection._news.set()

        await room.wait_for(lambda: room.rules() == {"s__echo": "mcp.definition_changed"})


async def test_news_of_a_changed_list_are_heard_where_one_has_to_listen(tmp_path: Path) -> None:
    async with serve_http() as server, _room(tmp_path, server) as room:
        await room.wait_for(lambda: server.news._listeners)
        server.descriptions["echo"] = "Other."

        await server.news.publish(ToolsListChanged())

        await room.wait_for(lambda: room.rules() == {"s__echo": "mcp.definition_changed"})


async def test_redirect_to_another_origin_is_not_followed(tmp_path: Path) -> None:
    async with (
        serve_http() as other,
        serve_http(redirect=other.url) as server,
        _room(tmp_path, server, token="env:KEY") as room,
    ):
        await room.wait_phase("down")

        assert other.authorizations == []
        assert room.manager.tools == ()


async def test_call_whose_server_goes_away_is_uncertain_and_the_tools_are_absent(
    tmp_path: Path,
) -> None:
    async with (
        serve_http(descriptions={"hang": "Waits."}) as server,
        _room(tmp_path, server) as room,
    ):
        call = asyncio.create_task(room.call("s__hang"))
        await asyncio.wait_for(server.hanging.wait(), 10)

        await stop(server)

        with pytest.raises(McpCallError):
            await asyncio.wait_for(call, 15)
        await room.wait_phase("down")
        assert room.rules() == {"s__hang": "mcp.server_down"}
        assert server.calls == ["hang"]


async def test_answer_without_end_is_cut_off_and_leaves_an_effect_uncertain(tmp_path: Path) -> None:
    async with (
        serve_http(descriptions={"big": "Much.", "echo": "x"}) as server,
        _room(tmp_path, server) as room,
    ):
        before = room.manager.generation
        with pytest.raises(McpCallError):
            await room.call("s__big")

        await room.wait_for(lambda: room.manager.generation >= before + 2)
        assert await room.call("s__echo", {"text": "a"}) == Done("a")


async def test_server_that_is_not_there_is_down_until_it_is(tmp_path: Path) -> None:
    server = HttpServer(9)
    async with _room(tmp_path, server) as room:
        assert room.manager.views["s"].reason == "it cannot be reached"
