"""The real `geode setup` in a pseudo-terminal, and somebody who answers it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pexpect
from fakes.forked import Forked
from fakes.geode_command import command_environ, in_terminal

PROMPT_S = 45.0
SIZE = (60, 400)
"""Rows and columns."""


class Terminal:
    """Waits for a question, answers it, and remembers all that was on the screen."""

    def __init__(self, child: Any, process: Forked) -> None:
        self._child = child
        self._process = process
        self._screen = io.StringIO()
        child.logfile_read = self._screen

    @property
    def screen(self) -> str:
        """Everything that was shown, what was typed and echoed included."""
        return self._screen.getvalue()

    async def see(self, words: str) -> None:
        """Wait until this is shown; fails with the screen when it does not come."""
        try:
            await asyncio.to_thread(self._child.expect_exact, words, timeout=PROMPT_S)
        except (pexpect.TIMEOUT, pexpect.EOF) as error:
            raise AssertionError(f"{words!r} was not shown:\n{self.screen}") from error

    async def answer(self, question: str, reply: str = "") -> None:
        """Wait for a question, and for the place to answer it, then type."""
        await self.see(question)
        await self.see(": ")
        await self._process.wait_resting(PROMPT_S)
        self._child.sendline(reply)

    async def play(self, *turns: tuple[str, str]) -> None:
        """Several answers, in order."""
        for question, reply in turns:
            await self.answer(question, reply)

    async def press(self, key: str) -> None:
        """Ctrl and a letter."""
        await self._process.wait_resting(PROMPT_S)
        self._child.send(chr(ord(key) & 0x1F))

    async def end(self) -> int:
        """The exit code."""
        await asyncio.to_thread(self._child.expect, pexpect.EOF, timeout=PROMPT_S)
        code = await self._process.wait()
        assert code >= 0, f"ended by signal {-code}"
        return code


@asynccontextmanager
async def setting_up(environ: Mapping[str, str], *arguments: str) -> AsyncGenerator[Terminal]:
    """A `geode setup` for the length of the block; it never outlives the test."""
    told = command_environ(environ) | {"TERM": "dumb"}
    read: dict[str, Any] = {"timeout": PROMPT_S, "encoding": "utf-8", "dimensions": SIZE}
    folder = Path(environ["HOME"])
    async with in_terminal(told, ("setup", *arguments), folder, **read) as (child, process):
        yield Terminal(child, process)
