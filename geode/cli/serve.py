"""`geode serve`: the state's owner, the daemon and its control socket, until a signal says stop."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from geode.app import Daemon
from geode.errors import ConfigError, StoreError
from geode.log import configure_logging
from geode.ports import Channel, ChannelStatus, SystemClock
from geode.reply.redaction import Redactor
from geode.serve.audit_control import AuditControl
from geode.serve.control import Control
from geode.serve.endpoint import SOCKET_NAME
from geode.serve.ipc import CLIPoller
from geode.serve.server_control import ServerControl
from geode.serve.signals import Asked, catch_signals
from geode.serve.why import WhyGround
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
        told = Told(loaded, config, until_stdin_closes)
        return asyncio.run(_serve(told, style))


@dataclass(frozen=True, slots=True)
class Told:
    """What the command was given."""

    loaded: Loaded
    config: Path | None
    """Where the configuration is looked for again."""
    until_stdin_closes: bool


async def _serve(told: Told, style: LogStyle) -> int:
    loaded = told.loaded
    daemon = await Daemon.open(loaded)
    configure_logging(daemon.redactor, style=style)
    try:
        if not daemon.channel_states():
            raise ConfigError(_explain_idle(daemon.degraded, loaded))
        with catch_signals() as asked:
            if told.until_stdin_closes:
                _watch_stdin(asked.stop)
            await _run_until(asked, daemon, told)
    finally:
        await daemon.close()
    _say("stopped")
    return 0


async def _run_until(asked: Asked, daemon: Daemon, told: Told) -> None:
    loaded = told.loaded
    ground = WhyGround(lambda: daemon.settings, daemon.decide_now)
    control = Control(daemon.health, daemon.store, daemon.clock, ground)
    servers = ServerControl(daemon.mcp, daemon.store, is_running=True)
    verbs = {**control.verbs, **daemon.chat.verbs, **daemon.reviews.verbs, **servers.verbs}
    verbs |= AuditControl(daemon.store).verbs
    poller = CLIPoller(loaded.state_folder, verbs, redactor=daemon.redactor)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(daemon.run(), name="daemon")
        others = [
            tasks.create_task(poller.run(lambda: _announce(daemon, loaded)), name="control"),
            tasks.create_task(_tell_channels(daemon), name="channel states"),
            tasks.create_task(_drain_on(asked.stop, daemon), name="signals"),
            tasks.create_task(_reload_on(asked.reload, daemon, told.config), name="reload"),
        ]
        await asyncio.wait({running})
        for task in others:
            task.cancel()


async def _drain_on(stop: asyncio.Event, daemon: Daemon) -> None:
    await stop.wait()
    _say(f"stopping: running turns may end, for {DRAIN_S:g} s at most")
    await daemon.drain(DRAIN_S)


async def _reload_on(asked: asyncio.Event, daemon: Daemon, config: Path | None) -> None:
    while True:
        await asked.wait()
        asked.clear()
        try:
            loaded = await asyncio.to_thread(load_settings, config)
            changes = await daemon.reload(loaded)
        except (ConfigError, StoreError) as error:
            _say(f"not reloaded, nothing was changed: {error}")
        else:
            for line in changes:
                _say(line)
            _say(f"reloaded: {loaded.path or 'built in'}")


async def _tell_channels(daemon: Daemon) -> None:
    """Print each channel's changes; raises `ConfigError` when none could ever be used."""
    told: dict[str, tuple[Channel, str, str]] = {}
    was_usable = False
    while True:
        states = daemon.channel_states()
        for name, status in states.items():
            seen = (daemon.channels[name], status.state, status.reason)
            if status.state != "starting" and told.get(name) != seen:
                told[name] = seen
                _say(describe_channel(name, status))
        was_usable = was_usable or any(s.state in USABLE for s in states.values())
        if not was_usable and all(s.state in UNUSABLE for s in states.values()):
            reasons = [f"{name}: {status.reason}" for name, status in states.items()]
            raise ConfigError(f"{NOTHING_USABLE} ({' '.join([*daemon.degraded, *reasons])})")
        await daemon.clock.sleep(LOOK_S)


def describe_channel(name: str, status: ChannelStatus) -> str:
    """How a channel is, in one line."""
    if status.state == "up" and status.address:
        return f"{name} is up: open {status.address}"
    return f"{name} is {status.state}" + (f": {status.reason}" if status.reason else "")


def _explain_idle(degraded: Sequence[str], loaded: Loaded) -> str:
    if degraded:
        return f"{NOTHING_USABLE} ({' '.join(degraded)})"
    where = loaded.path or "geode.toml, which was not found"
    return f"no channel is configured; add one such as [channels.slack] and [[bindings]] to {where}"


def _announce(daemon: Daemon, loaded: Loaded) -> None:
    _say(f"configuration: {loaded.path or 'built in, no geode.toml found'}")
    _say(f"state: {loaded.database_path}")
    _say(f"listening: {loaded.state_folder / SOCKET_NAME}, {', '.join(daemon.channel_states())}")
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
