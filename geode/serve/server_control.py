"""The verbs about MCP servers and trusted files: the same with and without a daemon."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from geode.errors import ControlError
from geode.mcp.diff import compare_definitions
from geode.mcp.listing import shown_name
from geode.mcp.manager import MCPServerManager
from geode.mcp.server import ServerView
from geode.mcp.words import FIELD_CHARS_MAX, clean_words
from geode.messages import JsonObject, JsonValue
from geode.serve.arguments import allow_only, read_text
from geode.serve.ipc import Verb
from geode.serve.terminal import find_owner
from geode.settings_mcp import McpServerSettings, McpToolSettings
from geode.store.database import Store
from geode.store.trusted_files import Trust, record_trust

UNLISTED_MAX = 200


class ServerControl:
    """Answers `geode mcp` and `geode trust`."""

    def __init__(self, mcp: MCPServerManager, store: Store, *, is_running: bool) -> None:
        self._mcp = mcp
        self._store = store
        self._is_running = is_running

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """Every verb by the name it has on the socket."""
        return {
            "mcp.list": self._list_servers,
            "mcp.tools": self._list_tools,
            "mcp.changes": self._list_changes,
            "mcp.accept": self._accept,
            "trust.record": self._record_trust,
        }

    async def _list_servers(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments)
        rows: list[JsonValue] = [
            self._describe_server(name, view) for name, view in self._mcp.views.items()
        ]
        return {"servers": rows, "notices": list[JsonValue](self._mcp.listed.notices)}

    async def _list_tools(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "server")
        wanted = arguments.get("server")
        if wanted is not None:
            self._find(str(wanted))
        rows: list[JsonValue] = []
        unlisted: list[JsonValue] = []
        for name, view in self._mcp.views.items():
            if wanted not in {None, name}:
                continue
            rows += [
                self._describe_tool(name, tool, written, view)
                for tool, written in self._mcp.servers[name].tools.items()
            ]
            unlisted.extend(
                {"server": name, "tool": clean_words(tool, FIELD_CHARS_MAX)}
                for tool in view.listing.unlisted[:UNLISTED_MAX]
            )
        return {"tools": rows, "unlisted": unlisted}

    async def _list_changes(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "server", "tool")
        server, tool = read_text(arguments, "server"), str(arguments.get("tool", ""))
        self._find(server)
        pins = await self._mcp.pins.list_changed(server, tool)
        return {
            "changes": [
                {
                    "tool": pin.tool,
                    "digest": pin.offered_digest,
                    "lines": list[JsonValue](compare_definitions(pin)),
                }
                for pin in pins
            ]
        }

    async def _accept(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "server", "tool", "digest")
        server, tool = read_text(arguments, "server"), read_text(arguments, "tool")
        self._find(server)
        pin = await self._mcp.accept(
            server, tool, read_text(arguments, "digest"), find_owner().name
        )
        return {"server": pin.server, "tool": pin.tool, "digest": pin.digest}

    async def _record_trust(self, arguments: JsonObject) -> JsonValue:
        allow_only(arguments, "path", "digest")
        trust = Trust(
            read_text(arguments, "path"), read_text(arguments, "digest"), find_owner().name
        )
        now_us = self._store.clock.now_us()
        await self._store.write("trust", partial(record_trust, trust=trust, now_us=now_us))
        return {"path": trust.path, "digest": trust.digest, "restart": self._is_running}

    def _find(self, server: str) -> McpServerSettings:
        found = self._mcp.servers.get(server)
        if found is None:
            known = ", ".join(self._mcp.servers) or "none"
            raise ControlError(f"There is no MCP server {server[:40]!r}; configured: {known}.")
        return found

    def _describe_server(self, name: str, view: ServerView) -> JsonObject:
        settings = self._mcp.servers[name]
        return {
            "server": name,
            "state": view.phase if self._is_running else "not running",
            "reason": view.reason,
            "where": settings.url or settings.command[0],
            "of": "project" if name in self._mcp.listed.of_project else "configuration",
            "offered": len(view.listing.offers),
            "listed": len(settings.tools),
        }

    def _describe_tool(
        self, server: str, tool: str, written: McpToolSettings, view: ServerView
    ) -> JsonObject:
        why = view.listing.absences.get(tool)
        absent = (
            "the daemon is not running" if not self._is_running else why.sentence if why else ""
        )
        return {
            "name": shown_name(server, tool, written),
            "tool": tool,
            "effect": written.effect,
            "data_class": written.data_class,
            "resources": ", ".join(written.resources),
            "absent": absent,
        }
