"""`geode demo --stay`: lines typed here are posted in the threads; the views show the answers."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Sequence

from geode.cli.demo_platform import LocalPlatform
from geode.cli.demo_view import Screen
from geode.cli.demo_world import DaemonProcess

LINE_BYTES_MAX = 4000
LINES_MAX = 100


async def talk(screen: Screen, platforms: Sequence[LocalPlatform], daemon: DaemonProcess) -> None:
    """Post what is typed until the input ends (at a terminal) or the demo is stopped."""
    where = "in the thread" if len(platforms) == 1 else "in every thread"
    screen.title(f"It stays. Type a line to post it {where} as ana; Ctrl-C ends everything.")
    screen.say(f"  In a browser: {daemon.page.page_url}")
    screen.say("  To post from another terminal:")
    for platform in platforms:
        text = platform.address("@ list the files")
        screen.say(f'    curl -d \'{{"text": "{text}"}}\' {platform.control_url}/say')
    screen.say("  To look at the daemon:")
    screen.say(f"    GEODE_HOME={daemon.home} geode status")
    screen.say(f"  Its log: {daemon.log}")
    screen.say()
    lines: asyncio.Queue[str | None] = asyncio.Queue(LINES_MAX)
    _read_lines(lines)
    while (line := await lines.get()) is not None:
        for platform in platforms:
            if line.strip():
                await platform.post("ana", line.strip())
    if not sys.stdin.isatty():
        await asyncio.Event().wait()


def _read_lines(lines: asyncio.Queue[str | None]) -> None:
    """Fill the queue from standard input on a thread that the process need not wait for."""
    loop = asyncio.get_running_loop()

    def put(line: str | None) -> None:
        try:
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
        except RuntimeError:
            return  # the demo has ended already

    def read() -> None:
        rest = b""
        while chunk := _read_chunk():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                put(line.decode("utf-8", "replace"))
            rest = rest[-LINE_BYTES_MAX:]
        put(None)

    threading.Thread(target=read, name="stdin", daemon=True).start()


def _read_chunk() -> bytes:
    try:
        return os.read(0, LINE_BYTES_MAX)
    except OSError:
        return b""
