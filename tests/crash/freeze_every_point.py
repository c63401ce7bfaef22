"""Freezes a worker at every named point for longer than its lease while another takes over.

Both workers run below the state lock. A worker frozen inside a write transaction blocks the other
until it goes on: safe, not live; such points are counted as blocked. The one window that is left,
between the last check and the call itself, is counted apart.
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
from pathlib import Path

import slack_bolt.adapter.socket_mode.aiohttp
import sqlalchemy.dialects.sqlite
import sqlalchemy.ext.asyncio
from fakes.crash_judge import judge_run
from fakes.crash_world import Point, Trap, Verdict, World, count_points, make_seams, wait_change
from kill_every_point import record_points

import channels.slack.adapter

WARMED = (
    slack_bolt.adapter.socket_mode.aiohttp,
    sqlalchemy.dialects.sqlite,
    sqlalchemy.ext.asyncio,
    channels.slack.adapter,
    count_points,
)
LEASE_S = 0.6
FROZEN_S = 1.3
"""At least so long; longer than the lease and than any mark may be late."""
LATE_S = 1.2
"""How long the thawed worker may try to do harm."""
WINDOWS_MAX = 3
"""More of them in one share are no accident."""
WINDOWS = ("send.window:", "effect.window:")
IN_TRANSACTION = ("commit.before:",)


def freeze_at(point: Point, home: Path) -> tuple[Verdict, bool]:
    """The verdict, and whether the other worker was blocked until the first went on."""
    world = World(home)
    seams = {"is_alone": False, "delivery_lease_s": LEASE_S}
    try:
        trap = Trap(point, signal.SIGSTOP)
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
        return verdict, is_blocked
    finally:
        world.close()


def _is_inside(point: Point) -> bool:
    return point.name.startswith(IN_TRANSACTION)


def main() -> int:
    """Run this process's share of the points and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", default="1/1", help="which share of the points, as 1/2")
    parser.add_argument("--only", default="", help="only points that contain this text")
    options = parser.parse_args()
    share, shares = (int(part) for part in options.share.split("/"))
    folder = Path(tempfile.mkdtemp(prefix="geode-freeze-"))
    gc.freeze()
    try:
        points = [point for point in record_points(folder / "record") if point.nth == 1]
        mine = [point for place, point in enumerate(points) if place % shares == share - 1]
        chosen = [point for point in mine if options.only in str(point)]
        found = {
            point: freeze_at(point, folder / f"run{place}") for place, point in enumerate(chosen)
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _summarise(found)


def _summarise(found: dict[Point, tuple[Verdict, bool]]) -> int:
    counts: Counter[str] = Counter()
    failures = 0
    for point, (verdict, is_blocked) in found.items():
        counts["reached"] += verdict.was_reached
        counts["blocked"] += is_blocked
        # The freeze stops every task: one of them may stand in the window of a send just then.
        is_progress = bool(verdict.other) and all(
            text.startswith("progress left") for text in verdict.other
        )
        is_progress = is_progress and not verdict.doubled and counts["in the window"] < WINDOWS_MAX
        is_window = point.name.startswith(WINDOWS) or is_progress
        if is_window and not verdict.is_good and not (verdict.lost or verdict.twice):
            counts["in the window"] += 1
            continue
        is_bad = not verdict.is_good
        failures += is_bad
        if is_bad:
            sys.stdout.write(f"BAD {point}: {verdict} blocked={is_blocked}\n")
    sys.stdout.write(
        f"{len(found)} points frozen, {counts['reached']} reached, {failures} bad, "
        f"{counts['blocked']} blocked until the first went on, "
        f"{counts['in the window']} said twice in the window\n"
    )
    return 1 if failures or counts["reached"] < len(found) * 0.8 else 0


if __name__ == "__main__":
    sys.exit(main())
