"""Forked worlds for crash tests: a platform that lives on, and daemons that die at a named point.

The parent has imported everything and has neither thread nor loop, so a fork is cheap and clean.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fakes.crash_tale import tell_story, tell_town
from fakes.crash_towns import TOWNS, write_town_config
from fakes.empty_database import lay_database
from fakes.story import build_bell, build_parcel, story_route

from channels.rehearsal.observers import written_as_asked
from geode.app import Daemon, Seams
from geode.log import configure_logging
from geode.reply.redaction import Redactor
from geode.settings_load import InstalledChannelModels, load_settings

STORY_TIMEOUT_S = 25.0
MORE = """
[limits]
lease_s = {lease_s}

[profiles.story]
tools = ["list_files", "write_file", "memory_save", "ring_bell", "send_parcel"]
"""


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
    """One process that is the platform, and the story told in it."""

    def __init__(self, home: Path, platform: str) -> None:
        home.mkdir(parents=True)
        lay_database(home / "geode.db")
        self.home = home
        self.platform = platform
        self.log = home / "log.txt"
        self._pids: list[int] = []
        ready_out, ready_in = os.pipe()
        self._told, told_in = os.pipe()
        self._town = self._start(lambda: self._serve_town(ready_in, told_in))
        os.close(ready_in)
        os.close(told_in)
        line = _read_line(ready_out, 10.0)
        os.close(ready_out)
        self.facts: Mapping[str, str] = json.loads(line)

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
        os.kill(self._town, signal.SIGUSR1)

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

    async def _serve_town(self, ready: int, told: int) -> None:
        tempfile.tempdir = str(self.home)  # goes with the run, even when this process is killed
        with written_as_asked():
            await self._play_town(TOWNS[self.platform](), ready, told)

    async def _play_town(self, town: Any, ready: int, told: int) -> None:
        async with town.server:
            os.write(ready, f"{json.dumps(town.facts())}\n".encode())
            os.close(ready)
            presses = await tell_story(town)
            asked = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, asked.set)
            for _ in range(2):
                os.write(told, await tell_town(town, presses))
                await asked.wait()

    async def _serve_daemon(self, seams: Seams, lease_s: float) -> None:
        loop = asyncio.get_running_loop()
        tempfile.tempdir = str(self.home)
        configure_logging(Redactor())
        secrets = TOWNS[self.platform].environ(self.facts)
        home = str(self.home)
        environ = {"GEODE_HOME": home, "HOME": home, "ANTHROPIC_API_KEY": "sk-ant-test", **secrets}
        path = write_town_config(self.platform, self.facts, self.home, MORE.format(lease_s=lease_s))
        loaded = load_settings(path, channel_models=InstalledChannelModels(), environ=environ)
        daemon = await Daemon.open(loaded, environ=environ, seams=seams)
        stopping = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stopping.set)
        running = asyncio.create_task(daemon.run())
        waiting = asyncio.create_task(stopping.wait())
        await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        await daemon.drain(5.0)
        await running
        await daemon.close()


def make_seams(home: Path, **values: Any) -> Seams:
    """The story's model and its two effects, in a hurry to look twice."""
    return Seams(
        route=story_route(),
        tools=(build_bell(home / "bell.txt"), build_parcel(home / "parcel.txt")),
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
