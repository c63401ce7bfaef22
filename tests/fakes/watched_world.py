"""What a process looks up and opens, as the interpreter itself reports it."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_STARTING = frozenset({"os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"})
"""Ways to start a program beside `subprocess`."""


@dataclass
class Watched:
    """Host names that were resolved, paths that were opened, programs that were started."""

    connected: list[tuple[str, int]] = field(default_factory=list)
    """Addresses and ports; what is no internet address is left out."""
    looked_up: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)


_watching: list[Watched] = []


def _watch(event: str, args: tuple[Any, ...]) -> None:
    for seen in _watching:
        if event == "socket.getaddrinfo":
            seen.looked_up.append(_text(args[0]))
        elif event == "open" and not isinstance(args[0], int):
            seen.opened.append(_text(args[0]))
            if isinstance(args[2], int) and args[2] & _WRITING:
                seen.written.append(_text(args[0]))
        elif event == "socket.connect" and isinstance(args[1], tuple):
            seen.connected.append((_text(args[1][0]), int(args[1][1])))
        elif event == "subprocess.Popen":
            seen.started.append(" ".join(_text(part) for part in args[1][-1:]))
        elif event in _STARTING:
            seen.started.append(" ".join(_text(part) for part in args[:1]) or event)


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


sys.addaudithook(_watch)


@contextmanager
def watched() -> Generator[Watched]:
    """Record until the end of the block."""
    seen = Watched()
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)
