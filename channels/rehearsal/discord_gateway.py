"""The gateway of the stand-in: sessions that can be resumed, one zlib stream per connection."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
import zlib
from collections import Counter, deque
from dataclasses import dataclass, field

import orjson
from aiohttp import WSMsgType, web

from channels.fields import int_of, object_of, text_of, to_object
from channels.rehearsal.discord_state import BOT, GUILD, DiscordWorld
from channels.rehearsal.discord_wire import RESUME_URL, application_json, guild_json, user_json
from channels.rehearsal.faults import FaultKind, Faults
from geode.messages import JsonObject, JsonValue

CONTENT_INTENT = 1 << 15
MISSED_MAX = 1_000
FRAME_BYTES_MAX = 4_096
"""A client's frame above this is refused with 4002."""


@dataclass(slots=True)
class Session:
    """What may be resumed: the number of the last event, and the events themselves."""

    id: str
    seq: int = 0
    events: deque[tuple[int, str, JsonObject]] = field(
        default_factory=lambda: deque[tuple[int, str, JsonObject]](maxlen=MISSED_MAX)
    )


class Connection:
    """One open socket and its compression."""

    def __init__(self, ws: web.WebSocketResponse, request: web.Request) -> None:
        self.ws = ws
        self.transport = request.transport
        self.session: Session | None = None
        self.is_frozen = False
        self._zlib = zlib.compressobj()
        self._lock = asyncio.Lock()

    async def send(self, op: int, data: JsonValue, name: str | None = None, seq: int = 0) -> None:
        """One frame; a socket that is gone swallows it."""
        frame = orjson.dumps({"op": op, "d": data, "t": name, "s": seq or None})
        if self.is_frozen:
            return
        async with self._lock:
            packed = self._zlib.compress(frame) + self._zlib.flush(zlib.Z_SYNC_FLUSH)
            with contextlib.suppress(ConnectionError):
                await self.ws.send_bytes(packed)

    async def hang_up(self, code: int, *, is_abrupt: bool = False) -> None:
        """Close with a code; abruptly: gone before the client can answer the close frame."""
        closing = asyncio.create_task(self.ws.close(code=code))
        if is_abrupt and self.transport is not None:
            await asyncio.sleep(0)
            self.transport.close()
        await closing


class Gateway:
    """Every session and connection; each event is kept for whoever resumes."""

    def __init__(self, world: DiscordWorld, faults: Faults, token: str) -> None:
        self._world = world
        self._faults = faults
        self._token = token
        self.heartbeat_ms = 41_250
        self.identify_close = 0
        """When set, the code with which an IDENTIFY is answered (4004, 4014)."""
        self.is_invited = True
        """Whether the bot is in the server."""
        self.resume_close = 0
        """When set, the code with which a RESUME is answered."""
        self.is_abrupt = False
        """Whether a socket that is closed with a code is gone at once."""
        self.sessions: dict[str, Session] = {}
        self.connections: list[Connection] = []
        self.counters: Counter[str] = Counter()
        self.frames: list[JsonObject] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """`wss://gateway.discord.gg/?v=10&encoding=json&compress=zlib-stream`."""
        self.counters["connections"] += 1
        if self._faults.take(FaultKind.REFUSE_UPGRADE):
            return web.Response(status=503)
        asked = request.query
        wanted = {"v": "10", "encoding": "json", "compress": "zlib-stream"}
        if any(asked.get(name) != value for name, value in wanted.items()):
            self.counters["wrong_query"] += 1
            return web.Response(status=400)
        ws = web.WebSocketResponse(max_msg_size=4 << 20)
        await ws.prepare(request)
        connection = Connection(ws, request)
        self.connections.append(connection)
        try:
            await self._talk(connection)
        finally:
            self.connections.remove(connection)
            self.counters[f"closed_{ws.close_code}"] += 1
        return ws

    async def _talk(self, connection: Connection) -> None:
        if not self._faults.take(FaultKind.NO_HELLO):
            trace: list[JsonValue] = []
            hello: JsonObject = {"heartbeat_interval": self.heartbeat_ms, "_trace": trace}
            await connection.send(10, hello)
        async for message in connection.ws:
            if message.type is not WSMsgType.TEXT or len(message.data) > FRAME_BYTES_MAX:
                await connection.ws.close(code=4002)
                return
            await self._take(connection, to_object(orjson.loads(message.data)))

    async def _take(self, connection: Connection, frame: JsonObject) -> None:
        self.frames.append(frame)
        match int_of(frame, "op", -1):
            case 1:
                self.counters["heartbeats"] += 1
                if not self._faults.take(FaultKind.IGNORE_ACK):
                    await connection.send(11, None)
            case 2:
                await self._identify(connection, object_of(frame, "d"))
            case 6:
                await self._resume(connection, object_of(frame, "d"))
            case 3 | 4 | 8:
                self.counters["other_ops"] += 1
            case _:
                await connection.ws.close(code=4001)

    async def _identify(self, connection: Connection, asked: JsonObject) -> None:
        self.counters["identifies"] += 1
        close = self._refuse(asked)
        if close:
            self.counters[f"refused_{close}"] += 1
            await connection.hang_up(close, is_abrupt=self.is_abrupt)
            return
        session = Session(uuid.uuid4().hex)
        self.sessions[session.id] = connection_session = session
        connection.session = connection_session
        ready: JsonObject = {
            "v": 10,
            "user": user_json(self._world.people[BOT]),
            "guilds": [{"id": GUILD, "unavailable": True}] if self.is_invited else [],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": RESUME_URL,
            "shard": [0, 1],
            "application": {"id": BOT, "flags": application_json(self._world)["flags"]},
            "user_settings": {},
            "private_channels": [],
            "relationships": [],
        }
        await self._dispatch_to(session, "READY", ready)
        if self.is_invited:
            await self._dispatch_to(session, "GUILD_CREATE", guild_json(self._world))

    async def invite(self) -> None:
        """Somebody lets the bot into the server."""
        self.is_invited = True
        await self.dispatch("GUILD_CREATE", guild_json(self._world))

    def _refuse(self, asked: JsonObject) -> int:
        if self.identify_close:
            return self.identify_close
        if text_of(asked, "token") != self._token:
            return 4004
        wants_content = int_of(asked, "intents") & CONTENT_INTENT
        return 4014 if wants_content and not self._world.has_content_intent else 0

    async def _resume(self, connection: Connection, asked: JsonObject) -> None:
        session = self.sessions.get(text_of(asked, "session_id"))
        seq = int_of(asked, "seq")
        if text_of(asked, "token") != self._token:
            await connection.ws.close(code=4004)
        elif self.resume_close:
            self.counters["resumes_closed"] += 1
            await connection.hang_up(self.resume_close)
        elif session is None or seq > session.seq:
            self.counters["resumes_refused"] += 1
            await connection.send(9, False)
        else:
            self.counters["resumes"] += 1
            connection.session = session
            for number, name, data in [event for event in session.events if event[0] > seq]:
                self.counters["replayed"] += 1
                await connection.send(0, data, name, number)
            await self._dispatch_to(session, "RESUMED", {"_trace": []})

    async def dispatch(self, name: str, data: JsonObject) -> None:
        """Tell every session; one without a socket hears it when it resumes."""
        for session in list(self.sessions.values()):
            await self._dispatch_to(session, name, data)

    async def _dispatch_to(self, session: Session, name: str, data: JsonObject) -> None:
        session.seq += 1
        session.events.append((session.seq, name, data))
        for connection in [c for c in self.connections if c.session is session]:
            await connection.send(0, data, name, session.seq)

    async def replay(self, count: int) -> int:
        """Send the last `count` messages once more under new numbers."""
        total = 0
        for session in list(self.sessions.values()):
            for _, name, data in list(session.events)[-count:]:
                total += 1
                await self._dispatch_to(session, name, data)
        return total

    async def ask_reconnect(self) -> None:
        """Op 7 on every connection."""
        for connection in list(self.connections):
            await connection.send(7, None)

    async def invalidate(self, *, is_resumable: bool) -> None:
        """Op 9; without `is_resumable` every session is forgotten first."""
        if not is_resumable:
            self.sessions.clear()
        for connection in list(self.connections):
            await connection.send(9, is_resumable)

    async def close_all(self, code: int) -> None:
        """Close every connection with that code."""
        for connection in list(self.connections):
            await connection.hang_up(code, is_abrupt=self.is_abrupt)

    def kill_all(self) -> int:
        """Cut every connection without a close frame."""
        for connection in self.connections:
            if connection.transport is not None:
                connection.transport.abort()
        return len(self.connections)

    def freeze_all(self) -> int:
        """Let every open connection answer nothing from now on."""
        for connection in self.connections:
            connection.is_frozen = True
        return len(self.connections)
