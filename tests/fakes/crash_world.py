"""Forked worlds for crash tests: a Slack that lives on, and daemons that die at a named point.

The parent has imported everything and has neither thread nor loop, so a fork is cheap and clean.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.story import ANSWER_ONE, ANSWER_TWO, build_bell, story_route
from fakes.town import is_progress, load_town, town_environ

from channels.rehearsal.slack import RehearsalSlack
from geode.app import Daemon, Seams

CHANNEL = "C0GENERAL"
STORY_TIMEOUT_S = 25.0
QUIET_S = 0.4
LIMITS = "lease_s = {lease_s}"
MORE = '[profiles.bell]\ntools = ["list_files", "write_file", "memory_save", "ring_bell"]'


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


@dataclass(slots=True)
class Verdict:
    """What a run came to, judged from outside."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    was_reached: bool = False

    @property
    def is_good(self) -> bool:
        """Nothing lost, nothing doubled, no effect run twice, nothing odd."""
        return not (self.lost or self.doubled or self.twice or self.other)


def fork(work: Callable[[], Coroutine[Any, Any, None]], log: Path) -> int:
    """Run a coroutine in a child with its own loop; its output goes to the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        asyncio.run(work())
        code = 0
    except BaseException:  # noqa: BLE001 - a child reports and ends
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class World:
    """One Slack process and the story told in it."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True)
        self.home = home
        self.ledger = home / "bell.txt"
        self.log = home / "log.txt"
        self._pids: list[int] = []
        ready_out, ready_in = os.pipe()
        self._told, told_in = os.pipe()
        self._slack = self._start(lambda: self._serve_slack(ready_in, told_in))
        os.close(ready_in)
        os.close(told_in)
        line = _read_line(ready_out, 10.0)
        os.close(ready_out)
        self.port = int(line)

    def start_daemon(self, seams: Seams, *, lease_s: float = 30.0) -> int:
        """Fork a daemon; it drains on SIGTERM."""
        return self._start(lambda: self._serve_daemon(seams, lease_s))

    def wait_story(self, timeout_s: float = STORY_TIMEOUT_S) -> dict[str, Any] | None:
        """The transcript after both answers and a quiet moment; None when it takes too long."""
        try:
            return json.loads(_read_line(self._told, timeout_s))
        except TimeoutError:
            return None

    def ask_again(self) -> None:
        """Have the transcript told once more, after another quiet moment."""
        os.kill(self._slack, signal.SIGUSR1)

    def end(
        self, pid: int, number: signal.Signals = signal.SIGTERM, timeout_s: float = 10.0
    ) -> int:
        """Signal one of our children and wait for its end; the wait status is returned."""
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        status = wait_change(pid, timeout_s)
        if status is None:
            os.kill(pid, signal.SIGKILL)
            status = wait_change(pid, timeout_s)
        self._pids.remove(pid)
        return status if status is not None else -1

    def forget(self, pid: int) -> None:
        """The child is known to have ended."""
        self._pids.remove(pid)

    def close(self) -> None:
        """End every child that still lives."""
        for pid in tuple(self._pids):
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        os.close(self._told)

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> int:
        pid = fork(work, self.log)
        self._pids.append(pid)
        return pid

    async def _serve_slack(self, ready: int, told: int) -> None:
        async with RehearsalSlack(ack_deadline_s=1.0) as slack:
            os.write(ready, f"{slack.base_url.split(':')[2].split('/')[0]}\n".encode())
            os.close(ready)
            first = await slack.say("<@UBOT> story one")
            await _wait_answer(slack, first.ts, ANSWER_ONE)
            await slack.say("story two", thread_ts=first.ts)
            await _wait_answer(slack, first.ts, ANSWER_TWO)
            asked = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, asked.set)
            for _ in range(2):
                await _wait_rest(slack)
                os.write(told, _tell(slack, first.ts))
                await asked.wait()

    async def _serve_daemon(self, seams: Seams, lease_s: float) -> None:
        loop = asyncio.get_running_loop()
        slack = RehearsalSlack(port=self.port)
        loaded = load_town(
            slack,
            self.home,
            limits=LIMITS.format(lease_s=lease_s),
            profile="bell",
            more=MORE,
        )
        daemon = await Daemon.open(loaded, environ=town_environ(slack, self.home), seams=seams)
        stopping = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stopping.set)
        running = asyncio.create_task(daemon.run())
        waiting = asyncio.create_task(stopping.wait())
        await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        await daemon.drain(5.0)
        await running
        await daemon.close()


def make_seams(home: Path, **values: Any) -> Seams:
    """The story's model and bell, in a hurry to look twice."""
    return Seams(
        route=story_route(),
        tools=(build_bell(home / "bell.txt"),),
        second_look_s=0.1,
        **values,
    )


def wait_change(pid: int, timeout_s: float, options: int = 0) -> int | None:
    """The wait status of a child that ended or stopped; None when it did neither in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG | options)
        if found:
            return status
        time.sleep(0.005)
    return None


def count_points(names: list[str]) -> list[Point]:
    """Every passing of every point, in the order of the recorded run."""
    seen: Counter[str] = Counter()
    points: list[Point] = []
    for name in names:
        seen[name] += 1
        points.append(Point(name, seen[name]))
    return points


def _read_line(descriptor: int, timeout_s: float) -> str:
    deadline = time.monotonic() + timeout_s
    line = b""
    while not line.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            raise TimeoutError("nothing was said in time")
        piece = os.read(descriptor, 65_536)
        if not piece:
            raise TimeoutError("the other side ended")
        line += piece
    return line.decode().strip()


async def _wait_answer(slack: RehearsalSlack, ts: str, text: str) -> None:
    await slack.wait_for(
        lambda: any(text in post.text for post in slack.bot_posts(CHANNEL, ts)), timeout_s=60
    )


async def _wait_rest(slack: RehearsalSlack) -> None:
    """Until the bot has cleaned up behind its answers, or clearly will not."""
    with suppress(TimeoutError):
        await slack.wait_for(lambda: not _marks(slack), timeout_s=8.0)
    await asyncio.sleep(QUIET_S)


def _marks(slack: RehearsalSlack) -> list[str]:
    return [post.ts for post in slack.workspace.posts[CHANNEL] if post.reactions.get("eyes")]


def _tell(slack: RehearsalSlack, ts: str) -> bytes:
    posts = slack.bot_posts(CHANNEL, ts)
    told = {
        "texts": [post.text for post in posts if not is_progress(post)],
        "progress": [post.text for post in posts if is_progress(post)],
        "refused": slack.counters()["refused"],
        "marks": _marks(slack),
    }
    return (json.dumps(told) + "\n").encode()
