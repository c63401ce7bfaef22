"""The page's addresses: what is shown, and what a form does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from channels.web.forms import (
    FILE_BYTES_MAX,
    FormRefusedError,
    SentFile,
    find_type,
    list_files,
    open_form,
    read_key,
    read_text,
)
from channels.web.health import tell_alive, tell_metrics, tell_ready
from channels.web.live import TooManyStreamsError
from channels.web.operator import read_report
from channels.web.pages import FILES_MAX, STATIC, room_url, thread_url
from channels.web.parse import Pressing
from channels.web.places import place_of
from channels.web.site import Site, Spot, is_other
from channels.web.streams import Stream
from channels.web.views import Unsent
from geode.errors import StoreError
from geode.messages import OutboundFile, Person
from geode.ports import Clock
from geode.transcripts import RoomMessage

NOT_HERE = "There is no such page here, or it is not for you."
NOT_STORED = "It could not be stored just now; try again in a moment."
SIGN_IN = "Sign in first."
SAY_SOMETHING = "Write something or attach a file."
NO_ROOM = (
    "No room is served here for you. Whoever runs this service adds a [[bindings]] "
    'with channel = "web" to geode.toml.'
)
SENT_BEFORE = (
    "This form was sent before with other words, so these were not; load the page again to send "
    "them."
)
TOO_MANY = "Too many pages are open; close some and load this one again."
NOT_KNOWN = "That token is not known here."
BARRED = "Too many wrong tokens came just now; wait a minute and try again."
WRONG_TOKEN_S = 0.5
"""Whoever guesses waits for each answer."""
SHOWN_INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
SANDBOX = "sandbox; default-src 'none'"

Handler = Callable[[Request, Person], Awaitable[Response]]


class RefusedError(Exception):
    """The request is not answered as asked; the message is one sentence for the person."""

    def __init__(self, sentence: str, status: int, unsent: Unsent | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.unsent = unsent
        """What the person wrote, which a page without scripts would lose."""


class Routes:
    """The handlers; each page is made for one person, and what is not theirs is not there."""

    def __init__(self, site: Site, clock: Clock) -> None:
        self._site = site
        self._clock = clock

    def make_app(self) -> Starlette:
        """The application that the server runs."""
        theirs = self._for_person
        thread = "/rooms/{room}/{thread}"
        return Starlette(
            routes=[
                Route("/healthz", self._healthz),
                Route("/readyz", self._readyz),
                Route("/login", self._show_login, methods=["GET"]),
                Route("/login", self._sign_in, methods=["POST"]),
                Route("/logout", self._sign_out, methods=["POST"]),
                Route("/", theirs(self._show_first)),
                Route("/operator", theirs(self._show_operator)),
                Route("/metrics", theirs(self._metrics)),
                Route("/press", theirs(self._press), methods=["POST"]),
                Route("/files/{message}/{number:int}/{name}", theirs(self._send_file)),
                Route("/rooms/{room}", theirs(self._show_room), methods=["GET"]),
                Route("/rooms/{room}", theirs(self._begin), methods=["POST"]),
                Route(f"{thread}/events", theirs(self._follow)),
                Route(thread, theirs(self._show_thread), methods=["GET"]),
                Route(thread, theirs(self._say), methods=["POST"]),
                Mount("/static", StaticFiles(directory=STATIC)),
            ],
            exception_handlers={404: self._not_here, 405: self._not_here},
        )

    def _for_person(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """The handler for whoever is signed in, with every fault told in one sentence."""

        async def handle(request: Request) -> Response:
            person = self._site.find_person(request)
            if person is None:
                return self._ask_to_sign_in(request)
            try:
                return await handler(request, person)
            except RefusedError as error:
                return self._tell_fault(request, error.status, str(error), error.unsent)
            except FormRefusedError as error:
                return self._tell_fault(request, error.status, str(error))
            except TooManyStreamsError:
                return self._tell_fault(request, 503, TOO_MANY)
            except StoreError:
                return self._tell_fault(request, 503, NOT_STORED)

        return handle

    def _ask_to_sign_in(self, request: Request) -> Response:
        is_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if is_page:
            return RedirectResponse("/login", 303)
        return self._tell_fault(request, 401, SIGN_IN)

    def _tell_fault(
        self, request: Request, status: int, sentence: str, unsent: Unsent | None = None
    ) -> Response:
        if _wants_json(request):
            return JSONResponse({"error": sentence}, status)
        return HTMLResponse(self._site.pages.show_fault(status, sentence, unsent), status)

    async def _not_here(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return self._tell_fault(request, status, NOT_HERE)

    async def _healthz(self, request: Request) -> Response:
        return await tell_alive()

    async def _readyz(self, request: Request) -> Response:
        return await tell_ready(self._site.operator_view)

    async def _metrics(self, request: Request, person: Person) -> Response:
        self._need_operator(person)
        return await tell_metrics(self._site.operator_view)

    async def _show_operator(self, request: Request, person: Person) -> Response:
        self._need_operator(person)
        report = await read_report(self._site.operator_view)
        viewer, rooms = self._site.viewer_of(person), self._site.rooms_of(person)
        return HTMLResponse(self._site.pages.show_operator(viewer, rooms, report))

    def _need_operator(self, person: Person) -> None:
        if not self._site.is_operator(person):
            raise RefusedError(NOT_HERE, 404)

    async def _show_login(self, request: Request) -> Response:
        if not self._site.sign_ins.has_tokens or self._site.find_person(request):
            return RedirectResponse("/", 303)
        return HTMLResponse(self._site.pages.show_login())

    async def _sign_in(self, request: Request) -> Response:
        try:
            async with open_form(request) as form:
                token = read_text(form, "token").strip()
        except FormRefusedError as error:
            return HTMLResponse(self._site.pages.show_login(str(error)), error.status)
        sign_ins = self._site.sign_ins
        person = sign_ins.try_token(token)
        if person is None:
            await self._clock.sleep(WRONG_TOKEN_S)
            fault, status = (BARRED, 429) if sign_ins.is_barred else (NOT_KNOWN, 403)
            return HTMLResponse(self._site.pages.show_login(fault), status)
        response = RedirectResponse("/", 303)
        sign_ins.sign_in(response, person)
        return response

    async def _sign_out(self, request: Request) -> Response:
        response = RedirectResponse("/login", 303)
        self._site.sign_ins.sign_out(response)
        return response

    async def _show_first(self, request: Request, person: Person) -> Response:
        rooms = self._site.rooms_of(person)
        if not rooms:
            return self._tell_fault(request, 404, NO_ROOM)
        first = rooms[0]
        return RedirectResponse(room_url(first.id) + ("/-" if first.is_direct else ""), 303)

    async def _show_room(self, request: Request, person: Person) -> Response:
        spot = self._find_spot(request, person)
        if spot.room.is_direct:
            return RedirectResponse(thread_url(spot.place), 303)
        threads = await self._site.list_threads(spot)
        viewer, rooms = self._site.viewer_of(person), self._site.rooms_of(person)
        return HTMLResponse(self._site.pages.show_room(viewer, rooms, spot.room, threads))

    async def _show_thread(self, request: Request, person: Person) -> Response:
        spot = await self._find_conversation(request, person)
        talk = await self._site.read_talk(spot)
        threads = await self._site.list_threads(spot)
        viewer, rooms = self._site.viewer_of(person), self._site.rooms_of(person)
        show = partial(self._site.pages.show_thread, viewer, rooms, spot.room, threads, talk)
        return HTMLResponse(await self._site.hub.draw(show))

    async def _follow(self, request: Request, person: Person) -> Response:
        spot = await self._find_conversation(request, person)
        seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
        after = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 19 else 0
        stream = Stream(self._site, spot, self._site.viewer_of(person), after, self._clock)
        return stream.answer()

    async def _begin(self, request: Request, person: Person) -> Response:
        await self._turn_away(request, person)
        return await self._keep(request, self._find_spot(request, person), begins_thread=True)

    async def _turn_away(self, request: Request, person: Person) -> None:
        found: dict[str, Any] = request.path_params
        place = place_of(str(found["room"]), str(found.get("thread", "")))
        if not self._site.may_speak(person, place):
            async with open_form(request, files_max=FILES_MAX) as form:
                await self._site.turn_away(person, place, read_text(form, "text"))
            raise RefusedError(NOT_HERE, 404)

    async def _say(self, request: Request, person: Person) -> Response:
        await self._turn_away(request, person)
        spot = await self._find_conversation(request, person)
        return await self._keep(request, spot, begins_thread=False)

    async def _keep(self, request: Request, spot: Spot, *, begins_thread: bool) -> Response:
        async with open_form(request, files_max=FILES_MAX) as form:
            text, key, files = read_text(form, "text"), read_key(form), list_files(form)
            if not text.strip() and not files:
                raise RefusedError(SAY_SOMETHING, 400)
            url = room_url(spot.room.id) if begins_thread else thread_url(spot.place)
            unsent = Unsent(url, text, key)
            try:
                kept_files = [await self._keep_file(file) for file in files]
                message = RoomMessage(
                    spot.place,
                    f"said:{spot.person.id}:{key}",
                    {"text": self._site.redactor.take_out(text)},
                    spot.person,
                    files=tuple(kept_files),
                )
                begins = begins_thread and not spot.room.is_direct
                kept = await self._site.say(message, begins_thread=begins)
            except StoreError as error:
                # Sent again under its key it is one message, whichever half was stored.
                raise RefusedError(NOT_STORED, 503, unsent) from error
        if is_other(kept, message):
            raise RefusedError(SENT_BEFORE, 409, replace(unsent, key=""))
        if not _wants_json(request):
            return RedirectResponse(thread_url(kept.thread), 303)
        return JSONResponse({"id": kept.id, "url": thread_url(kept.thread)}, 201)

    async def _keep_file(self, file: SentFile) -> OutboundFile:
        content = await file.read()
        sha256 = await self._site.transcript.put_file(content)
        return OutboundFile(file.name, find_type(content), len(content), sha256)

    async def _press(self, request: Request, person: Person) -> Response:
        async with open_form(request) as form:
            words = read_text(form, "words")
            place = place_of(read_text(form, "room"), read_text(form, "thread"))
            message_id, nonce, key = (
                read_text(form, "message"),
                read_text(form, "nonce"),
                read_key(form),
            )
        pressing = Pressing(place, message_id, nonce, key, words)
        if self._site.may_speak(person, place):
            shown = await self._site.find_message(person, message_id)
            if shown is None or shown.thread != place:
                raise RefusedError(NOT_HERE, 404)
        # A stranger's press is refused where all others are: by intake, which counts it.
        await self._site.press(pressing, person)
        if not self._site.may_speak(person, place):
            raise RefusedError(NOT_HERE, 404)
        if not _wants_json(request):
            return RedirectResponse(thread_url(place), 303)
        return JSONResponse({"id": message_id, "url": thread_url(place)}, 201)

    async def _send_file(self, request: Request, person: Person) -> Response:
        found: dict[str, Any] = request.path_params
        message = await self._site.find_message(person, str(found["message"]))
        number = int(found["number"])
        if message is None or number >= len(message.files):
            raise RefusedError(NOT_HERE, 404)
        file = message.files[number]
        content = await self._site.transcript.get_file(file.sha256, FILE_BYTES_MAX)
        if content is None:
            raise RefusedError("The file is no longer kept.", 410)
        return Response(content, media_type=file.media_type, headers=_file_headers(file))

    def _find_spot(self, request: Request, person: Person) -> Spot:
        found: dict[str, Any] = request.path_params
        spot = self._site.find_spot(person, str(found["room"]), str(found.get("thread", "")))
        if spot is None:
            raise RefusedError(NOT_HERE, 404)
        return spot

    async def _find_conversation(self, request: Request, person: Person) -> Spot:
        spot = self._find_spot(request, person)
        if not await self._site.has_thread(spot):
            raise RefusedError(NOT_HERE, 404)
        return spot


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def _file_headers(file: OutboundFile) -> dict[str, str]:
    """Saved, not opened, but for pictures by their bytes; the name in the form of RFC 6266."""
    way = "inline" if file.media_type in SHOWN_INLINE else "attachment"
    name = quote(file.name, safe="")
    return {
        "Content-Disposition": f"{way}; filename*=UTF-8''{name}",
        "Content-Security-Policy": SANDBOX,
    }
