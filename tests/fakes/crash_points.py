"""The points at which a crash test ends or stops a daemon: recorded, chosen, sprung."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

OF_PLATFORM = ("send.", ".ack:", ":intake", ":delivery.", ":cursors.", ":place.")
"""Parts of the names of points behind or before which the platforms differ."""


@dataclass(frozen=True, slots=True)
class Point:
    """The nth time a failpoint is passed."""

    name: str
    nth: int

    def __str__(self) -> str:
        return f"{self.name}#{self.nth}"


class Recorder:
    """Writes every point that is passed into a file."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("a")

    def hit(self, name: str) -> None:
        """Note the point."""
        self._stream.write(name + "\n")
        self._stream.flush()


class Trap:
    """Sends its own process a signal at one point, and says what stood in its window then.

    A window is open from the last check before a call to the call's end. The signal stops every
    task: a send that stood in its window may be made once more when it goes on.
    """

    def __init__(self, point: Point, number: signal.Signals, windows: Path | None = None) -> None:
        self._point = point
        self._number = number
        self._windows = windows
        self._open: Counter[str] = Counter()
        self._seen = 0

    def hit(self, name: str) -> None:
        """Spring when the point is the nth of its name."""
        place, _, what = name.partition(":")
        if place == "send.window":
            self._open[what] += 1
        elif place == "send.after":
            self._open[what] -= 1
        if name == self._point.name:
            self._seen += 1
            if self._seen == self._point.nth:
                self._spring()

    def _spring(self) -> None:
        if self._windows is not None:
            self._windows.write_text("\n".join(+self._open))
        os.kill(os.getpid(), self._number)


def count_points(names: list[str]) -> list[Point]:
    """Every passing of every point, in the order of the recorded run."""
    seen: Counter[str] = Counter()
    points: list[Point] = []
    for name in names:
        seen[name] += 1
        points.append(Point(name, seen[name]))
    return points


def is_of_platform(point: Point) -> bool:
    """Whether what follows a death there depends on the platform."""
    return any(part in point.name for part in OF_PLATFORM)


def take_share(points: Sequence[Point], share: str) -> list[Point]:
    """Every nth point for a share such as `1/2`; shares of one record are complete together."""
    number, shares = (int(part) for part in share.split("/"))
    return list(points[number - 1 :: shares])


def save_points(points: Sequence[Point], path: Path) -> None:
    """Write a record, for processes that run its points in shares."""
    path.write_text("".join(f"{point}\n" for point in points), encoding="utf-8")


def load_points(path: Path) -> list[Point]:
    """Read a record back."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Point(name, int(nth)) for name, _, nth in (line.rpartition("#") for line in lines)]
