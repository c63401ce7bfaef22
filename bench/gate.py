"""What the gate costs a call: CPU of its own thread, the store's apart, and what is committed."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import orjson
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from bench.cases import Figures
from geode.gate.executor import ToolExecutor
from geode.hooks.asking import RegisteredHook
from geode.hooks.build import Hooks
from geode.hooks.code import PythonCode
from geode.hooks.decisions import Proceed
from geode.hooks.registry import HookRegistry
from geode.llm.routes import open_route
from geode.log import configure_logging
from geode.mcp.manager import MCPServerManager
from geode.messages import JsonObject, Mode, SessionId, Thread, ToolCall, TurnId
from geode.ports import NoFailpoints, SystemClock
from geode.reply.redaction import Redactor
from geode.session.assembly import build_services
from geode.session.services import SharedServices
from geode.session.supplies import Supplies
from geode.settings_load import Loaded, load_settings
from geode.steps import (
    DataClass,
    Done,
    Effect,
    Ending,
    FixedTools,
    SafetyPolicy,
    Tool,
    ToolContext,
)
from geode.store import sessions
from geode.store.database import Store, Tx, migrate_forward
from geode.store.sessions import NewLease, NewSession
from geode.tools import schema

WHERE = "T1/C1"
SESSION, TURN = SessionId("s1"), TurnId("t1")
SERVER = Path(__file__).with_name("mcp_server.py")
READY_S = 20.0
CONFIG = """
[agent]
model = "rehearsal"
[channels.web]
[[bindings]]
channel = "web"
where = "local/room"
people = ["local"]
operators = ["local"]
profile = "bench"
[profiles.bench]
tools = ["look", "change", "db__echo"]
[mcp.servers.db]
command = ["{python}", "{server}"]
[mcp.servers.db.tools.echo]
effect = "read"
"""
BINDING = "web:local/room"


async def _answer(_context: ToolContext, arguments: JsonObject) -> Ending:
    return Done(f"done {arguments['text']}")


def _make_tool(name: str, effect: Effect) -> Tool:
    return Tool(
        name=name,
        description=name,
        schema=schema.closed_object(
            ("text",), text=schema.string("the text", chars_max=200, chars_min=1)
        ),
        policy=SafetyPolicy(effect, DataClass.PUBLIC, "none", frozenset(Mode)),
        handler=_answer,
        resources=lambda _context, _arguments: ("bench:thing",),
    )


TOOLS = (_make_tool("look", Effect.READ), _make_tool("change", Effect.MUTATE))


async def _proceed(_question: object) -> object:
    return Proceed()


@dataclass(slots=True)
class GateRoom:
    """A store with one running session, and the services of a daemon over it."""

    store: Store
    services: SharedServices

    async def run(self, tool: str, calls: int) -> Figures:
        """So many calls one after the other: CPU per call in ms, of the gate and of the store."""
        plan = self.services.plan_for(Mode.DAEMON, self.services.find_binding(BINDING))
        executor = ToolExecutor(self.services.gate)

        async def call(number: int) -> None:
            context = ToolContext(
                SESSION, TURN, number, 0, 1, Mode.DAEMON, BINDING, "m", ("local",)
            )
            proposed = ToolCall(f"c{number}", tool, {"text": f"t{number}"})
            outcome = await executor.aexecute(proposed, plan, context)
            if outcome.result is None or outcome.result.is_error:
                raise RuntimeError(f"the gate refused the benchmark's own call: {outcome.result}")

        await warm_up(call, calls)
        before = self.store.writer.commits
        found = await measure_calls(call, calls)
        return found | {"commits": (self.store.writer.commits - before) / calls}


_numbers = count(1)


async def warm_up(call: Callable[[int], Awaitable[None]], calls: int) -> None:
    """Let everything be compiled and cached that is made once."""
    for _ in range(max(2, calls // 10)):
        await call(next(_numbers))


async def measure_calls(call: Callable[[int], Awaitable[None]], calls: int) -> Figures:
    """CPU per call in ms: `own` of this thread, `else` of all others."""
    gc.collect()
    own, whole = time.thread_time(), time.process_time()
    for _ in range(calls):
        await call(next(_numbers))
    own, whole = time.thread_time() - own, time.process_time() - whole
    return {"own": own / calls * 1e3, "else": max(0.0, whole - own) / calls * 1e3}


async def measure_gate(folder: Path, calls: int) -> dict[str, Figures]:
    """Every kind of call, and the bare ones beside which it stands."""
    configure_logging(Redactor(), style="console", level="WARNING")
    found: dict[str, Figures] = {"direct": await measure_calls(_call_directly, calls * 10)}
    async with _open_room(folder / "plain", has_hook=False) as room:
        found["read"] = await room.run("look", calls)
        found["mutate"] = await room.run("change", calls)
        found["mcp"] = await room.run("db__echo", calls)
    async with _open_room(folder / "hooked", has_hook=True) as room:
        found["hook"] = await room.run("look", calls)
    found["bare_mcp"] = await _measure_bare_server(calls)
    return found


async def _call_directly(number: int) -> None:
    """What a loop without a gate does: read the arguments and call."""
    arguments = orjson.loads(b'{"text":"t%d"}' % number)
    await _answer(_NOBODY, arguments)


_NOBODY = ToolContext(SESSION, TURN, 0, 0, 1, Mode.DAEMON, BINDING, "m")


async def _measure_bare_server(calls: int) -> Figures:
    parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
    async with Client(parameters) as client:

        async def call(number: int) -> None:
            await client.call_tool("echo", {"text": f"t{number}"})

        await warm_up(call, calls)
        return await measure_calls(call, calls)


@asynccontextmanager
async def _open_room(folder: Path, *, has_hook: bool) -> AsyncIterator[GateRoom]:
    loaded, clock = _load(folder), SystemClock()
    migrate_forward(loaded.database_path, clock)
    store = Store.open(loaded.database_path, clock, NoFailpoints())
    redactor = Redactor()
    servers = await MCPServerManager.open(loaded, store, redactor, {})
    hooks = None
    if has_hook:
        registered = RegisteredHook("PreToolUse[1]", PythonCode(_proceed))
        hooks = Hooks(HookRegistry({"PreToolUse": (registered,)}))
    route, _ = open_route(loaded.settings, {}, clock)
    sources = (FixedTools(TOOLS), servers)
    services = build_services(
        store, loaded, route, NoFailpoints(), sources, Supplies(redactor.take_out, hooks=hooks)
    )
    running = asyncio.create_task(servers.run())
    try:
        await store.write("bench", lambda tx: _begin(tx, clock.now_us()))
        async with asyncio.timeout(READY_S):
            # A server says nowhere that it is ready.
            while not servers.tools:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        yield GateRoom(store, services)
    finally:
        running.cancel()
        await asyncio.wait((running,))
        await store.close()


def _load(folder: Path) -> Loaded:
    folder.mkdir(parents=True)
    path = folder / "geode.toml"
    path.write_text(CONFIG.format(python=sys.executable, server=SERVER))
    return load_settings(path, environ={"GEODE_HOME": str(folder)})


def _begin(tx: Tx, now_us: int) -> None:
    thread = Thread("web", "local", "room", "1")
    new = NewSession(SESSION, BINDING, Mode.DAEMON, is_direct=False)
    sessions.bind_session(tx, thread, new, now_us)
    lease = NewLease("bench", now_us + 3_600_000_000, TURN, 1)
    sessions.take_lease(tx, SESSION, lease)
