"""A server that runs here: its own environment, its own process group, ended whole."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from geode.errors import McpServerError
from geode.log import get_logger
from geode.mcp.words import clean_words

log = get_logger(__name__)

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_S = 2.0
"""For the server to end by itself once its input is closed."""
TERM_S = 2.0
"""After SIGTERM, before SIGKILL."""
KILL_S = 5.0
WORDS_MAX = 100
"""Lines of its stderr that reach the log, per start."""
WORDS_CHARS_MAX = 500
_CHUNK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started."""

    server: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    """The whole of it."""
    folder: Path


class Child:
    """One started server; `end` must be awaited whatever happens."""

    def __init__(self, launch: Launch, process: Process) -> None:
        self.launch = launch
        self._process = process
        self._listener = asyncio.create_task(self._listen(), name=f"stderr of {launch.server}")
        assert process.stdin is not None
        assert process.stdout is not None
        self.input = process.stdin
        self.output = process.stdout

    @classmethod
    async def start(cls, launch: Launch) -> Child:
        """Start it in a new session; raises `McpServerError`."""
        program = _find_program(launch)
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *launch.command[1:],
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=dict(launch.environment),
                cwd=launch.folder,
                start_new_session=True,
                limit=MESSAGE_BYTES_MAX,
            )
        except OSError as error:
            raise McpServerError(f"{program} cannot be started ({error.strerror})") from error
        return cls(launch, process)

    @property
    def pid(self) -> int:
        """The process that leads the group."""
        return self._process.pid

    async def end(self) -> None:
        """Close its input, then end its whole group with more and more force; bounded."""
        try:
            self.input.close()
            if not await self._ends_within(CLOSE_S):
                self._signal(signal.SIGTERM)
                await self._ends_within(TERM_S)
        finally:
            # Also when the leader has ended: what it started must not outlive it.
            self._signal(signal.SIGKILL)
            self._listener.cancel()
        if not await self._ends_within(KILL_S):
            log.warning("mcp_server_not_ended", server=self.launch.server, pid=self.pid)
        # A grandchild outside the group may hold the pipes; nothing waits for it.
        _close_transport(self._process)

    async def _ends_within(self, seconds: float) -> bool:
        deadline = asyncio.get_running_loop().time() + seconds
        # Not `wait()`: it also waits for pipes that a grandchild may hold open.
        while self._process.returncode is None:
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(0.02)
        return True

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def _listen(self) -> None:
        """Take its stderr off it for ever; the first lines go to the log."""
        stream = self._process.stderr
        assert stream is not None
        told = 0
        while chunk := await stream.read(_CHUNK_BYTES):
            if told >= WORDS_MAX:
                continue
            for line in chunk.decode("utf-8", "replace").splitlines()[: WORDS_MAX - told]:
                told += 1
                words = clean_words(line, WORDS_CHARS_MAX)
                log.info("mcp_server_said", server=self.launch.server, words=words)
            if told >= WORDS_MAX:
                log.info("mcp_server_said_more", server=self.launch.server)


def _find_program(launch: Launch) -> str:
    """The program by its path, or by its name on the child's own search path, then on ours."""
    name = launch.command[0]
    if "/" in name:
        return name
    for path in (launch.environment.get("PATH"), os.environ.get("PATH")):
        found = shutil.which(name, path=path) if path else None
        if found is not None:
            return found
    raise McpServerError(f"there is no program {name!r}")


def _close_transport(process: Process) -> None:
    transport = getattr(process, "_transport", None)
    close = getattr(transport, "close", None)
    if callable(close):
        close()
