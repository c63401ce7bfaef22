"""A host for the page alone: it serves what `Pages` makes, keeps what is posted and says events."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fakes.page_html import ME, THREAD, answer, say
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from channels.web.articles import thread_url
from channels.web.pages import STATIC, Pages
from channels.web.views import Line, Report, RoomView, Section, Talk, Viewer
from geode.messages import JsonObject
from geode.transcripts import RoomMessage, RoomThread

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
VIEWER = Viewer("local", "You", is_operator=True, may_sign_out=True)
ROOMS = (RoomView("home", "Home"), RoomView("local", "Direct", is_direct=True))
SEEN_S = 8.0
TALK = thread_url(THREAD)
PATHS = ("/rooms/home", TALK, "/operator", "/login", "/fault")


@dataclass(frozen=True)
class Posted:
    """One form as it arrived."""

    path: str
    fields: dict[str, str]
    files: tuple[str, ...]


@dataclass
class PageHost:
    """What the page is told, and what it said."""

    browser: Browser
    address: str = ""
    messages: list[RoomMessage] = field(default_factory=list)
    status: str = ""
    revision: int = 1
    posted: list[Posted] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """After which revision each event stream began."""
    refusal: str = ""
    """Not empty: the next posts are refused with this sentence."""
    is_away: bool = False
    """Event streams end, and no new one is opened."""
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings of any page's console, and requests to elsewhere."""
    refused: int = 0
    """Event streams that were not opened."""
    pages: Pages = field(default_factory=lambda: Pages("Geode"))
    _contexts: list[BrowserContext] = field(default_factory=list)
    _streams: set[asyncio.Queue[str]] = field(default_factory=set)
    _said: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def open(self, path: str = TALK, **options: Any) -> Page:
        """A page of a browser of its own, loaded, with its event stream open."""
        context: BrowserContext = await self.browser.new_context(**options)
        self._contexts.append(context)
        context.set_default_timeout(SEEN_S * 1_000)
        page = await context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._look(request.url))
        streams = len(self._streams)
        await page.goto(self.address + path)
        if path == TALK and options.get("java_script_enabled", True):
            await self.wait(lambda: len(self._streams) > streams)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _look(self, url: str) -> None:
        if not url.startswith(self.address):
            self.complaints.append(f"asked {url}")

    async def wait(self, is_so: Callable[[], bool]) -> None:
        """Wait until something that the page did is so."""
        async with asyncio.timeout(SEEN_S), self._said:
            await self._said.wait_for(is_so)

    async def wait_posts(self, count: int) -> Posted:
        """The last of so many forms."""
        await self.wait(lambda: len(self.posted) >= count)
        return self.posted[-1]

    async def wait_refused_streams(self, count: int) -> None:
        """Until so many streams were asked for in vain."""
        await self.wait(lambda: self.refused >= count)

    def put(self, message: RoomMessage) -> None:
        """Keep a message and tell every open page."""
        self.messages = [m for m in self.messages if m.id != message.id]
        self.messages = sorted([*self.messages, message], key=lambda m: m.id)
        self.tell("message", {"id": message.id, "html": self.pages.show_message(VIEWER, message)})

    def tell(self, event: str, row: JsonObject) -> None:
        """Send one event to every open page."""
        self.revision += 1
        for stream in self._streams:
            stream.put_nowait(f"id: {self.revision}\nevent: {event}\ndata: {json.dumps(row)}\n\n")

    async def close(self) -> None:
        """Close every page."""
        for context in self._contexts:
            await context.close()

    def leave(self) -> None:
        """End every stream; the browser comes back in vain until `is_away` is False again."""
        self.is_away = True
        for stream in self._streams:
            stream.put_nowait("")

    def make_app(self) -> Starlette:
        """The routes that the page uses."""
        return Starlette(
            routes=[
                Route("/rooms/{room}", self._show_room, methods=["GET"]),
                Route("/rooms/{room}", self._take, methods=["POST"]),
                Route(TALK, self._show_thread, methods=["GET"]),
                Route(TALK, self._take, methods=["POST"]),
                Route(f"{TALK}/events", self._stream),
                Route("/press", self._take, methods=["POST"]),
                Route("/operator", self._show_operator),
                Route("/login", self._show_login),
                Route("/fault", self._show_fault),
                Mount("/static", StaticFiles(directory=STATIC)),
            ]
        )

    def _page(self, html: str) -> Response:
        return HTMLResponse(html, headers={"Content-Security-Policy": POLICY})

    def _threads(self) -> list[RoomThread]:
        return [RoomThread(THREAD, m, m.said_at_us) for m in self.messages[:1]]

    async def _show_room(self, request: Request) -> Response:
        return self._page(self.pages.show_room(VIEWER, ROOMS, ROOMS[0], self._threads()))

    async def _show_thread(self, request: Request) -> Response:
        talk = Talk(THREAD, self.messages, self.revision, (), self.status)
        return self._page(self.pages.show_thread(VIEWER, ROOMS, ROOMS[0], self._threads(), talk))

    async def _show_operator(self, request: Request) -> Response:
        lines = (Line(("slack", "down", "word " * 40), level="bad"),)
        section = Section("channels", "Channels", ("Channel", "State", "What to do"), lines)
        return self._page(self.pages.show_operator(VIEWER, ROOMS, Report(("Full.",), (section,))))

    async def _show_login(self, request: Request) -> Response:
        return self._page(self.pages.show_login("This token is not known here."))

    async def _show_fault(self, request: Request) -> Response:
        return self._page(self.pages.show_fault(404, "There is no such page."))

    async def _take(self, request: Request) -> Response:
        async with request.form() as form:
            rows = form.multi_items()
            fields = {k: v for k, v in rows if isinstance(v, str)}
            files = [v.filename or "" for _, v in rows if isinstance(v, UploadFile)]
        async with self._said:
            self.posted.append(Posted(request.url.path, fields, tuple(f for f in files if f)))
            self._said.notify_all()
        if request.headers["accept"] != "application/json":
            return RedirectResponse(TALK, 303)
        if self.refusal:
            return JSONResponse({"error": self.refusal}, 400)
        return JSONResponse({"id": "1", "url": TALK}, 201)

    async def _stream(self, request: Request) -> Response:
        self.asked.append(request.headers.get("last-event-id", "") or request.query_params["after"])
        if self.is_away:
            async with self._said:
                self.refused += 1
                self._said.notify_all()
            return Response(status_code=503)
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncGenerator[str]:
        stream: asyncio.Queue[str] = asyncio.Queue(1_000)
        async with self._said:
            self._streams.add(stream)
            self._said.notify_all()
        try:
            yield "retry: 100\n\n"
            while event := await stream.get():
                yield event
        finally:
            self._streams.discard(stream)


def begin_talk() -> list[RoomMessage]:
    """A conversation with something of everything that may be wide or long."""
    table = "| a | b |\n|---|---|\n| " + "word " * 30 + " | " + "x" * 200 + " |"
    code = "```python\n" + "a_long_name = " * 20 + "\n```"
    card: JsonObject = {
        "title": "Did it happen?",
        "body": "Nobody knows.",
        "fields": [["Tool", "`write_file`"], ["Arguments", f"```json\n{'y' * 300}\n```"]],
        "buttons": [
            {"label": "It happened", "nonce": "n1", "style": "primary", "asks": ""},
            {"label": "It did not happen", "nonce": "n2", "style": "danger", "asks": ""},
            {"label": "Answer", "nonce": "n3", "style": "plain", "asks": "What happened?"},
        ],
    }
    steps: JsonObject = {
        "kind": "progress",
        "markdown": "reading · 3 s",
        "card": None,
        "steps": [{"title": "z" * 100, "state": "done"}, {"title": "b", "state": "running"}],
    }
    return [
        say(1, {"text": "Please do it. " + "w" * 200}, ME),
        answer(2, f"# Result\n\n{table}\n\n{code}\n\n- [a](https://a.example)\n\nمرحبا"),
        say(3, {"kind": "card", "markdown": "x", "card": card, "steps": []}),
        say(4, steps),
    ]


@asynccontextmanager
async def open_host(browser: Browser) -> AsyncGenerator[PageHost]:
    """A served page, for the length of the block; the console must stay silent."""
    listening = socket.create_server(("127.0.0.1", 0))
    host = PageHost(browser, f"http://127.0.0.1:{listening.getsockname()[1]}")
    config = uvicorn.Config(host.make_app(), log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield host
    finally:
        host.leave()
        await host.close()
        server.should_exit = True
        await task
        listening.close()
