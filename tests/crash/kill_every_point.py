"""Kills a daemon at every durable write and every send, and tells what came of it.

Run as a program of its own: the process that forks must have no thread and no loop. Prints one
line a point that went wrong, then the summary, and ends with 1 when anything did.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import sqlalchemy.dialects.sqlite
import sqlalchemy.ext.asyncio
from fakes.crash_judge import Verdict, judge_run, wait_delivered
from fakes.crash_points import (
    Point,
    Recorder,
    Trap,
    count_points,
    is_of_platform,
    load_points,
    save_points,
    take_share,
)
from fakes.crash_towns import TOWNS
from fakes.crash_world import World, make_seams, wait_change

WARMED = (sqlalchemy.dialects.sqlite, sqlalchemy.ext.asyncio)
DELIVERED_S = 15.0
WHOLE = "slack"
"""The platform that every point is tried on; elsewhere those that lie in the channel's hands."""


def find_points(record: Path | None, folder: Path, platform: str) -> list[Point]:
    """The points of a record, or of runs that are made now."""
    return load_points(record) if record else record_points(folder / "record", platform)


def record_points(home: Path, platform: str) -> list[Point]:
    """The points that two undisturbed runs pass, in order: timing may add some to one of them."""
    first, second = (_record_run(home / number, platform) for number in ("1", "2"))
    return [point for point in first if point in second]


def _record_run(home: Path, platform: str) -> list[Point]:
    world = World(home, platform)
    try:
        names = home / "points.txt"
        pid = world.start_daemon(make_seams(home, failpoints=Recorder(names)))
        told = world.wait_story()
        world.end(pid)
        verdict = judge_run(told, home)
        assert verdict.is_good, (verdict, told, world.log.read_text()[-3000:])
        assert told is not None
        assert told["presses"] == 1, told
        return count_points(names.read_text().splitlines())
    finally:
        world.close()


def kill_at(point: Point, home: Path, platform: str) -> Verdict:
    """Kill a first daemon at the point, let a second one finish the story, and judge."""
    world = World(home, platform)
    try:
        first = world.start_daemon(make_seams(home, failpoints=Trap(point, signal.SIGKILL)))
        status, told = None, None
        while status is None and told is None:
            status = wait_change(first, 0.2)
            told = world.wait_story(0.01) if status is None else None
        was_reached = status is not None and os.WIFSIGNALED(status)
        if was_reached:
            world.forget(first)
            second = world.start_daemon(make_seams(home))
            told = world.wait_story() if told is None else told
            if told is not None and not wait_delivered(home, 0.0):
                # The story was over before the second daemon had looked; what it does counts too.
                wait_delivered(home, DELIVERED_S)
                world.ask_again()
                told = world.wait_story()
            world.end(second)
        else:
            world.end(first)
            was_reached = False
        verdict = judge_run(told, home)
        verdict.was_reached = was_reached
        if not verdict.is_good:
            sys.stdout.write(f"--- {point}\n{told}\n{world.log.read_text()[-2500:]}\n")
        return verdict
    finally:
        world.close()


def main() -> int:
    """Run this process's share of the points and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", default=WHOLE, choices=list(TOWNS))
    parser.add_argument("--share", default="1/1", help="which share of the points, as 1/2")
    parser.add_argument("--only", default="", help="only points that contain this text")
    parser.add_argument("--record", type=Path, help="only record the points, into this file")
    parser.add_argument("--points", type=Path, help="a record to run; otherwise one is made")
    parser.add_argument("--all", action="store_true", help="every point, on any platform")
    options = parser.parse_args()
    platform: str = options.platform
    is_whole = options.all or platform == WHOLE
    folder = Path(tempfile.mkdtemp(prefix="geode-crash-"))
    gc.freeze()
    try:
        points = find_points(options.points, folder, platform)
        if options.record:
            save_points(points, options.record)
            return 0
        tried = [point for point in points if is_whole or is_of_platform(point)]
        mine = take_share(tried, options.share)
        chosen = [point for point in mine if options.only in str(point)]
        verdicts = {
            point: kill_at(point, folder / f"run{place}", platform)
            for place, point in enumerate(chosen)
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _summarise(f"{platform}: {len(tried)} of {len(points)} points", verdicts)


def _summarise(points: str, verdicts: dict[Point, Verdict]) -> int:
    for point, verdict in verdicts.items():
        if not verdict.is_good:
            sys.stdout.write(f"BAD {point}: {verdict}\n")
        for twice in verdict.marked:
            sys.stdout.write(f"possibly doubled, and marked so, after {point}: {twice}\n")
    reached = sum(verdict.was_reached for verdict in verdicts.values())
    lost = sum(bool(verdict.lost) for verdict in verdicts.values())
    doubled = sum(bool(verdict.doubled) for verdict in verdicts.values())
    marked = sum(bool(verdict.marked) for verdict in verdicts.values())
    twice = sum(bool(verdict.twice) for verdict in verdicts.values())
    other = sum(bool(verdict.other) for verdict in verdicts.values())
    sys.stdout.write(
        f"{points}, {len(verdicts)} run here, {reached} reached, {lost} lost, {doubled} doubled, "
        f"{marked} doubled and marked so, {twice} effects run twice, {other} other\n"
    )
    return 1 if lost or doubled or twice or other else 0


if __name__ == "__main__":
    sys.exit(main())
