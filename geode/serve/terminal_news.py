"""Clients at the terminal that wait for news: each is woken and then reads what it missed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from geode.errors import ControlError
from geode.messages import Thread

LISTENERS_MAX = 24
TOO_MANY = "Too many terminals listen at once; close one, or try again in half a minute."


class TerminalNews:
    """Wakes every listener; keeps what is true at this moment only: the line of a running turn."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()
        self._lines: dict[Thread, str] = {}

    @contextmanager
    def listen(self) -> Generator[asyncio.Event]:
        """An event that is set at any news, for the length of the block."""
        if len(self._listeners) >= LISTENERS_MAX:
            raise ControlError(TOO_MANY)
        news = asyncio.Event()
        self._listeners.add(news)
        try:
            yield news
        finally:
            self._listeners.discard(news)

    def announce(self) -> None:
        """Something was kept or changed."""
        for news in self._listeners:
            news.set()

    def say_line(self, thread: Thread, line: str) -> None:
        """What is being done in a conversation; empty: nothing."""
        if line:
            self._lines[thread] = line
        else:
            self._lines.pop(thread, None)
        self.announce()

    def line_of(self, thread: Thread) -> str:
        """What is being done in a conversation now."""
        return self._lines.get(thread, "")
