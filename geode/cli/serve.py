"""`geode serve`: the state's owner, the daemon and its control socket, until a signal says stop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias, cast

from geode.app import Daemon
from geode.errors import ConfigError
from geode.log import configure_logging
from geode.ports import SystemClock
from geode.reply.redaction import Redactor
from geode.serve.control import Control
from geode.serve.endpoint import SOCKET_NAME
from geode.serve.ipc import CLIPoller
from geode.serve.signals import catch_stop
from geode.settings_load import Loaded, load_settings
from geode.store.lock import StateLock

LogStyle: TypeAlias = Literal["json", "console"]

DRAIN_S = 30.0
LOOK_S = 0.25
"""Between two looks at the channels' states."""
USABLE = ("up", "down", "conflict")
"""Working, or waited for: an outage is no reason to give up."""
UNUSABLE = ("degraded", "stopped")
NOTHING_USABLE = "nothing that is configured can be used"


def run_serve(config: Path | None, log_style: str, *, until_stdin_closes: bool) -> int:
    """Serve until stopped; the exit code says whether anything could be served."""
    loaded = load_settings(config)
    style = cast("LogStyle", log_style or ("console" if sys.stderr.isatty() else "json"))
    configure_logging(Redactor(), style=style)
    with StateLock.acquire(
        loaded.state_folder,
        SystemClock(),
        command="geode serve",
        database=loaded.database_path,
    ):
        return asyncio.run(_serve(loaded, style, until_stdin_closes=until_stdin_closes))


async def _serve(loaded: Loaded, style: LogStyle, *, until_stdin_closes: bool) -> int:
    daemon = await Daemon.open(loaded)
    configure_logging(daemon.redactor, style=style)
    try:
        if not daemon.channels:
            raise ConfigError(_explain_idle(daemon.degraded, loaded))
        with catch_stop() as stop:
            if until_stdin_closes:
                _watch_stdin(stop)
            await _run_until(stop, daemon, loaded)
    finally:
        await daemon.close()
    _say("stopped")
    return 0


async def _run_until(stop: asyncio.Event, daemon: Daemon, loaded: Loaded) -> None:
    control = Control(daemon, daemon.store, daemon.clock)
    poller = CLIPoller(loaded.state_folder, control.verbs, redactor=daemon.redactor)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(daemon.run(), name="daemon")
        others = [
            tasks.create_task(poller.run(lambda: _announce(daemon, loaded)), name="control"),
            tasks.create_task(_tell_channels(daemon), name="channel states"),
            tasks.create_task(_drain_on(stop, daemon), name="signals"),
        ]
        await asyncio.wait({running})
        for task in others:
            task.cancel()


async def _drain_on(stop: asyncio.Event, daemon: Daemon) -> None:
    await stop.wait()
    _say(f"stopping: running turns may end, for {DRAIN_S:g} s at most")
    await daemon.drain(DRAIN_S)


async def _tell_channels(daemon: Daemon) -> None:
    """Print each channel's changes; raises `ConfigError` when none could ever be used."""
    told: dict[str, tuple[str, str]] = {}
    was_usable = False
    while True:
        states = daemon.channel_states()
        for name, status in states.items():
            seen = (status.state, status.reason)
            if status.state != "starting" and told.get(name) != seen:
                told[name] = seen
                _say(f"{name} is {status.state}" + (f": {status.reason}" if status.reason else ""))
        was_usable = was_usable or any(s.state in USABLE for s in states.values())
        if not was_usable and all(s.state in UNUSABLE for s in states.values()):
            reasons = [f"{name}: {status.reason}" for name, status in states.items()]
            raise ConfigError(f"{NOTHING_USABLE} ({' '.join([*daemon.degraded, *reasons])})")
        await daemon.clock.sleep(LOOK_S)


def _explain_idle(degraded: Sequence[str], loaded: Loaded) -> str:
    if degraded:
        return f"{NOTHING_USABLE} ({' '.join(degraded)})"
    where = loaded.path or "geode.toml, which was not found"
    return f"no channel is configured; add one such as [channels.slack] and [[bindings]] to {where}"


def _announce(daemon: Daemon, loaded: Loaded) -> None:
    _say(f"configuration: {loaded.path or 'built in, no geode.toml found'}")
    _say(f"state: {loaded.database_path}")
    _say(f"listening: {loaded.state_folder / SOCKET_NAME}, {', '.join(daemon.channels)}")
    for sentence in daemon.degraded:
        _say(f"degraded: {sentence}")
    _say(f"ready: pid {os.getpid()}")


def _say(line: str) -> None:
    with suppress(OSError):  # whoever read this may be gone; the daemon stays
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _watch_stdin(stop: asyncio.Event) -> None:
    """Stop when whoever started us is gone."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        with suppress(OSError):
            while os.read(0, 4096):
                pass
        with suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=watch, name="stdin", daemon=True).start()
