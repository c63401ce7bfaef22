"""Runs one command in a session's workspace, from the look before it to the look after it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from geode.errors import SandboxError
from geode.messages import SessionId
from geode.tools.sandbox import usage
from geode.tools.sandbox.bounds import Bounds
from geode.tools.sandbox.command_line import INSIDE_ID, Programs
from geode.tools.sandbox.launch import Order, start
from geode.tools.sandbox.usage import Usage, measure
from geode.tools.sandbox.watch import RunEnd, Watch, follow
from geode.tools.workspace import WorkspaceLimits, Workspaces

ENTRIES_LOOKED_AT_MAX = 100_000
"""How far a workspace is counted, healed and given over before and after a command."""
_MARK = "user.geode.shell"
"""The extended attribute of a session's folder that names the last command which began in it."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What was found to work on this machine; there is none where nothing was."""

    programs: Programs
    seccomp: bytes
    bounds: Bounds = field(default_factory=Bounds)


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a session."""

    session: SessionId
    text: bytes
    operation: str
    run_s_max: float


class Stop:
    """Says to a thread, whatever it waits for, that it is to end."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def set(self) -> None:
        """End; harmless to repeat."""
        with suppress(BlockingIOError):
            os.eventfd_write(self.descriptor, 1)

    def close(self) -> None:
        """Give the descriptor back, once nobody waits any more."""
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended and what the workspace is like after it."""

    end: RunEnd
    workspace_note: str = ""


def run_command(sandbox: Sandbox, workspaces: Workspaces, command: Command, stop: Stop) -> Ran:
    """Run it to its end, in a thread; raises `ToolError` when it never began."""
    ends_at = time.monotonic() + command.run_s_max
    owner = None if sandbox.programs.as_nobody is None else INSIDE_ID
    with workspaces.open_session(command.session, create=True) as folder:
        before = _look_over(folder, owner)
        order = Order(
            command=command.text,
            workspace=str(Path(f"/proc/self/fd/{folder}").readlink()),
            file_bytes_max=max(
                usage.FILE_BYTES_LEAST, workspaces.limits.total_bytes_max - before.size
            ),
            stop=stop.descriptor,
        )
        watch = Watch(stop.descriptor, ends_at, _growth_finder(folder, workspaces.limits, before))
        has_begun = False
        try:
            with start(sandbox.programs, order, sandbox.bounds, sandbox.seccomp) as running:
                _mark(folder, command.operation)
                running.begin()
                has_begun = True
                end = follow(running, watch)
        except OSError as exc:
            if has_begun:
                raise
            raise SandboxError(f"it could not be started ({exc.strerror})") from exc
        after = _look_over(folder, owner)
    is_full = after.exceeds(workspaces.limits, Usage())
    return Ran(end, after.describe(workspaces.limits) if is_full else "")


def has_command_begun(workspaces: Workspaces, session: SessionId, operation: str) -> bool | None:
    """Whether this was the last command that began; None when the disk keeps no such mark."""
    if not workspaces.has_session(session):
        return False
    with workspaces.open_session(session) as folder:
        try:
            return os.getxattr(folder, _MARK).decode("ascii", "replace") == operation
        except OSError as exc:
            return False if exc.errno == _NO_MARK else None


_NO_MARK = 61  # ENODATA


def _look_over(folder: int, owner: int | None) -> Usage:
    with suppress(OSError):
        os.fchmod(folder, 0o700)
        if owner is not None:
            os.fchown(folder, owner, owner)
    return measure(folder, ENTRIES_LOOKED_AT_MAX, heals=True, owner=owner)


def _growth_finder(folder: int, limits: WorkspaceLimits, before: Usage) -> Callable[[], str]:
    floor = usage.find_disk_floor(folder)
    count = partial(measure, folder, max(limits.entries_max, before.entries) + 1)

    def find_growth() -> str:
        if usage.is_below(folder, floor):
            return "the disk is nearly full"
        now = count()
        return now.describe(limits) if now.exceeds(limits, before) else ""

    return find_growth


def _mark(folder: int, operation: str) -> None:
    with suppress(OSError):
        os.setxattr(folder, _MARK, operation.encode())
