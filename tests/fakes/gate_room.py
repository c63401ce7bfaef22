"""A real store with one running session, and small real tools that count what they did."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

from fakes.empty_database import lay_database
from sqlalchemy import Connection, insert, select

from geode.gate.approvals import Approvals
from geode.gate.executor import GateParts, ToolExecutor
from geode.gate.policy import project_plan
from geode.gate.processor import ToolCallProcessor
from geode.messages import JsonObject, Mode, SessionId, ToolCall, TurnId
from geode.ports import SystemClock
from geode.records.receipts import EffectReceiptStore
from geode.settings import Profile
from geode.steps import (
    BoundToolPlan,
    Done,
    Effect,
    Ending,
    ReconcileHandler,
    ResourceStrategy,
    SafetyPolicy,
    Tool,
    ToolContext,
)
from geode.store.database import Store
from geode.store.tables import sessions, timeline

SESSION = SessionId("s1")
TEXT_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


class PointLog:
    """Failpoints that remember, and run one action at one point."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.actions: dict[str, Callable[[], None]] = {}

    def hit(self, name: str) -> None:
        self.names.append(name)
        action = self.actions.pop(name, None)
        if action is not None:
            action()


async def answer_done(_context: ToolContext, arguments: JsonObject) -> Ending:
    """Echo the text."""
    return Done(f"done {arguments.get('text', '')}")


@dataclass
class Counted:
    """A tool and how often its body was entered."""

    tool: Tool
    entered: list[JsonObject] = field(default_factory=list)


Body = Callable[[ToolContext, JsonObject], Awaitable[Ending]]


def one_key(_context: ToolContext, arguments: JsonObject) -> tuple[str, ...]:
    """One key per text."""
    return (f"key:{arguments.get('text', '')}",)


def make_tool(
    name: str,
    effect: Effect = Effect.READ,
    body: Body = answer_done,
    *,
    reconcile: ReconcileHandler | None = None,
    resources: ResourceStrategy | None = one_key,
    approval: str = "none",
    modes: Iterable[Mode] = tuple(Mode),
    timeout_s: float = 5.0,
    schema: JsonObject = TEXT_SCHEMA,
) -> Counted:
    """A small tool whose body is counted."""
    entered: list[JsonObject] = []

    async def handler(context: ToolContext, arguments: JsonObject) -> Ending:
        entered.append(arguments)
        return await body(context, arguments)

    policy = SafetyPolicy(
        effect,
        data_class="public",  # type: ignore[arg-type]
        approval=approval,  # type: ignore[arg-type]
        modes=frozenset(modes),
    )
    tool = Tool(
        name=name,
        description=name,
        schema=schema,
        policy=policy,
        handler=handler,
        resources=resources,
        reconcile=reconcile,
        timeout_s=timeout_s,
    )
    return Counted(tool, entered)


def call(name: str, text: str = "x", call_id: str = "c1") -> ToolCall:
    """A well-formed call."""
    return ToolCall(call_id, name, {"text": text})


def plan_of(*tools: Counted, mode: Mode = Mode.DAEMON) -> BoundToolPlan:
    """A plan that grants all of them by name."""
    granted = Profile("test", frozenset(t.tool.name for t in tools))
    return project_plan([t.tool for t in tools], mode, granted)


class GateRoom:
    """The gate over one store, as one worker holds it."""

    def __init__(self, store: Store, points: PointLog) -> None:
        self.store = store
        self.points = points
        self.receipts = EffectReceiptStore(store, SystemClock())
        self.parts = GateParts(
            self.receipts, Approvals(store, SystemClock()), SystemClock(), points
        )
        self.is_lease_held = True
        self.executor = ToolExecutor(self.parts, lambda: self.is_lease_held)
        self.processor = ToolCallProcessor(self.executor)

    def context(
        self,
        position: int = 0,
        *,
        step: int = 1,
        epoch: int = 1,
        turn: str = "t1",
        session: str = SESSION,
        deadline_s: float = 60.0,
        mode: Mode = Mode.DAEMON,
    ) -> ToolContext:
        """The context of one call."""
        return ToolContext(
            session_id=SessionId(session),
            turn_id=TurnId(turn),
            step=step,
            position=position,
            epoch=epoch,
            mode=mode,
            binding="slack:T1/C1",
            model="test",
            deadline=SystemClock().monotonic() + deadline_s,
        )

    async def add_session(self, session: str = SESSION) -> None:
        """A running session under epoch 1."""
        await self.store.write("test.session", lambda tx: _insert_session(tx, session))

    def take_over_now(self) -> None:
        """Another process claims the session; callable from inside a point."""
        with closing(sqlite3.connect(self.store.path)) as other:
            other.execute("UPDATE sessions SET epoch = epoch + 1")
            other.commit()

    async def timeline(self, session: str = SESSION) -> list[tuple[str, str]]:
        """Kind and body of the session's rows."""
        return await self.store.read(
            lambda tx: [
                (row.kind, row.body)
                for row in tx.execute(
                    select(timeline.c.kind, timeline.c.body)
                    .where(timeline.c.session_id == session)
                    .order_by(timeline.c.seq)
                )
            ]
        )


def _insert_session(tx: Connection, session: str) -> None:
    tx.execute(
        insert(sessions).values(
            id=session,
            binding="slack:T1/C1",
            mode="daemon",
            state="running",
            epoch=1,
            created_at_us=0,
            active_at_us=0,
        )
    )


@asynccontextmanager
async def open_room(folder: Path, session: str = SESSION) -> AsyncIterator[GateRoom]:
    """A room over a fresh database, or one more session over the same; closed at the end."""
    points = PointLog()
    lay_database(folder / "geode.db")
    store = Store.open(folder / "geode.db", SystemClock(), points)
    try:
        room = GateRoom(store, points)
        await room.add_session(session)
        yield room
    finally:
        await store.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for an observable state, with a deadline."""
    for _ in range(5_000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("the awaited state did not come")
