"""The demo's processes: local platforms and the daemon; all end when the demo does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import aiohttp
import orjson

from geode.cli.demo_page import LocalPage, choose_port
from geode.cli.demo_platform import LocalPlatform, write_configuration
from geode.cli.demo_platforms import PLATFORMS
from geode.errors import ControlError

READY_S = 30.0
END_S = 10.0


@asynccontextmanager
async def open_page() -> AsyncGenerator[LocalPage]:
    """The daemon's own page, as a browser sees it."""
    async with aiohttp.ClientSession() as http:
        yield LocalPage(choose_port(), http)


@asynccontextmanager
async def start_platforms(
    names: Sequence[str], folder: Path
) -> AsyncGenerator[list[LocalPlatform]]:
    """Local platforms, each a process of its own, for the length of the block."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        started: list[tuple[str, asyncio.subprocess.Process]] = []
        for name in names:
            command = ("-m", "channels.rehearsal", name)
            process = await _start(command, folder / f"{name}.log", dict(os.environ))
            stack.push_async_callback(_end, process)
            started.append((name, process))
        platforms: list[LocalPlatform] = []
        for name, process in started:
            line = await _read_line(process, folder / f"{name}.log")
            facts = cast("dict[str, Any]", orjson.loads(line))
            platforms.append(PLATFORMS[name](facts, http))
        yield platforms


class DaemonProcess:
    """`geode serve` on a folder of its own; can be killed and started again."""

    def __init__(self, home: Path, platforms: Sequence[LocalPlatform], page: LocalPage) -> None:
        platforms = [*platforms, page]
        self.page = page
        self.home = home
        self.log = home / "serve.log"
        self.config = home / "geode.toml"
        self.config.write_text(write_configuration(platforms), encoding="utf-8")
        # The operator's own settings must not reach into the demo.
        kept = {key: value for key, value in os.environ.items() if not key.startswith("GEODE_")}
        self._environ = kept | {"GEODE_HOME": str(home)}
        for platform in platforms:
            self._environ |= platform.environ()
        self._names = [platform.name for platform in platforms]
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The running process."""
        assert self._process is not None, "the daemon was started"
        return self._process.pid

    async def start(self) -> None:
        """Start it and return once every channel is up; `ControlError` when it ends first."""
        command = ("-m", "geode.cli", "serve", "--log", "json", "--config", str(self.config))
        self._process = await _start(command, self.log, self._environ)
        awaited = {f"{name} is up" for name in self._names}
        while awaited:
            line = (await _read_line(self._process, self.log)).decode()
            awaited -= {words for words in awaited if words in line}
        self._reading = asyncio.create_task(_drop_lines(self._process))

    async def kill(self) -> None:
        """End it as a crash would: SIGKILL, nothing is written any more."""
        assert self._process is not None, "the daemon was started"
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()
        await self.end()

    async def end(self) -> None:
        """Let it drain and end; safe to call twice."""
        if self._reading is not None:
            self._reading.cancel()
        if self._process is not None:
            await _end(self._process)


async def _start(
    arguments: tuple[str, ...], log: Path, environ: dict[str, str]
) -> asyncio.subprocess.Process:
    """A Python process that ends when its standard input does, so even our own crash ends it."""
    with log.open("ab") as errors:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            "--until-stdin-closes",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=environ,
            start_new_session=True,  # Ctrl-C is ours to pass on, in order
        )


async def _read_line(process: asyncio.subprocess.Process, log: Path) -> bytes:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(READY_S):
            line = await process.stdout.readline()
    except TimeoutError:
        raise ControlError(f"A process of the demo did not start in time; see {log}.") from None
    if not line:
        raise ControlError(f"A process of the demo ended at its start; see {log}.")
    return line


async def _drop_lines(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    while await process.stdout.readline():
        pass


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    if process.stdin is not None:
        process.stdin.close()
