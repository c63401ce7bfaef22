"""What a person types: a line with its history, while what arrives is printed above it."""

from __future__ import annotations

import asyncio
import signal
import sys
import termios
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.patch_stdout import patch_stdout


class Interrupts:
    """Ctrl-C while nobody types, as an event instead of an end."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()

    @contextmanager
    def caught(self) -> Generator[None]:
        """Take SIGINT for the length of the block; call it inside the running loop."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._asked.set)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def wait(self) -> None:
        """The next one."""
        await self._asked.wait()
        self._asked.clear()


class TypedInterruptError(Exception):
    """Ctrl-C was pressed in the line; Python's own exception would end the loop at once."""


class LineReader(Protocol):
    """Asks for one line, and lets news come in meanwhile."""

    async def read(
        self, prompt: str, news: Callable[[], Awaitable[object]], is_over: Callable[[], bool]
    ) -> str | None:
        """A typed line; None when news ended the question before, and the draft is kept.

        Raises `EOFError` and `TypedInterruptError` as the person asked.
        """
        ...

    def forget(self) -> None:
        """What was typed before the question was seen is no answer to it."""
        ...


class Keys:
    """The line at the bottom of the terminal."""

    def __init__(self, history: Sequence[str]) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(history), interrupt_exception=TypedInterruptError
        )
        self._draft = ""

    async def read(
        self, prompt: str, news: Callable[[], Awaitable[object]], is_over: Callable[[], bool]
    ) -> str | None:
        """A typed line, or None."""
        with patch_stdout(raw=True):
            typing = asyncio.ensure_future(
                self._session.prompt_async(prompt, default=self._draft, handle_sigint=False)
            )
            coming = asyncio.ensure_future(news())
            try:
                while not typing.done():
                    await asyncio.wait({typing, coming}, return_when=asyncio.FIRST_COMPLETED)
                    if coming.done() and not typing.done():
                        await coming
                        if is_over():
                            return await self._put_aside(typing)
                        coming = asyncio.ensure_future(news())
                self._draft = ""
                return typing.result()
            finally:
                coming.cancel()
                typing.cancel()
                with suppress(asyncio.CancelledError, EOFError, TypedInterruptError):
                    await typing

    def forget(self) -> None:
        """Drop the draft, and what the terminal holds."""
        self._draft = ""
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    async def _put_aside(self, typing: asyncio.Future[str]) -> None:
        self._draft = self._session.default_buffer.text
        self._session.app.exit(result="")
        await typing


@contextmanager
def quiet_keys() -> Generator[None]:
    """What is typed meanwhile is not shown; it is there for the next line."""
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    quiet = termios.tcgetattr(number)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(number, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(number, termios.TCSANOW, before)
