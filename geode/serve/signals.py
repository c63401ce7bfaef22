"""SIGTERM and SIGINT ask for an orderly end, a second one ends at once; SIGHUP asks to reload."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Asked:
    """What signals asked for so far."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    reload: asyncio.Event = field(default_factory=asyncio.Event)


@contextmanager
def catch_signals() -> Generator[Asked]:
    """Events that signals set; call it inside the running loop.

    The second stop signal ends the process as a crash would: what is not committed is not there,
    and the next start goes on from what is. A terminal that is closed sends SIGHUP too: that stops.
    """
    asked = Asked()
    loop = asyncio.get_running_loop()
    has_terminal = os.isatty(0)

    def receive(number: signal.Signals) -> None:
        if asked.stop.is_set():
            sys.stderr.write(f"geode: {number.name} again, ending at once\n")
            sys.stderr.flush()
            os._exit(128 + number)
        asked.stop.set()

    def hang_up() -> None:
        # A terminal that was hung up is none any more.
        if has_terminal and not os.isatty(0):
            asked.stop.set()
        else:
            asked.reload.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, receive, number)
    loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        yield asked
    finally:
        for number in (*STOP_SIGNALS, signal.SIGHUP):
            loop.remove_signal_handler(number)
