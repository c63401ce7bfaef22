"""Freezes a worker at every named point for longer than its lease while another takes over.

Both workers run below the state lock. A worker frozen inside a write transaction blocks the other
until it goes on: safe, not live; such points are counted as blocked. The one window that is left,
between the last check and the call itself, is counted apart: the trap says which sends stood in it.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fakes.crash_judge import Verdict, judge_run
from fakes.crash_points import Point, Trap, take_share
from fakes.crash_world import World, make_seams, wait_change
from kill_every_point import WHOLE, find_points

LEASE_S = 0.6
FROZEN_S = 1.3
"""At least so long; longer than the lease and than any mark may be late."""
LATE_S = 1.2
"""How long the thawed worker may try to do harm."""
IN_TRANSACTION = ("commit.before:",)


@dataclass(slots=True)
class Frozen:
    """What came of one frozen point."""

    verdict: Verdict
    is_blocked: bool
    """The other worker waited until the first went on."""
    windows: list[str]
    """The kinds of the sends that stood between their last check and their end."""


def freeze_at(point: Point, home: Path) -> Frozen:
    """Freeze the first worker there, let a second one take over, thaw, and judge."""
    world = World(home, WHOLE)
    seams = {"is_alone": False, "delivery_lease_s": LEASE_S}
    windows = home / "windows.txt"
    try:
        trap = Trap(point, signal.SIGSTOP, windows)
        first = world.start_daemon(make_seams(home, failpoints=trap, **seams), lease_s=LEASE_S)
        told, is_stopped = None, False
        while told is None and not is_stopped:
            status = wait_change(first, 0.1, os.WUNTRACED)
            is_stopped = status is not None and os.WIFSTOPPED(status)
            told = None if is_stopped else world.wait_story(0.01)
        is_blocked = False
        second = world.start_daemon(make_seams(home, **seams), lease_s=LEASE_S)
        if is_stopped:
            time.sleep(FROZEN_S)
            told = told or world.wait_story(7.0 if not _is_inside(point) else 1.5)
            is_blocked = told is None
            os.kill(first, signal.SIGCONT)
            told = told or world.wait_story()
            time.sleep(LATE_S)
        if told is not None:
            world.ask_again()
            told = world.wait_story()
        world.end(first)
        world.end(second)
        verdict = judge_run(told, home)
        verdict.was_reached = is_stopped
        if not verdict.is_good:
            sys.stdout.write(f"--- {point}\n{told}\n{world.log.read_text()[-2500:]}\n")
        standing = windows.read_text().split() if windows.exists() else []
        return Frozen(verdict, is_blocked, standing)
    finally:
        world.close()


def _is_inside(point: Point) -> bool:
    return point.name.startswith(IN_TRANSACTION)


def main() -> int:
    """Run this process's share of the points and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", default="1/1", help="which share of the points, as 1/2")
    parser.add_argument("--only", default="", help="only points that contain this text")
    parser.add_argument("--points", type=Path, help="a record to run; otherwise one is made")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="geode-freeze-"))
    gc.freeze()
    try:
        found_points = find_points(options.points, folder, WHOLE)
        points = [point for point in found_points if point.nth == 1]
        mine = take_share(points, options.share)
        chosen = [point for point in mine if options.only in str(point)]
        found = {
            point: freeze_at(point, folder / f"run{place}") for place, point in enumerate(chosen)
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _summarise(found)


def _summarise(found: dict[Point, Frozen]) -> int:
    counts: Counter[str] = Counter()
    failures = 0
    for point, frozen in found.items():
        verdict = frozen.verdict
        counts["reached"] += verdict.was_reached
        counts["blocked"] += frozen.is_blocked
        if verdict.is_good:
            continue
        if frozen.windows and _is_said_twice(verdict):
            counts["in the window"] += 1
            continue
        failures += 1
        sys.stdout.write(f"BAD {point}: {frozen}\n")
    sys.stdout.write(
        f"frozen: {len(found)} run here, {counts['reached']} reached, {failures} bad, "
        f"{counts['blocked']} blocked until the first went on, "
        f"{counts['in the window']} said twice by a send in its window\n"
    )
    return 1 if failures else 0


def _is_said_twice(verdict: Verdict) -> bool:
    """Whether a message that stands twice is all that is wrong: an answer, or a progress line."""
    is_progress = all(text.startswith("progress left") for text in verdict.other)
    return is_progress and not (verdict.lost or verdict.twice)


if __name__ == "__main__":
    sys.exit(main())
