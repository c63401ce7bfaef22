"""Processes of the `geode` command that are forked: quick to begin, else like started ones.

A command imports for longer than most tests run. One process of each test worker does that once;
`fork_server.py` says what a child then has of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from fakes.source_tree import ROOT

PROGRAM = Path(__file__).with_name("fork_server.py")
SERVER_END_S = 5.0
PROGRAM_S = 45.0


@dataclass(frozen=True)
class Streams:
    """What a child has as its three streams; the descriptors stay the caller's."""

    stdin: int
    stdout: int
    stderr: int


@dataclass
class Forked:
    """A child, with the part of asyncio's own process that tests use."""

    pid: int
    _told: asyncio.StreamReader
    stdout: asyncio.StreamReader | None = None
    stderr: asyncio.StreamReader | None = None
    stdin: BinaryIO | None = None
    returncode: int | None = None

    async def wait(self) -> int:
        """The exit code; negative is a signal's number."""
        if self.returncode is None:
            self.returncode = int(await self._told.read())
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """All that it says, once it has ended."""
        assert self.stdout is not None
        assert self.stderr is not None
        out, err, _ = await asyncio.gather(self.stdout.read(), self.stderr.read(), self.wait())
        return out, err

    async def wait_resting(self, timeout_s: float) -> None:
        """Until its main thread waits, as at a question: what is typed before may be lost."""
        async with asyncio.timeout(timeout_s):
            while not self._is_resting():  # noqa: ASYNC110 - the state of another process
                await asyncio.sleep(0.01)

    def _is_resting(self) -> bool:
        stat = Path("/proc", str(self.pid), "stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] == "S"

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Raises `ProcessLookupError` when it has ended."""
        if self.returncode is not None:
            raise ProcessLookupError(self.pid)
        os.kill(self.pid, number)


async def fork_piped(
    environ: Mapping[str, str], arguments: Sequence[str], folder: Path, *, has_stdin: bool = False
) -> Forked:
    """Fork a command whose output, and input if asked for, goes through pipes."""
    stdin, ours = os.pipe() if has_stdin else (os.open(os.devnull, os.O_RDONLY), -1)
    (out, stdout), (err, stderr) = os.pipe(), os.pipe()
    try:
        child = await fork_command(environ, arguments, folder, Streams(stdin, stdout, stderr))
    finally:
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)
    child.stdin = os.fdopen(ours, "wb", buffering=0) if has_stdin else None
    child.stdout, child.stderr = await _read(out), await _read(err)
    return child


async def run_module(name: str, *arguments: str) -> int:
    """Run a module of the tests as a program that says nothing; its exit code."""
    environ = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))), "PATH": ""}
    nothing = os.open(os.devnull, os.O_RDONLY)
    streams = Streams(nothing, 1, 2)
    try:
        child = await fork_command(environ, arguments, ROOT / "tests", streams, module=name)
    finally:
        os.close(nothing)
    try:
        async with asyncio.timeout(PROGRAM_S):
            return await child.wait()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def fork_command(
    environ: Mapping[str, str],
    arguments: Sequence[str],
    folder: Path,
    streams: Streams,
    *,
    is_terminal: bool = False,
    module: str = "",
) -> Forked:
    """Fork a command; a terminal becomes its own, as of a shell that began it there."""
    request = {
        "module": module,
        "arguments": list(arguments),
        "environ": dict(environ),
        "folder": str(folder),
        "is_terminal": is_terminal,
    }
    told, theirs = os.pipe()
    descriptors = [streams.stdin, streams.stdout, streams.stderr, theirs]
    await asyncio.to_thread(socket.send_fds, _server(), [json.dumps(request).encode()], descriptors)
    os.close(theirs)
    reader = await _read(told)
    return Forked(int(await reader.readline()), reader)


async def _read(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    return reader


@cache
def _server() -> socket.socket:
    """This worker's server, begun at the first request and gone with the worker."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, PROGRAM, str(theirs.fileno())], pass_fds=[theirs.fileno()]
        )

    def end() -> None:
        ours.close()
        server.wait(SERVER_END_S)

    atexit.register(end)
    return ours
