"""The real `geode` command as a process: asked once, or serving until told to stop."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pexpect

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

    process: asyncio.subprocess.Process
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


async def run_geode(environ: Mapping[str, str], *arguments: str, cwd: Path | None = None) -> Ended:
    """Run `geode` to its end."""
    process = await asyncio.create_subprocess_exec(
        GEODE,
        *arguments,
        env=command_environ(environ),
        cwd=cwd or environ["GEODE_HOME"],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(ANSWER_S):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def run_in_terminal(environ: Mapping[str, str], *arguments: str) -> Ended:
    """Run `geode` to its end in a pseudo-terminal, where a person reads what it says."""

    def run() -> tuple[bytes, int]:
        return pexpect.run(
            shlex.join([str(GEODE), *arguments]),
            env=command_environ(environ) | {"TERM": "xterm", "COLUMNS": "200"},
            cwd=environ["GEODE_HOME"],
            timeout=ANSWER_S,
            withexitstatus=True,
        )

    out, code = await asyncio.to_thread(run)
    return Ended(code, out.decode().replace("\r\n", "\n"), "")


@asynccontextmanager
async def serving(environ: Mapping[str, str], *arguments: str) -> AsyncGenerator[Serving]:
    """A `geode serve` for the length of the block; it never outlives the test."""
    process = await asyncio.create_subprocess_exec(
        GEODE,
        "serve",
        "--until-stdin-closes",
        *arguments,
        env=command_environ(environ),
        cwd=environ["GEODE_HOME"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    served = Serving(process)
    readers = [
        asyncio.create_task(_collect(process.stdout, served.lines)),
        asyncio.create_task(_collect(process.stderr, served.errors)),
    ]
    try:
        yield served
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await asyncio.gather(*readers)
        if process.stdin is not None:
            process.stdin.close()


async def _collect(stream: asyncio.StreamReader | None, lines: list[str]) -> None:
    assert stream is not None
    while line := await stream.readline():
        lines.append(line.decode().rstrip("\n"))
