"""`geode chat --local`: the same assembly in this process, with no channel but its terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from geode.app import Daemon
from geode.cli.chat_talk import Lines
from geode.errors import ControlError, StateLockedError
from geode.log import configure_logging
from geode.messages import Mode
from geode.ports import SystemClock
from geode.reply.redaction import Redactor
from geode.serve.line import LocalLine
from geode.settings_load import Loaded, load_settings
from geode.store.lock import StateLock

Chat: TypeAlias = Callable[[Lines, Path], Awaitable[int]]

DRAIN_S = 5.0
USE_CHAT = "If that is a daemon, use geode chat without --local."


def run_local(config: Path | None, chat: Chat) -> int:
    """Take the state's lock, and talk; raises `ControlError` where a daemon has it."""
    loaded = load_settings(config)
    configure_logging(Redactor(), style="console", level="ERROR")
    try:
        with StateLock.acquire(
            loaded.state_folder,
            SystemClock(),
            command="geode chat --local",
            database=loaded.database_path,
        ):
            return asyncio.run(_chat_here(loaded, chat))
    except StateLockedError as error:
        raise ControlError(f"{error} {USE_CHAT}") from None


async def _chat_here(loaded: Loaded, chat: Chat) -> int:
    async with run_daemon(loaded) as daemon:
        line = open_line(daemon)
        return await chat(Lines(line, line), loaded.state_folder)


def open_line(daemon: Daemon) -> LocalLine:
    """All that a chat asks of its daemon, without a socket."""
    return LocalLine({**daemon.chat.verbs, **daemon.reviews.verbs})


@asynccontextmanager
async def run_daemon(loaded: Loaded) -> AsyncGenerator[Daemon]:
    """The whole assembly in this process, with no channel but its terminal."""
    alone = loaded.settings.model_copy(update={"channels": {}})
    daemon = await Daemon.open(
        Loaded(alone, loaded.sources, loaded.path, loaded.state_folder), terminal=Mode.REPL
    )
    configure_logging(daemon.redactor, style="console", level="ERROR")
    running = asyncio.create_task(daemon.run(), name="daemon")
    try:
        yield daemon
        await daemon.drain(DRAIN_S)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await daemon.close()
