"""A strict small chat server for the toy channel of the docs: rooms, threads, one numbered log."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from channels.rehearsal.faults import Fault, FaultKind, Faults

TOKEN = "toy-secret-token"
BOT, ANA, BEN, STRANGER = "bot", "ana", "ben", "stranger"
LOBBY, OTHER = "lobby", "other"
TEXT_MAX = 4_000
BUTTONS_MAX = 5
PAGE_MAX = 100
FIELDS = {
    "events": {"after", "wait_s", "room"},
    "say": {"room", "thread", "text", "key", "buttons"},
    "edit": {"id", "text", "buttons"},
    "find": {"key"},
    "whisper": {"to", "text"},
}


class RefusedError(Exception):
    """The call is refused for this reason."""


@dataclass(slots=True)
class Said:
    """One message as the room keeps it."""

    id: str
    room: str
    thread: str
    author: str
    text: str
    key: str = ""
    buttons: list[dict[str, str]] = field(default_factory=list)
    only_for: str = ""
    edits: list[str] = field(default_factory=list)
    is_gone: bool = False


class ToyServer:
    """The server on loopback; people act by its methods, the channel over HTTP."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.rooms = {LOBBY, OTHER}
        self.said: list[Said] = []
        self.refused: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._events: list[dict[str, Any]] = []
        self._seq = 0
        self._changed = asyncio.Event()
        self._polls: list[web.Request] = []
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """What to configure as `url`."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Listen on loopback, after a stop on the port of before."""
        app = web.Application(client_max_size=1 << 20)
        app.router.add_post("/{path}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Cut every poll and stop listening."""
        self.disconnect()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def disconnect(self) -> None:
        """Cut the connection of whoever waits for events."""
        for request in tuple(self._polls):
            _abort(request)

    def say(self, text: str, *, author: str = ANA, room: str = LOBBY, thread: str = "") -> Said:
        """A person writes; an empty room is the person's own one with the bot."""
        room = room or f"dm-{author}"
        self.rooms.add(room)
        said = self._keep(room, thread, author, text)
        self._log(said.id, room=room, thread=thread, author=author, text=text)
        return said

    def press(self, said: Said, choice: str, *, author: str = ANA, text: str = "") -> None:
        """A person presses a button, with words when it asks for some."""
        seq = self._next_seq()
        spot = {"room": said.room, "thread": said.thread, "author": author}
        self._log(seq, **spot, text=text, choice=choice, on=said.id)

    def shown(self, room: str, thread: str) -> list[Said]:
        """What everybody sees of the bot in a thread, oldest first."""
        return [
            said
            for said in self.said
            if (said.room, said.thread) == (room, thread)
            and said.author == BOT
            and not (said.only_for or said.is_gone)
        ]

    def _keep(self, room: str, thread: str, author: str, text: str, **more: Any) -> Said:
        said = Said(self._next_seq(), room, thread, author, text, **more)
        self.said.append(said)
        return said

    def _next_seq(self) -> str:
        self._seq += 1
        return str(self._seq)

    def _log(self, seq: str, **event: str) -> None:
        self._events.append({"seq": int(seq), "at_us": time.time_ns() // 1_000, **event})
        self._changed.set()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        self.calls[path] += 1
        try:
            asked = await self._read(request, path)
            if (cut := self._fault_before(request, path, asked)) is not None:
                return cut
            methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
                "say": self._say,
                "edit": self._edit,
                "find": self._find,
                "whisper": self._whisper,
            }
            found = (
                await self._wait_events(request, asked)
                if path == "events"
                else methods[path](asked)
            )
        except RefusedError as refusal:
            self.refused[str(refusal)] += 1
            return web.json_response({"error": str(refusal)}, status=400)
        return await self._answer(request, path, asked, found)

    async def _read(self, request: web.Request, path: str) -> dict[str, Any]:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise RefusedError("The token is not known here.")
        if path not in FIELDS:
            raise RefusedError("There is no such call.")
        asked: dict[str, Any] = await request.json()
        if unknown := set(asked) - FIELDS[path]:
            raise RefusedError(f"There are no fields {sorted(unknown)}.")
        return asked

    def _take(self, kind: FaultKind, path: str, asked: dict[str, Any]) -> Fault | None:
        return self.faults.take(kind, path, str(asked.get("text", "")), str(asked.get("room", "")))

    def _fault_before(
        self, request: web.Request, path: str, asked: dict[str, Any]
    ) -> web.StreamResponse | None:
        if self._take(FaultKind.DROP_REQUEST, path, asked):
            _abort(request)
            return web.Response(status=500)
        if fault := self._take(FaultKind.RATE_LIMITED, path, asked):
            return web.json_response({"wait_s": fault.retry_after_s}, status=429)
        if fault := self._take(FaultKind.ERROR, path, asked):
            raise RefusedError(fault.error)
        return None

    async def _answer(
        self, request: web.Request, path: str, asked: dict[str, Any], found: dict[str, Any]
    ) -> web.StreamResponse:
        if fault := self._take(FaultKind.SLOW_RESPONSE, path, asked):
            await asyncio.sleep(fault.delay_s)
        if self._take(FaultKind.DROP_RESPONSE, path, asked):
            _abort(request)
            return web.Response(status=500)
        return web.json_response(found)

    async def _wait_events(self, request: web.Request, asked: dict[str, Any]) -> dict[str, Any]:
        after = int(asked["after"])
        if after < 0:
            return {"events": [], "seq": self._seq}
        self._polls.append(request)
        try:
            async with asyncio.timeout(float(asked.get("wait_s", 0))):
                while not self._list(after, asked):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return {"events": [], "seq": after}
        finally:
            self._polls.remove(request)
        found = self._list(after, asked)[:PAGE_MAX]
        return {"events": found, "seq": found[-1]["seq"]}

    def _list(self, after: int, asked: dict[str, Any]) -> list[dict[str, Any]]:
        room = asked.get("room")
        return [
            event
            for event in self._events
            if event["seq"] > after and room in (None, event["room"])
        ]

    def _say(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["room"] not in self.rooms:
            raise RefusedError("There is no such room here any more.")
        buttons = self._check(asked)
        said = self._keep(
            asked["room"], asked["thread"], BOT, asked["text"], key=asked["key"], buttons=buttons
        )
        return {"id": said.id}

    def _edit(self, asked: dict[str, Any]) -> dict[str, Any]:
        said = next((each for each in self.said if each.id == asked["id"]), None)
        if said is None or said.author != BOT or said.is_gone or said.room not in self.rooms:
            raise RefusedError("There is no such message of yours.")
        buttons = self._check(asked)
        said.edits.append(said.text)
        said.text, said.buttons = asked["text"], buttons
        return {"id": said.id}

    def _find(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"id": next((each.id for each in self.said if each.key == asked["key"]), None)}

    def _whisper(self, asked: dict[str, Any]) -> dict[str, Any]:
        event = next(each for each in self._events if each["seq"] == asked["to"])
        self._check(asked)
        author = event["author"]
        self._keep(event["room"], event["thread"], BOT, asked["text"], only_for=author)
        return {}

    def _check(self, asked: dict[str, Any]) -> list[dict[str, str]]:
        """The buttons; raises `RefusedError` when the message cannot be shown."""
        if not asked["text"].strip() or len(asked["text"]) > TEXT_MAX:
            raise RefusedError("A message has between 1 and 4,000 characters.")
        buttons: list[dict[str, str]] = asked.get("buttons", [])
        if len(buttons) > BUTTONS_MAX or any(
            set(button) != {"label", "choice", "asks"} or len(button["choice"]) > 64
            for button in buttons
        ):
            raise RefusedError("A message has at most five buttons, each with a label and choice.")
        return buttons


def _abort(request: web.Request) -> None:
    if isinstance(request.transport, asyncio.Transport):
        request.transport.abort()
