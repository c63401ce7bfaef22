"""What one command may use of the machine, set before it runs anything."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bounds:
    """Hard stops of one command; each ends or refuses what goes beyond it, nothing else."""

    cpu_s_max: int = 120
    """Of each process."""
    memory_bytes_max: int = 1 << 30
    """Of the whole command, where control groups can be had."""
    address_bytes_max: int = 2 << 30
    """Of each process."""
    processes_max: int = 256
    open_files_max: int = 512
    temporary_bytes_max: int = 64 << 20
    """Of temporary files, which go with the command."""
    shared_bytes_max: int = 16 << 20
    """Of shared memory, likewise."""


def write_limits(bounds: Bounds, file_bytes_max: int) -> str:
    """The shell's words that set every limit on itself; whatever it starts inherits them.

    A shell inside sets them, because only there are processes counted for the sandbox alone, and
    because the daemon may not set them on another user's process.
    """
    limits = (
        ("v", resource.RLIMIT_AS, bounds.address_bytes_max, 1024),
        ("t", resource.RLIMIT_CPU, bounds.cpu_s_max, 1),
        ("f", resource.RLIMIT_FSIZE, file_bytes_max, 1024),
        ("n", resource.RLIMIT_NOFILE, bounds.open_files_max, 1),
        ("u", resource.RLIMIT_NPROC, bounds.processes_max, 1),
        ("c", resource.RLIMIT_CORE, 0, 1),
    )
    words = (f"-{word} {_within_hard(kind, most) // unit}" for word, kind, most, unit in limits)
    return "ulimit " + " ".join(words)


def prefer_others(pid: int) -> None:
    """Let the daemon come first: for the processor, and when memory runs out; best effort."""
    with suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 10)


def _within_hard(kind: int, most: int) -> int:
    _, hard = resource.getrlimit(kind)
    return most if hard == resource.RLIM_INFINITY else min(most, hard)
