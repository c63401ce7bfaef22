"""Every MCP server of the process: connected beside the daemon's work, offered as one source."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from geode.mcp.configured import ServerList, list_servers, look_for_project
from geode.mcp.listing import shown_name
from geode.mcp.pins import PinnedDefinitions
from geode.mcp.server import (
    Pauses,
    SecretKeeper,
    ServerParts,
    ServerView,
    build_tool,
    view_of_absent,
)
from geode.mcp.words import describe_tool
from geode.settings_load import Loaded
from geode.settings_mcp import McpServerSettings
from geode.steps import Absence, Tool
from geode.store.database import Store
from geode.store.pinned_tools import Pin
from geode.store.trusted_files import find_trust

if TYPE_CHECKING:
    from geode.mcp.connection import ServerConnection


@dataclass(frozen=True, slots=True)
class _Offered:
    """What was built at one generation, so that a step's tools stay the same objects."""

    generation: int
    tools: tuple[Tool, ...]


class MCPServerManager:
    """The servers' tools as a `ToolSource`; a server that is down takes only its own tools away."""

    def __init__(self, listed: ServerList, parts: ServerParts, pins: PinnedDefinitions) -> None:
        self.listed = listed
        self.pins = pins
        self._parts = parts
        self._connections: dict[str, ServerConnection] = {}
        self._offered = _Offered(-1, ())

    @classmethod
    async def open(
        cls,
        loaded: Loaded,
        store: Store,
        keeper: SecretKeeper,
        environ: Mapping[str, str],
        pauses: Pauses | None = None,
    ) -> MCPServerManager:
        """Read which servers there are; nothing is started yet."""
        settings = loaded.settings
        found = await asyncio.to_thread(look_for_project, settings)
        trust = None
        if found is not None and not isinstance(found, str):
            trust = await store.read(partial(find_trust, path=found.path))
        pins = PinnedDefinitions(store, store.clock)
        parts = ServerParts(
            store.clock, keeper, environ, loaded.state_folder, pins.record, pauses or Pauses()
        )
        return cls(list_servers(settings, found, trust), parts, pins)

    async def run(self) -> None:
        """Keep every server connected until cancelled."""
        if not self.servers:
            return
        connect = await asyncio.to_thread(_load_connection)
        for name, settings in self.servers.items():
            self._connections[name] = connect(name, settings, self._parts)
        async with asyncio.TaskGroup() as tasks:
            for name, connection in self._connections.items():
                tasks.create_task(connection.run(), name=f"mcp server {name}")

    @property
    def servers(self) -> Mapping[str, McpServerSettings]:
        """Their settings by name."""
        return self.listed.servers

    @property
    def views(self) -> Mapping[str, ServerView]:
        """How each server is now."""
        return {
            name: self._connections[name].view
            if name in self._connections
            else view_of_absent(name, settings, "starting", "")
            for name, settings in self.servers.items()
        }

    @property
    def generation(self) -> int:
        """Grows with every change of a server."""
        return sum(connection.generation for connection in self._connections.values())

    @property
    def names(self) -> Collection[str]:
        """Every tool that the configuration lists, there or not."""
        return {
            shown_name(server, tool, written)
            for server, settings in self.servers.items()
            for tool, written in settings.tools.items()
        } | self.listed.missing.keys()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What is offered now, in the order of the configuration."""
        generation = self.generation
        if self._offered.generation != generation:
            self._offered = _Offered(generation, tuple(self._build()))
        return self._offered.tools

    @property
    def absences(self) -> Mapping[str, Absence]:
        """Why the rest cannot be had, by the whole names."""
        absent = dict(self.listed.missing)
        for server, view in self.views.items():
            written = self.servers[server].tools
            for tool, why in view.listing.absences.items():
                absent[shown_name(server, tool, written[tool])] = why
        return absent

    @property
    def degraded(self) -> list[str]:
        """What an operator should look at, one sentence each."""
        said = list(self.listed.notices)
        for server, view in self.views.items():
            if view.phase == "down":
                said.append(f"The MCP server {server} cannot be used: {view.reason.rstrip('.')}.")
            elif view.phase == "up":
                said += [why.sentence for why in view.listing.absences.values()]
        return said

    async def accept(self, server: str, tool: str, digest: str, who: str) -> Pin:
        """Take a changed definition, from this moment on; raises `ControlError`."""
        pin = await self.pins.accept(server, tool, digest, who)
        connection = self._connections.get(server)
        if connection is not None:
            connection.follow_pin(pin)
        return pin

    def _build(self) -> Sequence[Tool]:
        return [
            build_tool(name, offer, describe_tool(name, offer.definition.description), connection)
            for name, connection in self._connections.items()
            for offer in connection.view.listing.offers.values()
        ]


def _load_connection() -> type[ServerConnection]:
    # The SDK is heavy and belongs to those who configured a server.
    from geode.mcp.connection import ServerConnection  # noqa: PLC0415

    return ServerConnection
