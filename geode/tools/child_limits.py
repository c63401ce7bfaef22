"""Bounds a child process sets on itself before it reads anything foreign."""

from __future__ import annotations

import os
import resource


def limit_child(*, cpu_s: int, memory_bytes: int) -> None:
    """Called first in a child: the kernel ends it if the parent no longer can."""
    os.nice(10)  # the daemon comes first
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
