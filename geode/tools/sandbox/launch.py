"""Starts a sandbox and holds it before its first word, until every bound is set."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from geode.errors import SandboxError
from geode.tools.sandbox.bounds import Bounds, prefer_others, write_limits
from geode.tools.sandbox.command_line import (
    GO,
    GROUP,
    PASSWD,
    READY,
    Descriptors,
    Programs,
    command_line,
    list_options,
    write_prelude,
)
from geode.tools.sandbox.control_groups import Group, make_group

START_S = 10.0
END_S = 2.0
"""How long the kernel may take to end what was killed."""
_CREDENTIALS = struct.Struct("3i")
_REASON_BYTES_MAX = 600


@dataclass(frozen=True, slots=True)
class Order:
    """One command and where it runs."""

    command: bytes
    workspace: str
    """An absolute path without links."""
    file_bytes_max: int
    stop: int
    """An eventfd; once it can be read, the command is to end."""


@dataclass(frozen=True, slots=True)
class Running:
    """A command in its sandbox: a process namespace that ends with its first process."""

    process: subprocess.Popen[bytes]
    """bubblewrap outside, which ends after everything inside has ended."""
    first: int
    """A descriptor of the first process inside."""
    output: int
    control: socket.socket

    def begin(self) -> None:
        """Let the command begin; raises `SandboxError` when its shell is gone."""
        try:
            self.control.sendall(GO)
        except OSError as exc:
            raise SandboxError("its shell ended before it began") from exc
        self.control.close()

    def kill(self) -> None:
        """End everything inside; returns when it has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.first, signal.SIGKILL)
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()


@contextmanager
def start(
    programs: Programs, order: Order, bounds: Bounds, seccomp: bytes
) -> Generator[Running, None, None]:
    """The command, bound and not yet begun; when the block ends, nothing of it is alive.

    Raises `SandboxError` when it could not be started, and then nothing of it was run.
    """
    with ExitStack() as opened:
        control, its_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        opened.enter_context(control)
        opened.enter_context(its_control)
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        output, its_output = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        opened.callback(os.close, output)
        os.set_blocking(its_output, True)
        with os.fdopen(its_output, "wb") as writing:
            process = _spawn(programs, order, bounds, seccomp, (its_control, writing.fileno()))
        opened.callback(_reap, process)
        its_control.close()
        group = make_group(bounds)
        opened.callback(group.remove)
        pid = _wait_until_ready(control, output, order.stop)
        first = os.pidfd_open(_first_of(pid))
        opened.callback(os.close, first)
        running = Running(process, first, output, control)
        opened.callback(running.kill)
        _bound(pid, group)
        yield running


def _spawn(
    programs: Programs,
    order: Order,
    bounds: Bounds,
    seccomp: bytes,
    ours: tuple[socket.socket, int],
) -> subprocess.Popen[bytes]:
    control, output = ours
    with ExitStack() as opened:

        def put(content: bytes) -> int:
            descriptor = os.memfd_create("geode", os.MFD_CLOEXEC)
            opened.callback(os.close, descriptor)
            os.write(descriptor, content)
            os.lseek(descriptor, 0, os.SEEK_SET)
            return descriptor

        inside = Descriptors(
            control=control.fileno(),
            seccomp=put(seccomp),
            command=put(order.command),
            passwd=put(PASSWD),
            group=put(GROUP),
        )
        way = programs.as_nobody
        source = order.workspace if way is None else way.reachable
        options = put(b"\0".join(map(os.fsencode, list_options(source, inside, bounds))) + b"\0")
        prelude = write_prelude(inside.control, write_limits(bounds, order.file_bytes_max))
        argv = command_line(programs, order.workspace, options, prelude)
        passed = (
            *(inside.control, inside.seccomp, inside.command, inside.passwd, inside.group),
            options,
        )
        # Not the machine's /dev/null, whose owner could change it through the descriptor.
        empty, its_end = os.pipe2(os.O_CLOEXEC)
        os.close(its_end)
        opened.callback(os.close, empty)
        try:
            # An argument list without a shell; the command itself is read by the sandbox's shell.
            return subprocess.Popen(  # noqa: S603
                argv,
                stdin=empty,
                stdout=output,
                stderr=output,
                env={},
                cwd="/",
                pass_fds=passed,
                start_new_session=True,
            )
        except OSError as exc:
            raise SandboxError(f"{programs.bwrap}: {exc.strerror}") from exc


def _wait_until_ready(control: socket.socket, output: int, stop: int) -> int:
    """The process number of the sandbox's shell, which waits for the word."""
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    waiting.register(stop, select.POLLIN)
    seen = dict(waiting.poll(START_S * 1000))
    if stop in seen:
        raise SandboxError("it was stopped before it began")
    if not seen:
        raise SandboxError(f"it was not ready within {START_S:g} s")
    said, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
    if said != READY:
        raise SandboxError(_read_reason(output))
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return int(_CREDENTIALS.unpack(content[: _CREDENTIALS.size])[0])
    raise SandboxError("the kernel does not say which process is ready")


def _read_reason(output: int) -> str:
    """What bubblewrap said before it gave up."""
    with suppress(OSError):
        said = os.read(output, _REASON_BYTES_MAX).decode("utf-8", "replace").strip()
        if said:
            return " ".join(said.split())
    return "it ended without a word"


def _first_of(pid: int) -> int:
    """The first process of the shell's namespace, its parent while it waits.

    It is killed to end everything, so it must be what it is taken for, and never the daemon.
    """
    parent = int(_read_status(pid)["PPid"])
    numbers = _read_status(parent)["NSpid"].split()
    if len(numbers) <= len(_read_status(os.getpid())["NSpid"].split()) or numbers[-1] != "1":
        raise SandboxError("its shell has no process namespace of its own")
    return parent


def _read_status(pid: int) -> dict[str, str]:
    try:
        rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError as exc:
        raise SandboxError("its shell ended before it began") from exc
    return dict(row.split(":", 1) for row in rows if ":" in row)


def _bound(pid: int, group: Group) -> None:
    prefer_others(pid)
    try:
        group.add(pid)
    except OSError as exc:
        raise SandboxError(f"it could not be put into its control group ({exc})") from exc


def _reap(process: subprocess.Popen[bytes]) -> None:
    """End bubblewrap if it has not ended, which ends the rest, and take its status."""
    ends = time.monotonic() + END_S
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, ends - time.monotonic()))
