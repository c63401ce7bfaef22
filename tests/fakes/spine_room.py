"""The spine in parts a test can hold: one store, one platform, and workers that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.empty_database import lay_database
from fakes.loopback import LoopbackChannel, LoopbackPlatform
from fakes.scripted_judge import ScriptedJudge
from fakes.scripted_model import Scripted, ScriptedModel
from sqlalchemy import Select, select

from geode.hooks.registry import HookRegistry
from geode.intake.desk import Desk
from geode.intake.inbox import Inbox
from geode.llm.routes import ModelRoute
from geode.messages import InboundMessage, Place, SessionId, Thread, TurnId
from geode.ports import Accepted, Clock, Failpoints, NoFailpoints
from geode.reply.delivery import Delivery, DeliveryParts
from geode.reply.redaction import Redactor
from geode.session.assembly import build_services
from geode.session.claims import Claim, ClaimTerms, Due, claim_session
from geode.session.leases import Leases
from geode.session.requests import compose_request
from geode.settings import Settings
from geode.settings_load import Loaded
from geode.steps import FixedTools, Tool
from geode.store.database import Store
from geode.store.sessions import find_session
from geode.store.tables import outbox, sessions
from geode.tools.workspace import Workspaces
from geode.turn import TurnParts, TurnRunner
from geode.verify.judge import Judge
from geode.verify.turn_check import VerifyParts

LEASE_S = 30.0
BINDING: dict[str, Any] = {
    "channel": "loop",
    "where": "T1/C1",
    "people": ["U1", "U2"],
    "operators": ["U1"],
    "profile": "spine",
}


def place_thread(number: int) -> Thread:
    """One of the threads of the served channel."""
    return Thread("loop", "T1", "C1", f"{number:010d}")


THREAD = place_thread(1)


class RoomClock:
    """Time that passes only when someone turns it or waits."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def now_us(self) -> int:
        return int(self.now_s * 1_000_000)

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        await asyncio.sleep(0)


class NoWakes:
    """Remembers what intake woke; nothing runs because of it."""

    def __init__(self) -> None:
        self.sessions: list[SessionId] = []
        self.marks: list[str] = []
        self.stops: list[TurnId] = []
        self.leases: Leases | None = None
        """Where a stop is heard at once; None: the wake is lost."""

    def wake_session(self, session_id: SessionId) -> None:
        self.sessions.append(session_id)

    def wake_delivery(self, session_id: SessionId) -> None:
        pass

    def mark_working(self, place: Place, message_id: str, since: float = 0.0) -> None:
        self.marks.append(message_id)

    def clear_working(self, place: Place, message_id: str) -> None:
        self.marks.remove(message_id)

    def stop_turn(self, session_id: SessionId, turn_id: TurnId) -> None:
        self.stops.append(turn_id)
        if self.leases is not None:
            self.leases.stop(session_id, turn_id)

    def mark_catch_up_due(self, channel: str) -> None:
        pass


@dataclass
class Worker:
    """One process's share of the spine: its own lease name, lanes and delivery."""

    name: str
    runner: TurnRunner
    leases: Leases
    delivery: Delivery
    model: ScriptedModel
    channel: LoopbackChannel
    workspaces: Workspaces

    async def deliver(self, session_id: SessionId) -> None:
        """Deliver what is due in one thread, as a wake would."""
        await self.delivery._deliver_thread(session_id)


@dataclass
class SpineRoom:
    """One store and one platform; workers come and go."""

    store: Store
    clock: Clock
    folder: Path
    settings: Settings
    platform: LoopbackPlatform = field(default_factory=LoopbackPlatform)
    wakes: NoWakes = field(default_factory=NoWakes)
    desk: Desk = field(default_factory=lambda: Desk("scripted/model"))
    tools: tuple[Tool, ...] = ()
    judge: Judge = field(default_factory=ScriptedJudge)
    hooks: HookRegistry = field(default_factory=HookRegistry)
    """Asked about answers."""

    def __post_init__(self) -> None:
        self.door = Inbox(self.store, self.clock, self.settings, self.wakes, self.desk)

    def worker(
        self,
        name: str = "one",
        replies: Sequence[Scripted] = (),
        failpoints: Failpoints | None = None,
        channel: LoopbackChannel | None = None,
        *,
        model: Any = None,
        sees: bool = False,
    ) -> Worker:
        """A worker of that name with the parts a daemon has."""
        points = failpoints or NoFailpoints()
        model = model or ScriptedModel(replies)
        route = ModelRoute(model, "scripted/model", "model", 100_000, 4_000, sees)  # type: ignore[arg-type]
        loaded = Loaded(self.settings, {}, None, self.folder)
        services = build_services(self.store, loaded, route, points, (FixedTools(self.tools),))
        own = channel or LoopbackChannel(self.platform)
        channels = {own.name: own}
        delivery = Delivery(
            DeliveryParts(
                *(self.store, channels, self.clock, points, Redactor(), name),
                spool=services.shelf.outgoing,
            )
        )
        leases = Leases(self.store, self.clock, name, self.settings.limits.lease_s)
        parts = TurnParts(
            services,
            leases,
            delivery,
            channels,
            VerifyParts(self.judge, services.clock, self.hooks),
        )
        runner = TurnRunner(parts)
        return Worker(name, runner, leases, delivery, model, own, services.shelf.workspaces)

    async def say(
        self, text: str, *, thread: Thread = THREAD, sender: str = "U1", **more: object
    ) -> InboundMessage:
        """A person writes and intake stores it."""
        message = self.platform.message(thread, text, sender, **more)
        accepted = await self.door.accept(message)
        assert accepted == Accepted("stored"), accepted
        return message

    def terms(self, owner: str = "one", lease_s: float = LEASE_S) -> ClaimTerms:
        """What a worker of that name claims under."""
        return ClaimTerms(
            owner=owner,
            now_us=self.clock.now_us(),
            lease_us=int(lease_s * 1_000_000),
            model="scripted/model",
            compose=compose_request,
        )

    async def claim(self, session_id: SessionId, owner: str = "one") -> Claim | Due | None:
        """Claim a session as that worker."""
        terms = self.terms(owner)
        return await self.store.write("claim", lambda tx: claim_session(tx, session_id, terms))

    async def session_id(self, thread: Thread = THREAD) -> SessionId:
        """The session a thread is bound to."""
        found = await self.store.read(lambda tx: find_session(tx, thread))
        assert found is not None
        return found

    async def rows(self, *columns: Any, order: Any = None, **where: object) -> list[Any]:
        """Values of a table, in row order: plain values for one column, tuples for more."""
        return await self.store.read(lambda tx: _pick(tx, columns, order, where))

    async def state(self, session_id: SessionId) -> str:
        """A session's state."""
        (found,) = await self.rows(sessions.c.state, order=sessions.c.id, id=session_id)
        return str(found)

    async def said(self, kind: str) -> list[str]:
        """The bodies of the outbox rows of one kind."""
        return await self.rows(outbox.c.body, kind=kind)


def _pick(tx: Any, columns: Sequence[Any], order: Any, where: dict[str, object]) -> list[Any]:
    table = columns[0].table
    query: Select[Any] = select(*columns)
    for name, value in where.items():
        query = query.where(table.c[name] == value)
    found = tx.execute(query.order_by(order if order is not None else table.c.id)).all()
    return [row[0] if len(columns) == 1 else tuple(row) for row in found]


GRANTED = ("list_files", "write_file", "read_file", "update_plan")


def make_settings(granted: Sequence[str] = (), **limits: object) -> Settings:
    """The settings of the room: one binding whose profile grants the tools of the tests."""
    return Settings.model_validate(
        {
            "bindings": [BINDING],
            "limits": {"lease_s": LEASE_S, **limits},
            "profiles": {"spine": {"tools": [*GRANTED, *granted]}},
        }
    )


@asynccontextmanager
async def open_room(
    folder: Path,
    *,
    clock: Clock | None = None,
    failpoints: Failpoints | None = None,
    tools: tuple[Tool, ...] = (),
    settings: Settings | None = None,
    **limits: object,
) -> AsyncIterator[SpineRoom]:
    """A room over a fresh database, closed at the end."""
    time = clock or RoomClock()
    lay_database(folder / "geode.db")
    store = Store.open(folder / "geode.db", time, failpoints or NoFailpoints())
    try:
        granted = [tool.name for tool in tools]
        chosen = settings or make_settings(granted, **limits)
        yield SpineRoom(store, time, folder, chosen, tools=tools)
    finally:
        await store.close()


async def until(is_so: Callable[[], Any], *, timeout_s: float = 5.0) -> Any:
    """Wait for an observable state; an awaitable condition is awaited."""
    async with asyncio.timeout(timeout_s):
        while True:
            found = is_so()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.005)
