"""The typed line where the terminal can do nothing but print: whole lines, as they come."""

from __future__ import annotations

import asyncio
import sys
import termios
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

from geode.cli.chat_keys import Interrupts, TypedInterruptError

LINES_MAX = 100
LINE_CHARS_MAX = 100_000


class LineFeed:
    """Reads standard input beside the loop, whose end waits for no line."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str] = asyncio.Queue(LINES_MAX)
        """Each with its end; an empty one is the end of all."""
        self._is_reading = False

    def begin(self) -> None:
        """Read from now on; safe to call twice."""
        if self._is_reading:
            return
        self._is_reading = True
        loop = asyncio.get_running_loop()

        def follow() -> None:
            with suppress(RuntimeError, OSError):  # the loop has ended already
                while True:
                    line = sys.stdin.readline(LINE_CHARS_MAX)
                    asyncio.run_coroutine_threadsafe(self.lines.put(line), loop).result()
                    if not line:
                        return

        threading.Thread(target=follow, name="lines", daemon=True).start()


class PlainKeys:
    """Asks for whole lines; one that comes while nobody asks is the next one's answer."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._feed = LineFeed()
        self._lines = self._feed.lines

    async def read(
        self, prompt: str, news: Callable[[], Awaitable[object]], is_over: Callable[[], bool]
    ) -> str | None:
        """A typed line, or None."""
        self._feed.begin()
        sys.stdout.write(prompt)
        sys.stdout.flush()
        typing = asyncio.ensure_future(self._lines.get())
        coming = asyncio.ensure_future(news())
        interrupted = asyncio.ensure_future(self._interrupts.wait())
        try:
            while not typing.done():
                waiting = {typing, coming, interrupted}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if interrupted.done():
                    raise TypedInterruptError
                if coming.done():
                    await coming
                    if is_over():
                        return None
                    coming = asyncio.ensure_future(news())
            if not typing.result():
                raise EOFError
            return typing.result().rstrip("\n")
        finally:
            for each in (typing, coming, interrupted):
                each.cancel()

    def forget(self) -> None:
        """Drop the lines that came, and what the terminal holds."""
        while not self._lines.empty():
            self._lines.get_nowait()
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
