"""SIGTERM and SIGINT: the first asks for an orderly end, the second ends the process at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def catch_stop() -> Generator[asyncio.Event]:
    """An event that is set by the first stop signal; call it inside the running loop.

    The second signal ends the process as a crash would: what is not committed is not there, and
    the next start goes on from what is.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def receive(number: signal.Signals) -> None:
        if stop.is_set():
            sys.stderr.write(f"geode: {number.name} again, ending at once\n")
            sys.stderr.flush()
            os._exit(128 + number)
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, receive, number)
    try:
        yield stop
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
