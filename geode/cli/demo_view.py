"""Shows a thread in the terminal as it grows: every message, and every edit, once."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from geode.cli.demo_platforms import LocalSlack
from geode.cli.tables import show_text

POLL_S = 0.1
BODY_CHARS_MAX = 400


class Screen:
    """Plain lines on standard output; bold where a terminal can show it."""

    def __init__(self) -> None:
        self._has_bold = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def say(self, line: str = "") -> None:
        """Print one line now."""
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def title(self, line: str) -> None:
        """Print one line that stands out."""
        self.say(f"\n\033[1m{line}\033[0m" if self._has_bold else f"\n{line}")

    def speak(self, name: str, text: str) -> None:
        """Print what someone said, indented under their name."""
        lines = [show_text(line, BODY_CHARS_MAX) for line in text.splitlines() if line.strip()]
        self.say(f"{name:>7}  {lines[0] if lines else ''}")
        for line in lines[1:]:
            self.say(f"{' ' * 7}  {line}")


class ThreadView:
    """Follows one thread of the local Slack."""

    def __init__(self, screen: Screen, slack: LocalSlack, names: dict[str, str]) -> None:
        self._screen = screen
        self._slack = slack
        self._names = names
        self._shown: dict[str, int] = {}
        """Wordings shown so far, by time stamp."""
        self._looking = asyncio.Lock()
        self.thread_ts = ""
        """The thread's root; empty until the first message is posted."""
        self.messages: list[dict[str, Any]] = []
        """The thread as it was last seen, oldest first."""

    async def follow(self) -> None:
        """Show what is new until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(POLL_S)

    async def look(self) -> None:
        """Read the thread once and show what is new."""
        if not self.thread_ts:
            return
        async with self._looking:
            self.messages = await self._slack.read_thread(self.thread_ts)
            for message in self.messages:
                self._show(message)

    def _show(self, message: dict[str, Any]) -> None:
        wordings = [str(edit["text"]) for edit in message["edits"]] + [str(message["text"])]
        first_new = self._shown.get(message["ts"], 0)
        self._shown[message["ts"]] = len(wordings)
        name = self._names.get(message["user"], "someone")
        for number, text in enumerate(wordings[first_new:], start=first_new):
            mark = "(edited) " if number else ""
            self._screen.speak(name, mark + self._name_people(text))

    def _name_people(self, text: str) -> str:
        for user, name in self._names.items():
            text = text.replace(f"<@{user}>", f"@{name}")
        return text
