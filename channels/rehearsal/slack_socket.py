"""Socket Mode: single-use tickets, each envelope to one open connection, again until acked."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson
from aiohttp import WSMessage, WSMsgType, web

from channels.fields import text_of, to_object
from channels.rehearsal.faults import FaultKind, Faults
from geode.messages import JsonObject, JsonValue

CONNECTIONS_MAX = 10
RETRIES_MAX = 3
PENDING_MAX = 10_000
UNREPEATED = frozenset({"interactive", "slash_commands"})
"""What Slack delivers once: the person sees that it failed, and tries again."""


@dataclass(eq=False, slots=True)
class Connection:
    """One open socket of the app."""

    ws: web.WebSocketResponse
    transport: asyncio.Transport | None
    is_deaf: bool = False
    is_frozen: bool = False
    sent: int = 0


@dataclass(eq=False, slots=True)
class Envelope:
    """One event on its way: delivered until acknowledged or out of retries."""

    kind: str
    payload: JsonObject
    ids: list[str] = field(default_factory=list[str])
    """One envelope id per attempt; an acknowledgement of any of them counts."""
    retries: int = 0
    is_acked: bool = False
    answer: JsonObject = field(default_factory=dict[str, JsonValue])
    timer: asyncio.TimerHandle | None = None
    on_ack: Callable[[JsonObject], None] | None = None
    """Called once with what the app answered."""


class SocketHub:
    """Every socket of the app and every event that is not acknowledged yet."""

    def __init__(self, faults: Faults, *, ack_deadline_s: float, app_id: str) -> None:
        self._faults = faults
        self._app_id = app_id
        self.ack_deadline_s = ack_deadline_s
        self.counters: Counter[str] = Counter()
        self.connections: list[Connection] = []
        self.envelopes: list[Envelope] = []
        self._tickets: dict[str, bool] = {}
        self._by_id: dict[str, Envelope] = {}
        self._turn = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def issue_ticket(self) -> str:
        """A ticket that opens one socket, once."""
        self.counters["opens"] += 1
        ticket = uuid.uuid4().hex
        self._tickets[ticket] = False
        return ticket

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Upgrade a request with a fresh ticket; anything else is refused and counted."""
        ticket = request.query.get("ticket", "")
        refusal = self._refusal(ticket)
        if refusal:
            self.counters[refusal] += 1
            return web.Response(status=403, text=refusal)
        self._tickets[ticket] = True
        if self._faults.take(FaultKind.REFUSE_UPGRADE):
            self.counters["upgrade_refused"] += 1
            return web.Response(status=403, text="upgrade_refused")
        return await self._run_connection(request)

    def _refusal(self, ticket: str) -> str:
        if ticket not in self._tickets:
            return "unknown_ticket"
        return "used_ticket" if self._tickets[ticket] else ""

    async def _run_connection(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse(autoping=False, heartbeat=None, max_msg_size=4 << 20)
        await ws.prepare(request)
        connection = Connection(ws, request.transport)
        if len(self.connections) >= CONNECTIONS_MAX:
            self.counters["too_many_websockets"] += 1
            await ws.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            await ws.close()
            return ws
        connection.is_frozen = self._faults.take(FaultKind.FROZEN) is not None
        connection.is_deaf = self._faults.take(FaultKind.DEAF) is not None
        self.counters["connections"] += 1
        if not connection.is_frozen and not self._faults.take(FaultKind.NO_HELLO):
            await self._greet(connection)
        try:
            await self._read(connection)
        finally:
            with contextlib.suppress(ValueError):
                self.connections.remove(connection)
        return ws

    async def _greet(self, connection: Connection) -> None:
        self.connections.append(connection)
        await connection.ws.send_json(
            {
                "type": "hello",
                "num_connections": len(self.connections),
                "connection_info": {"app_id": self._app_id},
                "debug_info": {
                    "host": "applink-rehearsal",
                    "build_number": 1,
                    "approximate_connection_time": 18060,
                },
            }
        )
        for envelope in [e for e in self.envelopes if not e.is_acked and e.retries <= RETRIES_MAX]:
            await self._send(envelope)

    async def _read(self, connection: Connection) -> None:
        while connection.is_frozen:
            await asyncio.sleep(0.05)
            if connection.transport is None or connection.transport.is_closing():
                return
        async for message in connection.ws:
            await self._take_frame(connection, message)

    async def _take_frame(self, connection: Connection, message: WSMessage) -> None:
        if connection.is_frozen:
            return
        if message.type is WSMsgType.PING:
            self.counters["pings"] += 1
            await connection.ws.pong(message.data)
        elif message.type is WSMsgType.TEXT:
            self._take_ack(to_object(orjson.loads(message.data)))

    def _take_ack(self, answer: JsonObject) -> None:
        envelope = self._by_id.get(text_of(answer, "envelope_id"))
        if envelope is None:
            self.counters["unknown_envelope"] += 1
            return
        if self._faults.take(FaultKind.IGNORE_ACK):
            self.counters["acks_ignored"] += 1
            return
        self.counters["acks"] += 1
        envelope.is_acked = True
        envelope.answer = to_object(answer.get("payload"))
        if envelope.timer is not None:
            envelope.timer.cancel()
        if envelope.on_ack is not None:
            envelope.on_ack(envelope.answer)

    async def deliver(
        self, kind: str, payload: JsonObject, on_ack: Callable[[JsonObject], None] | None = None
    ) -> Envelope:
        """Send one event to one open connection; with none open it waits for the next."""
        envelope = Envelope(kind, payload, on_ack=on_ack)
        self.envelopes.append(envelope)
        if len(self.envelopes) > PENDING_MAX:
            self._forget(self.envelopes.pop(0))
        await self._send(envelope)
        return envelope

    async def redeliver(self, count: int) -> int:
        """Send the last `count` events once more, acknowledged or not."""
        last = self.envelopes[-count:]
        for envelope in last:
            envelope.retries += 1
            await self._send(envelope)
        return len(last)

    def _forget(self, envelope: Envelope) -> None:
        for envelope_id in envelope.ids:
            self._by_id.pop(envelope_id, None)
        if envelope.timer is not None:
            envelope.timer.cancel()

    async def _send(self, envelope: Envelope) -> None:
        connection = self._next_connection()
        if connection is None:
            return
        envelope_id = str(uuid.uuid4())
        envelope.ids.append(envelope_id)
        self._by_id[envelope_id] = envelope
        self.counters["redeliveries" if len(envelope.ids) > 1 else "deliveries"] += 1
        self._watch(envelope)
        if connection.is_deaf or connection.is_frozen:
            self.counters["unheard"] += 1
            return
        with contextlib.suppress(ConnectionError):
            await connection.ws.send_json(_wire(envelope, envelope_id))

    def _next_connection(self) -> Connection | None:
        if not self.connections:
            return None
        self._turn += 1
        return self.connections[self._turn % len(self.connections)]

    def _watch(self, envelope: Envelope) -> None:
        if envelope.timer is not None:
            envelope.timer.cancel()
        if envelope.is_acked:
            return
        loop = asyncio.get_running_loop()
        envelope.timer = loop.call_later(self.ack_deadline_s, self._retry_later, envelope)

    def _retry_later(self, envelope: Envelope) -> None:
        if envelope.is_acked or not self.connections:
            return
        if envelope.kind in UNREPEATED:
            self.counters["unanswered"] += 1
            return
        envelope.retries += 1
        if envelope.retries > RETRIES_MAX:
            self.counters["given_up"] += 1
            return
        task = asyncio.ensure_future(self._send(envelope))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def disconnect_all(self, reason: str) -> int:
        """Tell every connection that it will go, as Slack does before a refresh."""
        open_now = list(self.connections)
        for connection in open_now:
            await connection.ws.send_json(
                {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink"}}
            )
        return len(open_now)

    def kill_all(self) -> int:
        """Cut every connection without a close frame."""
        open_now, self.connections = self.connections, []
        for connection in open_now:
            if connection.transport is not None:
                connection.transport.abort()
        return len(open_now)

    def deafen_all(self) -> int:
        """Let every open connection answer pings and hear no event from now on."""
        for connection in self.connections:
            connection.is_deaf = True
        return len(self.connections)

    def freeze_all(self) -> int:
        """Let every open connection answer nothing from now on, pings included."""
        for connection in self.connections:
            connection.is_frozen = True
        return len(self.connections)

    async def close(self) -> None:
        """Close every socket and every timer."""
        for envelope in self.envelopes:
            self._forget(envelope)
        for connection in list(self.connections):
            await connection.ws.close()
        for task in list(self._tasks):
            task.cancel()


def _wire(envelope: Envelope, envelope_id: str) -> JsonObject:
    wire: JsonObject = {
        "envelope_id": envelope_id,
        "type": envelope.kind,
        "accepts_response_payload": envelope.kind in ("slash_commands", "interactive"),
        "payload": envelope.payload,
    }
    if envelope.kind == "events_api":
        wire["retry_attempt"] = envelope.retries
        wire["retry_reason"] = "timeout" if envelope.retries else ""
    return wire
