"""Puts a question to the running daemon, or, without one, to the state itself under its lock."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

from geode.errors import DaemonAbsentError, StateLockedError
from geode.serve.client import ask_daemon
from geode.settings_load import find_state_folder

TRIES = 30
PAUSE_S = 0.1


def ask(verb: str, arguments: dict[str, Any], config: Path | None) -> Any:
    """The answer to one verb; raises a `GeodeError` whose sentence is for the operator."""
    folder = find_state_folder(os.environ)
    for last in range(TRIES):
        try:
            return ask_daemon(folder, verb, arguments)
        except DaemonAbsentError:
            from geode.cli.offline import answer_offline  # noqa: PLC0415 - the store is heavy

        try:
            return asyncio.run(answer_offline(verb, arguments, config))
        except StateLockedError:
            # A daemon that is just starting or ending holds the lock for a moment without a socket.
            if last == TRIES - 1:
                raise
            threading.Event().wait(PAUSE_S)
    raise DaemonAbsentError(str(folder))
