"""A channel between its platform and a real store: intake, delivery and catch-up, and no model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from fakes.contract_platform import ContractPlatform, Where, Who
from fakes.empty_database import lay_database
from sqlalchemy import Column, insert, select

from geode.errors import StorageFullError
from geode.intake.catchup import CatchUp
from geode.intake.inbox import Inbox
from geode.messages import (
    ButtonPress,
    Card,
    ChatCommand,
    Inbound,
    InboundMessage,
    OutboundBody,
    Person,
    Place,
    ReceiptId,
    Thread,
)
from geode.ports import Accepted, Channel, Failpoints, NoFailpoints, Role, SystemClock
from geode.records.settling import ask_people
from geode.reply.delivery import Delivery, DeliveryParts
from geode.reply.redaction import Redactor
from geode.settings import Settings
from geode.store import outbox as rows
from geode.store import sessions
from geode.store.blobs import Blobs
from geode.store.database import Store
from geode.store.outbox import NewOutbox
from geode.store.tables import inbox, outbox, outbox_parts, receipts

Kind = TypeVar("Kind", InboundMessage, ButtonPress, ChatCommand)
WAIT_S = 8.0
SECOND_LOOK_S = 0.1


UNCERTAIN = {
    "id": "r1",
    "turn_id": "t1",
    "step": 1,
    "position": 0,
    "binding": "",
    "mode": "daemon",
    "tool": "deploy",
    "effect": "mutate",
    "call_id": "c1",
    "arguments": '{"what": "site"}',
    "arguments_hash": "",
    "state": "uncertain",
    "epoch": 1,
    "prepared_at_us": 1,
}


class Killed(BaseException):
    """The process is gone: nothing may catch this."""


class KillAt:
    """Dies at the first point whose name begins so."""

    def __init__(self, point: str) -> None:
        self._point = point

    def hit(self, name: str) -> None:
        """Die here, or do nothing."""
        if name.startswith(self._point):
            raise Killed(name)


@dataclass
class ListeningDoor:
    """The real intake, with a list of what the channel handed in and a store that may be full."""

    inner: Inbox
    heard: list[Inbound] = field(default_factory=list)
    outcomes: list[Accepted] = field(default_factory=list)
    refusals: int = 0
    """So many events find no room in the store first."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """While it is not set, nothing is stored."""
    waiting: int = 0
    """Events that stand before the gate."""
    answers: list[str] = field(default_factory=list)
    """What the next commands and presses are answered, instead of what the intake says."""

    async def accept(self, event: Inbound) -> Accepted:
        """Hand the event on, unless there is no room for it."""
        assert isinstance(event, InboundMessage | ButtonPress | ChatCommand)
        self.waiting += 1
        await self.gate.wait()
        self.waiting -= 1
        if self.refusals:
            self.refusals -= 1
            self.inner.mark_catch_up_due(event.thread.platform)
            raise StorageFullError("the disk is full")
        accepted = await self.inner.accept(event)
        if self.answers and not isinstance(event, InboundMessage):
            accepted = replace(accepted, answer=self.answers.pop(0))
        self.heard.append(event)
        self.outcomes.append(accepted)
        return accepted

    def admits(self, event: Inbound) -> bool:
        """Ask the real intake."""
        return self.inner.admits(event)

    def role_of(self, person: Person, place: Thread, *, is_direct: bool = False) -> Role:
        """Ask the real intake."""
        return self.inner.role_of(person, place, is_direct=is_direct)

    async def confirm_read(self, place: Thread, order_key: str, message_id: str) -> None:
        """Hand it on."""
        await self.inner.confirm_read(place, order_key, message_id)

    async def move_place(self, old: Thread, new: Thread) -> None:
        """Hand it on."""
        await self.inner.move_place(old, new)

    def mark_catch_up_due(self, channel: str) -> None:
        """Hand it on."""
        self.inner.mark_catch_up_due(channel)

    def of(self, kind: type[Kind]) -> list[Kind]:
        """What was handed in of one kind, in order, each event once."""
        found: dict[str, Inbound] = {}
        for event in self.heard:
            found.setdefault(event.dedupe_key, event)
        return [event for event in found.values() if isinstance(event, kind)]


class Desk:
    """One process's share: everything of the daemon that touches a channel."""

    def __init__(
        self, store: Store, platform: ContractPlatform, failpoints: Failpoints, folder: Path
    ) -> None:
        self.store, self.platform = store, platform
        self.clock = SystemClock()
        self.channel = platform.make_channel()
        channels: dict[str, Channel] = {self.channel.name: self.channel}
        settings = Settings.model_validate({"bindings": list(platform.bindings)})
        self.delivery = Delivery(
            DeliveryParts(
                *(store, channels, self.clock, failpoints, Redactor(), "desk"),
                spool=Blobs(folder / "outgoing"),
                second_look_s=SECOND_LOOK_S,
            )
        )
        self.catch_up = CatchUp(store, self.clock, channels, settings.bindings)
        self.door = ListeningDoor(Inbox(store, self.clock, settings, self))
        self.door.gate.set()
        self.running: asyncio.Task[None] | None = None

    def wake_session(self, session_id: Any) -> None:
        """Nobody takes turns here."""

    def wake_session_later(self, session_id: Any) -> None:
        """Nobody takes turns here."""

    def wake_delivery(self, session_id: Any) -> None:
        """A row waits to be delivered."""
        self.delivery.wake(session_id)

    def mark_working(self, place: Place, message_id: str, since: float) -> None:
        """Nobody works here."""

    def clear_working(self, place: Place, message_id: str) -> None:
        """Nobody works here."""

    def stop_turn(self, session_id: Any, turn_id: Any) -> None:
        """Nobody takes turns here."""

    def mark_catch_up_due(self, channel: str) -> None:
        """The channel may have missed events."""
        self.catch_up.mark_due(channel)

    async def run(self) -> None:
        """Receive, deliver and read back until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.channel.start(self.door))
            tasks.create_task(self.delivery.run())
            tasks.create_task(self.catch_up.run(self.door))

    async def wait_for(self, is_so: Callable[[], object], timeout_s: float = WAIT_S) -> None:
        """Wait until something is observable."""
        async with asyncio.timeout(timeout_s):
            while not is_so():  # noqa: ASYNC110 - any observable state, not one event
                await asyncio.sleep(0.01)

    async def wait_up(self) -> None:
        """Wait until the channel says that it is up."""
        await self.wait_for(lambda: self.channel.status().state == "up")

    async def wait_died(self) -> None:
        """Wait until a failpoint has killed it."""
        assert self.running is not None
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait({self.running})

    async def begin(self, text: str = "hello", where: Where = "one", who: Who = "ana") -> Place:
        """A person addresses the agent; returns once that is stored."""
        message_id = await self.platform.begin(text, where, who)
        return await self.place_of(message_id)

    async def place_of(self, message_id: str) -> Place:
        """Where an answer to that message belongs, once the channel has handed it in."""
        await self.wait_for(lambda: message_id in self.ids())
        message = next(m for m in self.door.of(InboundMessage) if m.message_id == message_id)
        return Place(message.thread, message.reply_to)

    async def sender_of(self, place: Place, who: Who) -> str:
        """That person's id as the channel spells it: they say something for it."""
        said = await self.platform.follow(place, "it is me", who)
        await self.place_of(said)
        return next(m for m in self.door.of(InboundMessage) if m.message_id == said).sender.id

    def messages(self, place: Place | None = None) -> list[InboundMessage]:
        """The messages that were stored, of one thread or of all, in the platform's order."""
        taken = [
            event
            for event, accepted in zip(self.door.heard, self.door.outcomes, strict=True)
            if isinstance(event, InboundMessage)
            and accepted.outcome == "stored"
            and (place is None or event.thread == place.thread)
        ]
        return sorted(taken, key=lambda message: message.order_key)

    def ids(self) -> list[str]:
        """The ids of the messages that were handed in."""
        return [message.message_id for message in self.door.of(InboundMessage)]

    async def post(self, place: Place, *texts: str) -> None:
        """Queue messages for that thread, in order, as the runtime would."""
        for text in texts:
            await self.queue(place, NewOutbox("notice", text, text, place.reply_to))

    async def send(self, place: Place, body: OutboundBody, key: str = "key") -> list[str]:
        """Send a body past the outbox, part by part; returns the messages' ids."""
        parts = self.channel.plan(body)
        return [
            await self.channel.send(place, part, f"{key}:{number}")
            for number, part in enumerate(parts)
        ]

    async def send_card(self, place: Place, card: Card) -> str:
        """Send a card; returns the id of the message with its buttons."""
        sent = await self.send(place, OutboundBody(card.title, "card", card))
        (with_buttons,) = [each for each in sent if self.platform.labels(place, each)]
        return with_buttons

    async def queue(self, place: Place, new: NewOutbox) -> None:
        """Queue one row of the outbox for that thread."""
        now_us = self.clock.now_us()

        def unit(tx: Any) -> Any:
            session_id = sessions.find_session(tx, place.thread)
            assert session_id is not None
            rows.add_outbox(tx, session_id, new, now_us)
            return session_id

        self.delivery.wake(await self.store.write("post", unit))

    async def ask_about_effect(self, place: Place) -> str:
        """Queue the card of an effect of unknown outcome; returns the id of its message."""
        now_us = self.clock.now_us()

        def unit(tx: Any) -> Any:
            session_id = sessions.find_session(tx, place.thread)
            assert session_id is not None
            tx.execute(insert(receipts), UNCERTAIN | {"session_id": session_id})
            ask_people(tx, ReceiptId("r1"), place.reply_to, now_us)
            return session_id

        self.delivery.wake(await self.store.write("ask", unit))
        await self.wait_settled()
        sent = [each for each in await self.column(outbox_parts.c.message_id) if each]
        (with_buttons,) = [each for each in sent if self.platform.labels(place, each)]
        return str(with_buttons)

    async def wait_column(self, of: Column[Any], value: object) -> None:
        """Wait until every row of a table says that."""
        async with asyncio.timeout(WAIT_S):
            while set(await self.column(of)) != {value}:  # noqa: ASYNC110 - a row is no event
                await asyncio.sleep(0.02)

    async def column(self, of: Column[Any]) -> list[Any]:
        """One column of a table, in row order."""
        return await self.store.read(lambda tx: list(tx.execute(select(of)).scalars()))

    async def wait_settled(self, timeout_s: float = WAIT_S) -> list[str]:
        """Wait until no row of the outbox is open; returns the rows' states."""
        async with asyncio.timeout(timeout_s):
            while True:
                states = await self.column(outbox.c.state)
                if not {"queued", "sending"} & set(states):
                    return states
                await asyncio.sleep(0.02)

    async def stored(self) -> list[str]:
        """The words of what was stored, in the order in which turns will take them."""
        query = select(inbox.c.text).order_by(inbox.c.session_id, inbox.c.order_key)
        return await self.store.read(lambda tx: list(tx.execute(query).scalars()))


@asynccontextmanager
async def open_desk(
    folder: Path, platform: ContractPlatform, failpoints: Failpoints | None = None
) -> AsyncGenerator[Desk]:
    """A desk over the database in that folder, connected; a second one goes on where it ended."""
    path = folder / "geode.db"
    lay_database(path)
    points = failpoints or NoFailpoints()
    store = Store.open(path, SystemClock(), points)
    await store.write("leases.expire", sessions.expire_leases)
    desk = Desk(store, platform, points, folder)
    desk.running = asyncio.create_task(desk.run())
    try:
        await desk.wait_up()
        yield desk
    finally:
        desk.running.cancel()
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            await desk.running
        async with asyncio.timeout(WAIT_S):
            await desk.channel.stop()
        await store.close()
