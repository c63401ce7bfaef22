"""One connection to a faulty server, with a real store behind its pins."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.empty_database import lay_database

from geode.mcp.manager import MCPServerManager
from geode.mcp.server import Pauses
from geode.messages import JsonObject, Mode, SessionId, TurnId
from geode.ports import NoFailpoints, SystemClock
from geode.reply.redaction import Redactor
from geode.settings import Settings
from geode.settings_load import Loaded
from geode.steps import Ending, Tool, ToolContext
from geode.store.database import Store

PROGRAM = Path(__file__).with_name("mcp_faults.py")
QUICK = Pauses(retry_first_s=0.05, retry_max_s=0.4, news_first_s=0.05, news_max_s=0.4)
WAIT_S = 20.0
CONTEXT = ToolContext(SessionId("s1"), TurnId("t1"), 0, 0, 1, Mode.DAEMON, "slack:w/c", "model")


def tool_row(name: str, description: str = "Does it.", **more: Any) -> dict[str, Any]:
    """A definition as a server lists it."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


@dataclass
class McpRoom:
    """The manager, and the folder in which its server leaves what it did."""

    manager: MCPServerManager
    store: Store
    folder: Path
    redactor: Redactor

    def tool(self, name: str) -> Tool:
        """A tool that is offered now."""
        return next(tool for tool in self.manager.tools if tool.name == name)

    async def call(self, name: str, arguments: JsonObject | None = None) -> Ending:
        """Run one handler as the gate would."""
        return await self.tool(name).handler(CONTEXT, arguments or {})

    def rules(self) -> dict[str, str]:
        """Why the rest is absent, by rule."""
        return {name: why.rule for name, why in self.manager.absences.items()}

    def lines(self, name: str) -> list[str]:
        """What the server wrote down."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def list_next(self, *rows: Mapping[str, Any]) -> None:
        """What `change` makes the server list."""
        (self.folder / "next.json").write_text(json.dumps(rows))

    def plan(self, **faults: Any) -> None:
        """What goes wrong from the next start on."""
        (self.folder / "plan.json").write_text(json.dumps(faults))

    async def wait_for(self, is_so: Callable[[], object]) -> None:
        """Wait until something is observable."""
        async with asyncio.timeout(WAIT_S):
            while not is_so():  # noqa: ASYNC110 - any observable state
                await asyncio.sleep(0.01)

    async def wait_phase(self, phase: str) -> None:
        """Wait until the server is so."""
        await self.wait_for(lambda: self.manager.views["s"].phase == phase)


def server_table(folder: Path, tools: Mapping[str, Mapping[str, Any]], **more: Any) -> JsonObject:
    """`[mcp.servers.s]` for the faulty server."""
    command: list[Any] = [sys.executable, str(PROGRAM), str(folder)]
    return {"command": command, "tools": {n: dict(t) for n, t in tools.items()}, **more}


@asynccontextmanager
async def mcp_room(
    folder: Path,
    tools: Mapping[str, Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    plan: Mapping[str, Any] | None = None,
    **more: Any,
) -> AsyncGenerator[McpRoom]:
    """A manager whose one server `s` is started and listed; ended whole at the end."""
    listed = [tool_row(name) for name in tools] if rows is None else rows
    (folder / "tools.json").write_text(json.dumps(listed))
    (folder / "plan.json").write_text(json.dumps(plan or {}))
    mcp = {"servers": {"s": server_table(folder, tools, **more)}}
    async with running_manager(folder, {"mcp": mcp}, environ or {}) as room:
        yield room


@asynccontextmanager
async def running_manager(
    folder: Path, table: Mapping[str, Any], environ: Mapping[str, str], *, is_lazy: bool = False
) -> AsyncGenerator[McpRoom]:
    """Any settings; the state stays in the folder, so that a second one goes on from the first."""
    database = folder / "geode.db"
    if not database.exists():
        lay_database(database)
    store = Store.open(database, SystemClock(), NoFailpoints())
    redactor = Redactor()
    loaded = Loaded(Settings.model_validate(table), {}, None, folder)
    manager = await MCPServerManager.open(loaded, store, redactor, environ, QUICK)
    running = asyncio.create_task(manager.run())
    room = McpRoom(manager, store, folder, redactor)
    try:
        if not is_lazy:
            await room.wait_for(lambda: all(v.phase != "starting" for v in manager.views.values()))
        yield room
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await store.close()
