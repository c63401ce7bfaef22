"""The real `geode` command as a process: asked once, or serving until told to stop.

Unless a test says `is_started`, or gives the interpreter its own settings, the process is forked
from one that has imported the program before; see `fakes.forked`.
"""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
import termios
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.forked import Forked, Streams, fork_command, fork_piped
from pexpect.fdpexpect import fdspawn

GEODE = Path(sys.executable).with_name("geode")
ANSWER_S = 30.0


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def sentences(self) -> list[str]:
        """What stands on stderr beside log lines."""
        return [line for line in self.err.splitlines() if not line.startswith("{")]


@dataclass
class Serving:
    """A `geode serve` whose lines are collected as they come."""

    process: asyncio.subprocess.Process | Forked
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    async def wait_line(self, part: str, timeout_s: float = ANSWER_S) -> str:
        """The first line on stdout that holds this; fails when the process ends without it."""
        async with asyncio.timeout(timeout_s):
            while True:
                for line in self.lines:
                    if part in line:
                        return line
                if self.process.returncode is not None:
                    raise AssertionError(f"ended without {part!r}: {self.lines} {self.errors}")
                await asyncio.sleep(0.02)

    async def wait_lines(self, count: int, timeout_s: float = ANSWER_S) -> None:
        """Wait until so many lines stand on stdout."""
        async with asyncio.timeout(timeout_s):
            while len(self.lines) < count:  # noqa: ASYNC110 - lines of another process
                await asyncio.sleep(0.02)

    async def wait_end(self, timeout_s: float = ANSWER_S) -> int:
        """The exit code."""
        async with asyncio.timeout(timeout_s):
            return await self.process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


def command_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """What the command needs of ours, and what the test gives it.

    Platforms that it starts write down what they are asked where the test looks for it.
    """
    ours = ("PATH", "PYTHON", "REHEARSAL_")
    kept = {key: value for key, value in os.environ.items() if key.startswith(ours)}
    return kept | dict(environ)


async def run_geode(
    environ: Mapping[str, str], *arguments: str, cwd: Path | None = None, is_started: bool = False
) -> Ended:
    """Run `geode` to its end."""
    folder = cwd or Path(environ["GEODE_HOME"])
    if is_started or _has_own_interpreter(environ):
        process = await _start(environ, arguments, folder, asyncio.subprocess.DEVNULL)
    else:
        process = await fork_piped(command_environ(environ), arguments, folder)
    try:
        async with asyncio.timeout(ANSWER_S):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


@asynccontextmanager
async def in_terminal(
    environ: Mapping[str, str], arguments: Sequence[str], folder: Path, **read: Any
) -> AsyncGenerator[tuple[fdspawn, Forked]]:
    """`geode` in a pseudo-terminal, for the length of the block; `read` is of pexpect."""
    ours, theirs = pty.openpty()
    rows, columns = read.pop("dimensions", (24, 80))
    termios.tcsetwinsize(ours, (rows, columns))
    streams = Streams(theirs, theirs, theirs)
    try:
        process = await fork_command(environ, arguments, folder, streams, is_terminal=True)
    finally:
        os.close(theirs)
    terminal = fdspawn(ours, **read)
    try:
        yield terminal, process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        terminal.close()


async def run_in_terminal(environ: Mapping[str, str], *arguments: str) -> Ended:
    """Run `geode` to its end in a pseudo-terminal, where a person reads what it says."""
    told = command_environ(environ) | {"TERM": "xterm", "COLUMNS": "200"}
    folder = Path(environ["GEODE_HOME"])
    async with in_terminal(told, arguments, folder, timeout=ANSWER_S) as (terminal, process):
        async with asyncio.timeout(ANSWER_S):
            out = await asyncio.to_thread(terminal.read)
            code = await process.wait()
    return Ended(code, out.decode().replace("\r\n", "\n"), "")


@asynccontextmanager
async def serving(
    environ: Mapping[str, str], *arguments: str, is_started: bool = False
) -> AsyncGenerator[Serving]:
    """A `geode serve` for the length of the block; it never outlives the test."""
    folder = Path(environ["GEODE_HOME"])
    words = ("serve", "--until-stdin-closes", *arguments)
    if is_started or _has_own_interpreter(environ):
        process = await _start(environ, words, folder, asyncio.subprocess.PIPE)
    else:
        process = await fork_piped(command_environ(environ), words, folder, has_stdin=True)
    served = Serving(process)
    readers = [
        asyncio.create_task(_collect(process.stdout, served.lines)),
        asyncio.create_task(_collect(process.stderr, served.errors)),
    ]
    try:
        yield served
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()
        await asyncio.gather(*readers)
        if process.stdin is not None:
            process.stdin.close()


def _has_own_interpreter(environ: Mapping[str, str]) -> bool:
    """Whether a test wants modules found elsewhere, or another thing that Python reads once."""
    return any(name.startswith("PYTHON") for name in environ)


async def _start(
    environ: Mapping[str, str], arguments: Sequence[str], folder: Path, stdin: int
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        GEODE,
        *arguments,
        env=command_environ(environ),
        cwd=folder,
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def _collect(stream: asyncio.StreamReader | None, lines: list[str]) -> None:
    assert stream is not None
    while line := await stream.readline():
        lines.append(line.decode().rstrip("\n"))
