"""Real commands in a real sandbox over a session's folder, and the same without one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from geode.gate.dispatch import HandlerEnd, run_handler
from geode.gate.locks import ResourceLocks
from geode.messages import Mode, SessionId, TurnId
from geode.ports import SystemClock
from geode.steps import Applied, Done, NotApplied, Tool, ToolContext
from geode.tools import run_bash
from geode.tools.sandbox.detect import PROBE
from geode.tools.workspace import WorkspaceLimits, Workspaces

CANARY = "CANARY-7f3a9c"
"""Stands where no command may read."""
PERL = shutil.which("perl") or "/usr/bin/perl"
"""Debian's own is always there, and can make any system call."""


@cache
def why_none() -> str:
    """Why this machine has no sandbox; empty where it has one."""
    return PROBE.wait().reason


def require_sandbox() -> None:
    """Leave the test out where the kernel gives nobody a user namespace, and fail elsewhere."""
    reason = why_none()
    if reason and not has_user_namespaces():
        pytest.skip(f"no user namespaces on this machine: {reason}")
    assert not reason, reason


def has_user_namespaces() -> bool:
    """Whether the kernel makes one, asked without bubblewrap."""
    done = subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False)
    return done.returncode == 0


@dataclass(frozen=True)
class Room:
    """One session's workspace and the tool over it."""

    spaces: Workspaces
    root: Path
    session: str = "s1"
    run_s_max: float = 15.0

    @property
    def folder(self) -> Path:
        """The session's folder on the host."""
        return self.root / "files" / self.session

    def tool(self) -> Tool:
        """`run_bash` with this room's time limit."""
        return run_bash.build(self.spaces, SystemClock(), run_s_max=self.run_s_max)

    def context(self, position: int = 0, deadline_s: float = 60.0) -> ToolContext:
        """A call at the terminal."""
        return ToolContext(
            session_id=SessionId(self.session),
            turn_id=TurnId("t1"),
            step=1,
            position=position,
            epoch=1,
            mode=Mode.REPL,
            binding="terminal:local",
            model="test",
            deadline=SystemClock().monotonic() + deadline_s,
        )

    async def end(self, command: str, *, deadline_s: float = 60.0) -> HandlerEnd:
        """How the command ended, through the gate's own way to a handler."""
        tool = self.tool()
        hold = await ResourceLocks().acquire(["x"], 1)
        assert hold is not None
        try:
            return await run_handler(
                tool,
                self.context(deadline_s=deadline_s),
                {"command": command},
                timeout_s=min(tool.timeout_s, deadline_s),
                hold=hold,
            )
        finally:
            hold.release()

    async def run(self, command: str) -> str:
        """What a command that ended by itself printed, its exit code in the last line."""
        end = await self.end(command)
        assert isinstance(end, Done), end
        return end.text

    async def perl(self, code: str) -> str:
        """The same for a Perl program."""
        quoted = code.replace("'", "'\\''")
        return await self.run(f"perl -e '{quoted}'")


def output_of(text: str) -> str:
    """Without the line of the exit code."""
    return text.rpartition("[exit code ")[0]


def code_of(text: str) -> int:
    """The exit code."""
    return int(text.rpartition("[exit code ")[2].partition("]")[0])


def said_of(end: HandlerEnd) -> str:
    """The words of any ending that has some."""
    match end:
        case Done():
            return end.text
        case Applied():
            return end.error
        case NotApplied():
            return end.reason
        case _:
            raise AssertionError(end)


@contextlib.contextmanager
def sandbox_room(
    *, limits: WorkspaceLimits | None = None, run_s_max: float = 15.0
) -> Iterator[Room]:
    """A room in a folder of its own, with canaries around the workspace."""
    require_sandbox()
    root = Path(tempfile.mkdtemp(prefix="geode-room-"))
    try:
        (root / "secret").write_text(CANARY)
        (root / "files" / "s2").mkdir(parents=True)
        (root / "files" / "s2" / "other.txt").write_text(CANARY)
        (root / "kept").mkdir()
        (root / "kept" / "k").write_text(CANARY)
        yield Room(Workspaces(root / "files", limits=limits), root, run_s_max=run_s_max)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def run_unsandboxed(command: str, folder: Path, *, env: dict[str, str] | None = None) -> str:
    """The positive control: the same command as the daemon's own user, without a sandbox."""
    done = subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env=os.environ | (env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=15,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace")


def run_program(
    *argv: str, timeout_s: float = 15, close_fds: bool = True
) -> subprocess.CompletedProcess[bytes]:
    """A control that is no shell command, without a sandbox."""
    return subprocess.run(
        argv, capture_output=True, timeout=timeout_s, close_fds=close_fds, check=False
    )


@contextlib.contextmanager
def started(*argv: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A program of the host, ended with the block."""
    with subprocess.Popen(argv, env=env) as process:
        try:
            yield process
        finally:
            process.kill()


def processes_with(word: str) -> list[int]:
    """Processes of the whole machine whose command line holds the word."""
    found: list[int] = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                if word.encode() in (place / "cmdline").read_bytes():
                    found.append(int(place.name))
    return found


async def until_gone(word: str, seconds: float = 10.0) -> None:
    """Wait until no process carries the word."""
    for _ in range(int(seconds / 0.05)):
        if not processes_with(word):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"still alive: {processes_with(word)}")


async def until_many(word: str, count: int, seconds: float = 10.0) -> None:
    """Wait until so many processes carry the word: a forked shell becomes its command later."""
    for _ in range(int(seconds / 0.05)):
        if len(processes_with(word)) >= count:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"only {processes_with(word)}")


def kill_all(pids: list[int]) -> None:
    """End what a control left."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@dataclass
class Sink:
    """A server on the host that counts who reaches it."""

    address: str | tuple[str, int]
    hits: int = 0


@contextlib.contextmanager
def listening(family: int, address: str | tuple[str, int]) -> Iterator[Sink]:
    """Accept and count connections for the length of the block."""
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind(address)
        server.listen(8)
        server.settimeout(0.05)
        sink = Sink(server.getsockname())
        done = threading.Event()

        def accept() -> None:
            while not done.is_set():
                with contextlib.suppress(TimeoutError):
                    connection, _ = server.accept()
                    sink.hits += 1
                    connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield sink
        finally:
            done.set()
            thread.join(5)
