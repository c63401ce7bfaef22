"""The demo's short story, told on several platforms at once, side by side."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from geode.cli.demo_count import LABEL, Said, SideTally, count_side
from geode.cli.demo_platform import Line, LocalPlatform
from geode.cli.demo_view import POLL_S, Screen
from geode.cli.demo_world import DaemonProcess
from geode.cli.tables import show_text
from geode.errors import ControlError
from geode.serve.client import ask_daemon

SEEN_S = 20.0
LOOK_S = 0.05
WIDTH = 80
TEXT_CHARS_MAX = 300
STATE_HOLDS = "pending reviews"
"""What only the answer to a question for the state holds."""


class Side:
    """One platform's thread: what was said in it, and what of it was shown."""

    def __init__(self, screen: Screen, platform: LocalPlatform) -> None:
        self.platform = platform
        self.said: list[Said] = []
        self.lines: Sequence[Line] = ()
        self._screen = screen
        self._shown: dict[str, str] = {}
        self._looking = asyncio.Lock()

    async def say(self, person: str, text: str, answer_holds: str) -> None:
        """A person writes; the answer will hold those words."""
        message = await self.platform.post(person, text)
        self.said.append(Said(message, answer_holds))
        await self.look()

    async def look(self) -> None:
        """Read the thread once and show what is new; of edits only what became an answer."""
        async with self._looking:
            self.lines = await self.platform.read()
            for line in self.lines:
                before = self._shown.get(line.id)
                if before is None or (before != line.text and LABEL in line.text):
                    self._shown[line.id] = line.text
                    self._show(line, is_edited=before is not None)

    async def follow(self) -> None:
        """Show what is new until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(POLL_S)

    def has_answers(self) -> bool:
        """Every message so far has its answer."""
        ours = [line.text for line in self.lines if line.is_ours]
        return all(any(one.answer_holds in text for text in ours) for one in self.said)

    def tally(self) -> SideTally:
        """The counts of the thread as it was last seen."""
        return count_side(self.platform.name, self.said, self.lines)

    def _show(self, line: Line, *, is_edited: bool) -> None:
        name = "Geode" if line.is_ours else line.name
        said = line.text.replace(self.platform.mention(), "@Geode")
        words = " / ".join(part.strip() for part in said.splitlines() if part.strip())
        text = show_text(("(edited) " if is_edited else "") + words, TEXT_CHARS_MAX)
        head = f"{self.platform.name:<9} {name:>6}  "
        rows = textwrap.wrap(text, WIDTH - len(head)) or [""]
        for number, row in enumerate(rows):
            self._screen.say((" " * len(head) if number else head) + row)


class SideStory:
    """A tool, a command, and a crash in mid-turn, on every platform at once."""

    def __init__(
        self, screen: Screen, sides: Sequence[Side], daemon: DaemonProcess, *, pause_s: float
    ) -> None:
        self._screen = screen
        self._sides = sides
        self._daemon = daemon
        self._pause_s = pause_s

    async def play(self) -> None:
        """All scenes in order."""
        self._screen.title("1. A question on each platform: a tool, and an answer in the thread")
        text = "@ slow 1, then write the file plan.md: Ship on Friday."
        await self._everywhere(lambda side: side.say("ana", text, "Wrote the new file"))
        await self._await_answers()

        self._screen.title("2. A command, answered by the runtime without the model")
        await self._everywhere(lambda s: s.say("ana", s.platform.command, STATE_HOLDS))
        await self._await_answers()

        self._screen.title("3. The daemon is killed in the middle of all turns, and started again")
        question = "@ slow 3, then what is 6 * 9?"
        await self._everywhere(lambda side: side.say("ana", question, "6 * 9 = 54"))
        await self._await_turns(len(self._sides))
        await self._crash()
        await self._await_answers()

    async def _crash(self) -> None:
        pid = self._daemon.pid
        await self._daemon.kill()
        self._screen.say(f"         -- kill -9 {pid}")
        await self._daemon.start()
        self._screen.say(f"         -- geode serve is back, pid {self._daemon.pid}")

    async def _everywhere(self, do: Callable[[Side], Awaitable[None]]) -> None:
        await asyncio.sleep(self._pause_s)
        for side in self._sides:
            await do(side)

    async def _await_answers(self) -> None:
        async def is_so() -> bool:
            return all(side.has_answers() for side in self._sides)

        await self._await(is_so, "the answers")

    async def _await_turns(self, number: int) -> None:
        async def is_so() -> bool:
            answer = await ask(self._daemon.home, "status")
            return int(answer["turns_running"]) >= number  # type: ignore[arg-type]

        await self._await(is_so, f"{number} running turns")

    async def _await(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        try:
            async with asyncio.timeout(SEEN_S):
                while not await is_so():  # noqa: ASYNC110 - the state of another process
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise ControlError(
                f"The demo waited {SEEN_S:g} s for {what} and saw none; see {self._daemon.log}."
            ) from None


async def ask(home: Path, verb: str) -> dict[str, object]:
    """A verb of the daemon's control socket."""
    return await asyncio.to_thread(ask_daemon, home, verb)
