"""Bounds all processes of a command together, where this machine lets the daemon make groups."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from geode.tools.sandbox.bounds import Bounds

ROOT = Path("/sys/fs/cgroup")
_NAME = "geode-run-"
_TRIES_MAX, _PAUSE_S = 50, 0.01


@dataclass(frozen=True, slots=True)
class Group:
    """The folders of one command's group: one, or one per controller in the older layout."""

    folders: tuple[Path, ...] = ()

    @property
    def bounds_processes(self) -> bool:
        """Whether their number is bounded."""
        return any((folder / "pids.max").exists() for folder in self.folders)

    def add(self, pid: int) -> None:
        """Take a process in; what it starts follows. Raises `OSError`."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Take the empty group away; one that is left costs nothing and bounds nothing."""
        for folder in self.folders:
            _remove(folder)


def make_group(bounds: Bounds, root: Path = ROOT) -> Group:
    """A fresh group with the bounds set; without folders where none can be made."""
    name = f"{_NAME}{os.getpid()}-{secrets.token_hex(6)}"
    made: list[Path] = []
    for parents in _parents_of(root):
        folder = next((f for p in parents if (f := _make(p / name, bounds)) is not None), None)
        if folder is not None:
            made.append(folder)
    return Group(tuple(made))


def remove_left_over(root: Path = ROOT) -> None:
    """Take away the empty groups of daemons that were killed."""
    for parent in (each for parents in _parents_of(root) for each in parents):
        for folder in parent.glob(f"{_NAME}*"):
            pid = folder.name.removeprefix(_NAME).partition("-")[0]
            if not Path("/proc", pid).exists():
                with suppress(OSError):
                    folder.rmdir()


def _parents_of(root: Path) -> Iterator[list[Path]]:
    """For each hierarchy the groups in which one could be made, the nearest first."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if not controllers:
            yield _upwards(root, place)
        elif {"pids", "memory"} & set(controllers.split(",")):
            yield _upwards(root / controllers, place)


def _upwards(top: Path, place: str) -> list[Path]:
    own = top / place.lstrip("/")
    return [each for each in (own, *own.parents) if each == top or top in each.parents]


def _remove(folder: Path) -> None:
    pause = threading.Event()
    for _ in range(_TRIES_MAX):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            # The kernel counts a process for a moment after it has ended.
            pause.wait(_PAUSE_S)
        else:
            return


def _make(folder: Path, bounds: Bounds) -> Path | None:
    """The folder with at least one bound set; None, and nothing is left, where it has none."""
    try:
        folder.mkdir()
    except OSError:
        return None
    settings = {
        "pids.max": bounds.processes_max,
        "memory.max": bounds.memory_bytes_max,
        "memory.swap.max": 0,
        "memory.limit_in_bytes": bounds.memory_bytes_max,
        "memory.memsw.limit_in_bytes": bounds.memory_bytes_max,
    }
    were_set = [_set(folder / name, value) for name, value in settings.items()]
    if any(were_set):
        return folder
    with suppress(OSError):
        folder.rmdir()
    return None


def _set(place: Path, value: int) -> bool:
    try:
        if not place.exists():
            return False
        place.write_text(str(value))
    except OSError:
        return False
    return True
