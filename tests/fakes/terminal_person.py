"""A person at a pseudo-terminal in which `geode chat` runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pexpect
from fakes.geode_command import GEODE, command_environ

WAIT_S = 30
ASKS = "\x1b[?2004h"
"""What the typed line begins with: the terminal is told that it takes pasted text."""
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


class TerminalPerson:
    """Types lines and keys, and waits for what the screen says."""

    def __init__(self, spawned: pexpect.spawn) -> None:
        self._spawned = spawned
        self._seen = ""

    def reads(self, text: str) -> str:
        """Wait until that is said; what stood before it."""
        self._spawned.expect_exact(text)
        before = str(self._spawned.before)
        self._seen += before + text
        return _STYLE.sub("", before)

    def is_asked(self) -> str:
        """Wait until a line may be typed; what was said before it."""
        return self.reads(ASKS)

    def types(self, line: str) -> None:
        """Type a line and end it."""
        self._spawned.send(f"{line}\r")

    def presses(self, key: str) -> None:
        """Hold Ctrl and press a letter."""
        self._spawned.sendcontrol(key)

    def resizes(self, rows: int, columns: int) -> None:
        """Change the size of the window."""
        self._spawned.setwinsize(rows, columns)

    def ends(self) -> int:
        """The exit code, once the command is over."""
        self._spawned.expect(pexpect.EOF)
        self._seen += str(self._spawned.before)
        self._spawned.close()
        return int(self._spawned.exitstatus or 0)

    @property
    def raw(self) -> str:
        """Everything that reached the terminal up to what was waited for last."""
        return self._seen


@contextmanager
def at_terminal(
    folder: Path, *arguments: str, term: str = "xterm", columns: int = 100
) -> Generator[TerminalPerson]:
    """`geode chat` in a pseudo-terminal; it never outlives the block."""
    environ = {"GEODE_HOME": str(folder), "TERM": term, "PROMPT_TOOLKIT_NO_CPR": "1"}
    spawned = pexpect.spawn(
        str(GEODE),
        ["chat", *arguments],
        env=command_environ(environ),
        cwd=str(folder),
        timeout=WAIT_S,
        dimensions=(30, columns),
        encoding="utf-8",
    )
    try:
        yield TerminalPerson(spawned)
    finally:
        spawned.close(force=True)


async def sit(
    folder: Path, play: Callable[[TerminalPerson], None], *arguments: str, term: str = "xterm"
) -> None:
    """Let a person play their part in a thread, while the daemon runs here."""

    def run() -> None:
        with at_terminal(folder, *arguments, term=term) as person:
            play(person)

    await asyncio.to_thread(run)
