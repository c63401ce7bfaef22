"""The demo's story, scene by scene: what people write, and what must be seen before going on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from geode.cli.demo_count import Said, is_answer, is_ours
from geode.cli.demo_platforms import LocalSlack
from geode.cli.demo_view import Screen, ThreadView
from geode.cli.demo_world import DaemonProcess
from geode.errors import ControlError
from geode.reply import sentences

SEEN_S = 20.0
LOOK_S = 0.05
CARD = "Release this answer?"
WITHHELD = "9 * 9 = 81"


class Story:
    """Plays the scenes in one thread and remembers what was said."""

    def __init__(
        self,
        screen: Screen,
        slack: LocalSlack,
        daemon: DaemonProcess,
        view: ThreadView,
        *,
        pause_s: float,
    ) -> None:
        self._screen = screen
        self._slack = slack
        self._daemon = daemon
        self._view = view
        self._pause_s = pause_s
        self.said: list[Said] = []

    async def play(self) -> None:
        """All scenes in order."""
        await self._ask_with_a_tool()
        await self._ask_for_the_forbidden()
        await self._ask_twice_meanwhile()
        await self._repair_an_answer()
        await self._release_an_answer()
        await self._survive_a_crash()

    async def _ask_with_a_tool(self) -> None:
        self._screen.title("1. A question, progress, a tool, an answer in the thread")
        await self._say(
            "ana", "@ slow 1, then write the file plan.md: Ship on Friday.", "Wrote the new file"
        )
        await self._await_answers()
        await self._say("ana", "list the files", "`list_files` gave")
        await self._await_answers()

    async def _ask_for_the_forbidden(self) -> None:
        self._screen.title("2. What the runtime does not allow is refused, with the reason")
        await self._say("ana", "run rm -rf / please", "`run_bash`")
        await self._await_answers()

    async def _ask_twice_meanwhile(self) -> None:
        self._screen.title("3. Two messages during a turn become the next turn together")
        await self._say("ana", "slow 3, then read plan.md", "`read_file` gave")
        await self._await_progress()
        await self._say("ana", "what is 17 * 3?", "17 * 3 = 51", at_once=True)
        await self._say("ben", "and 100 - 58?", "100 - 58 = 42", at_once=True)
        await self._await_answers()

    async def _repair_an_answer(self) -> None:
        self._screen.title("4. An answer that fails its check is written again before it is said")
        await self._say("ana", "what is 7 * 8? Fail the check once.", "7 * 8 = 56")
        await self._await_answers()

    async def _release_an_answer(self) -> None:
        self._screen.title("5. One that fails for good waits until an operator releases it")
        await self._say("ben", "what is 9 * 9? Fail the check.", WITHHELD)
        await self._await(lambda: self._find_card() is not None, "the card of the review")
        await asyncio.sleep(self._pause_s)
        await self._view.look()
        card = self._find_card()
        if card is None or any(WITHHELD in words for words in self._list_wordings()):
            raise ControlError("The demo saw an answer that nobody had released.")
        self._screen.say("         -- ana, the operator, presses Release")
        await self._slack.press("ana", card["ts"], "Release")
        await self._await_answers()

    def _list_wordings(self) -> list[str]:
        """Every wording that any message of the thread has or had."""
        return [
            str(each["text"])
            for message in self._view.messages
            for each in (message, *message["edits"])
        ]

    def _find_card(self) -> dict[str, Any] | None:
        cards = [m for m in self._view.messages if is_ours(m) and CARD in m["text"]]
        return cards[-1] if cards else None

    async def _survive_a_crash(self) -> None:
        self._screen.title("6. The daemon is killed in the middle of a turn, and started again")
        await self._say("ana", "slow 3, then what is 6 * 9?", "6 * 9 = 54")
        await self._await_progress()
        pid = self._daemon.pid
        await self._daemon.kill()
        self._screen.say(f"         -- kill -9 {pid}")
        await self._daemon.start()
        self._screen.say(f"         -- geode serve is back, pid {self._daemon.pid}")
        await self._await_answers()

    async def _say(
        self, person: str, text: str, answer_holds: str, *, at_once: bool = False
    ) -> None:
        if not at_once:
            await asyncio.sleep(self._pause_s)
        mention = f"<@{self._slack.bot_user}>"
        text = text.replace("@", mention, 1) if text.startswith("@") else text
        ts = await self._slack.say(person, text, self._view.thread_ts)
        self._view.thread_ts = self._view.thread_ts or ts
        self.said.append(Said(ts, answer_holds))
        await self._view.look()

    async def _await_answers(self) -> None:
        """Every message so far has its answer."""
        await self._await(
            lambda: all(
                any(one.answer_holds in m["text"] for m in self._view.messages if is_answer(m))
                for one in self.said
            ),
            "an answer",
        )

    async def _await_progress(self) -> None:
        """The progress message of the newest question stands in the thread."""
        newest = self.said[-1].ts
        await self._await(
            lambda: any(
                is_ours(m) and m["ts"] > newest and sentences.WORKING[:10] in m["text"]
                for m in self._view.messages
            ),
            "the progress message",
        )

    async def _await(self, is_so: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(SEEN_S):
                while not is_so():  # noqa: ASYNC110 - the state of another process
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise ControlError(
                f"The demo waited {SEEN_S:g} s for {what} and saw none; see {self._daemon.log}."
            ) from None
