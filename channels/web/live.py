"""Open pages: each is woken when something changed, and reads itself what it missed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from geode.messages import Thread

STREAMS_MAX = 100
STREAMS_PERSON_MAX = 20
MARKS_MAX = 1_000
DRAWN_AT_ONCE = 2
"""A long conversation takes seconds to draw: whoever asks for many leaves threads for others."""


class TooManyStreamsError(Exception):
    """More pages are open than are served at once."""


@dataclass(slots=True, eq=False)
class Listener:
    """One open page; only told that there is news, never what."""

    person_id: str
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Hub:
    """Wakes every open page; keeps what is true only at this moment: marks and status lines."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._marks: dict[str, Thread] = {}
        self._lines: dict[Thread, str] = {}
        self.is_closed = False
        self._drawing = asyncio.Semaphore(DRAWN_AT_ONCE)

    async def draw(self, make: Callable[[], str]) -> str:
        """Make a page beside the loop, which answers everybody else meanwhile."""
        async with self._drawing:
            return await asyncio.to_thread(make)

    def is_full(self, person_id: str) -> bool:
        """Whether no further page of the person can be followed."""
        counted = Counter(each.person_id for each in self._listeners)
        return len(self._listeners) >= STREAMS_MAX or counted[person_id] >= STREAMS_PERSON_MAX

    @contextmanager
    def listen(self, person_id: str) -> Generator[Listener]:
        """A listener for the length of the block; raises `TooManyStreamsError`."""
        if self.is_full(person_id):
            raise TooManyStreamsError
        listener = Listener(person_id)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def announce(self) -> None:
        """Something was kept or changed."""
        for listener in self._listeners:
            listener.news.set()

    def close(self) -> None:
        """Every stream ends."""
        self.is_closed = True
        self.announce()

    def mark(self, place: Thread, message_id: str, *, is_on: bool) -> None:
        """Show on a message that it is worked on, or no more."""
        if is_on and len(self._marks) < MARKS_MAX:
            self._marks[message_id] = place
        elif not is_on:
            self._marks.pop(message_id, None)
        self.announce()

    def say_status(self, place: Thread, line: str) -> None:
        """What is being done in a conversation; empty: nothing."""
        if line:
            self._lines[place] = line
        else:
            self._lines.pop(place, None)
        self.announce()

    def marks_of(self, place: Thread) -> frozenset[str]:
        """The marked messages of a conversation."""
        return frozenset(each for each, where in self._marks.items() if where == place)

    def status_of(self, place: Thread) -> str:
        """The line that stands below a conversation."""
        return self._lines.get(place, "")
