"""Runs an operator's command in a thread: bounded in time and output, its whole group ended."""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from geode.log import get_logger

log = get_logger(__name__)

POLL_S = 0.01
END_S = 5.0
"""How long the kernel may take to end a killed process before it is left to itself."""
STDERR_BYTES_MAX = 2_000
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Command:
    """What is started: an absolute program, its arguments, where, with which environment."""

    argv: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str]
    stdout_bytes_max: int


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended, and what it wrote."""

    code: int | None
    """None: it was ended before it ended by itself; below 0: by that signal."""
    stdout: bytes = b""
    stderr: bytes = b""
    """Its first bytes, for the operator."""
    is_too_long: bool = False
    fault: str = ""
    """Why it could not be started."""


class Processes:
    """A fixed number of commands at once; others wait their turn, and are late if it is long."""

    def __init__(self, parallel_max: int) -> None:
        self._threads = ThreadPoolExecutor(parallel_max, thread_name_prefix="hook")

    async def run(self, command: Command, given: bytes) -> ProcessEnd:
        """Run one command with these bytes on stdin; cancelled, it returns after its group died."""
        stop = threading.Event()
        running = self._threads.submit(_run, command, given, stop)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            # `wrap_future` cancels a job that has not begun; one that has is told, and ends itself.
            stop.set()
            running.cancel()
            await _wait_ended(running)
            raise


async def _wait_ended(running: Future[ProcessEnd]) -> None:
    if not running.cancelled():
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await ended.wait()


def _run(command: Command, given: bytes, stop: threading.Event) -> ProcessEnd:
    # A file in memory as stdin: who does not read it holds up nobody, who closes it breaks nothing.
    stdin = os.memfd_create("hook")
    try:
        with os.fdopen(os.dup(stdin), "wb") as stream:
            stream.write(given)
        os.lseek(stdin, 0, os.SEEK_SET)
        process = _start(command, stdin)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return ProcessEnd(None, fault=reason or type(error).__name__)
    finally:
        os.close(stdin)
    streams = _Streams(process, command.stdout_bytes_max)
    try:
        return _follow(process, streams, stop)
    finally:
        streams.close()


def _start(command: Command, stdin: int) -> subprocess.Popen[bytes]:
    # One argument list without a shell, all of it from the operator's file.
    return subprocess.Popen(  # noqa: S603
        command.argv,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(command.environ),
        cwd=command.folder,
        start_new_session=True,
        close_fds=True,
        bufsize=0,
    )


def _follow(
    process: subprocess.Popen[bytes], streams: _Streams, stop: threading.Event
) -> ProcessEnd:
    try:
        code = _watch(process, streams, stop)
    finally:
        # Not reaped yet, so the group's number cannot belong to anybody else.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
    return ProcessEnd(
        code, bytes(streams.stdout), bytes(streams.stderr), is_too_long=streams.is_too_long
    )


def _watch(
    process: subprocess.Popen[bytes], streams: _Streams, stop: threading.Event
) -> int | None:
    """Its exit code when it ended by itself."""
    while (code := _read_code(process)) is None:
        if stop.is_set() or streams.is_too_long:
            return None
        streams.read(POLL_S)
    streams.drain()
    return code


def _read_code(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of a dead process, which stays a zombie so that its number stays its own."""
    found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


class _Streams:
    """The two pipes of a process, each read up to its bound."""

    def __init__(self, process: subprocess.Popen[bytes], stdout_bytes_max: int) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.is_too_long = False
        self._stdout_bytes_max = stdout_bytes_max
        self._pipes = (process.stdout, process.stderr)
        self._selector = selectors.DefaultSelector()
        for pipe, kept in zip(self._pipes, (self.stdout, self.stderr), strict=True):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, kept)

    def read(self, wait_s: float) -> bool:
        """Take what has come, waiting that long at most; whether there was anything."""
        if not self._selector.get_map():
            threading.Event().wait(wait_s)
            return False
        ready = self._selector.select(wait_s)
        for key, _ in ready:
            self._take(key)
        return bool(ready)

    def drain(self) -> None:
        """Take what a process left in the pipes; whoever else still writes there is ignored."""
        rounds = 2 + self._stdout_bytes_max // 1_000
        while rounds and not self.is_too_long and self.read(0):
            rounds -= 1

    def close(self) -> None:
        """Let go of both pipes."""
        self._selector.close()
        for pipe in self._pipes:
            pipe.close()

    def _take(self, key: selectors.SelectorKey) -> None:
        chunk = os.read(key.fd, _CHUNK)
        if not chunk:
            self._selector.unregister(key.fileobj)
            return
        kept: bytearray = key.data
        if kept is self.stderr:
            kept += chunk[: STDERR_BYTES_MAX - len(kept)]
            return
        kept += chunk[: self._stdout_bytes_max + 1 - len(kept)]
        self.is_too_long = len(kept) > self._stdout_bytes_max
