"""The event stream of one open conversation: what is new, as it is now, until the page goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import orjson
from starlette.responses import Response, StreamingResponse

from channels.web.live import Listener, TooManyStreamsError
from channels.web.site import Site, Spot, may_see
from channels.web.views import Viewer
from geode.errors import StoreError
from geode.ports import Clock

PAGE = 100
QUIET_S = 15.0
"""Between two signs of life on a stream on which nothing happens."""
STREAM_S_MAX = 600.0
"""A stream ends after this, and the browser opens the next one where it ended."""


@dataclass(slots=True)
class Stream:
    """One open page: where it stands, and what of this moment it was told."""

    site: Site
    spot: Spot
    viewer: Viewer
    after: int
    clock: Clock
    _marks: frozenset[str] = frozenset()
    _line: str = field(default="")

    def answer(self) -> Response:
        """The stream as a response; raises `TooManyStreamsError` before it begins."""
        hub, person_id = self.site.hub, self.spot.person.id
        if hub.is_full(person_id):
            raise TooManyStreamsError

        async def tell() -> AsyncGenerator[bytes]:
            # Whoever goes before the first byte never comes here, and leaves no listener behind.
            with suppress(TooManyStreamsError), hub.listen(person_id) as listener:
                async for event in self.events(listener):
                    yield event

        return StreamingResponse(tell(), media_type="text/event-stream")

    async def events(self, listener: Listener) -> AsyncGenerator[bytes]:
        """Events until the stream has lived long enough, the right to see is gone, or we close."""
        until = self.clock.monotonic() + STREAM_S_MAX
        yield b"retry: 1000\n\n"
        while not self.site.hub.is_closed and self.clock.monotonic() < until:
            place = self.spot.place
            if self.site.find_spot(self.spot.person, place.channel, place.thread) is None:
                return
            listener.news.clear()
            try:
                async for event in self._tell_news():
                    yield event
            except StoreError:
                return  # the browser comes back and says meanwhile that it is away
            try:
                async with asyncio.timeout(QUIET_S):
                    await listener.news.wait()
            except TimeoutError:
                yield b": still here\n\n"

    async def _tell_news(self) -> AsyncGenerator[bytes]:
        is_more = True
        while is_more:
            platform = self.spot.place.platform
            found = await self.site.transcript.read_changes(platform, after=self.after, limit=PAGE)
            marks = self.site.hub.marks_of(self.spot.place)
            for message in found:
                self.after = message.revision
                if message.thread != self.spot.place or not may_see(self.spot.person, message):
                    continue
                is_marked = message.id in marks
                show = partial(self.site.pages.show_message, self.viewer, message, is_marked)
                html = await self.site.hub.draw(show)
                yield _event("message", {"id": message.id, "html": html}, message.revision)
            is_more = len(found) == PAGE
        for event in self._tell_moment():
            yield event

    def _tell_moment(self) -> list[bytes]:
        marks = self.site.hub.marks_of(self.spot.place)
        line = self.site.hub.status_of(self.spot.place)
        changed = sorted(marks ^ self._marks)
        events = [_event("mark", {"id": each, "is_on": each in marks}) for each in changed]
        if line != self._line:
            events.append(_event("status", {"line": line}))
        self._marks, self._line = marks, line
        return events


def _event(kind: str, said: dict[str, object], revision: int = 0) -> bytes:
    # JSON holds no line break, so an event is one line of data whatever is said in it.
    number = b"id: %d\n" % revision if revision else b""
    return b"%sevent: %s\ndata: %s\n\n" % (number, kind.encode(), orjson.dumps(said))
