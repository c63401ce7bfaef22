"""The conversation at a terminal: typing, watching a turn, deciding on a card, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from geode.cli.chat_card import LATER, ShownCard, choose
from geode.cli.chat_files import save_file
from geode.cli.chat_keys import Interrupts, Keys, LineReader, TypedInterruptError, quiet_keys
from geode.cli.chat_plain import PlainKeys
from geode.cli.chat_review import SHOW, ask_about_review, decision_of, review_of
from geode.cli.chat_screen import QUIET, Screen, show_line
from geode.cli.chat_talk import News, Talk
from geode.cli.review_reports import report_review
from geode.errors import ControlError

NEWS_MAX = 20
HISTORY_ROWS = 25
ROWS_SHOWN = 6
SETTLE_S = 1.0
"""So long a command's answer is waited for before the next line is asked."""
STOPPING = "Stopping; Ctrl-C again leaves."
LEAVING = "Ctrl-C again, or Ctrl-D, leaves."
NOT_CONSENT = "An empty line decides nothing. Type the number, or later."
NO_CHOICE = "That is none of the answers. Type the number, or later."
PUT_ASIDE = "It waits; /cards asks again."
STILL_RUNNING = "The turn goes on; geode chat shows its answer later."
LOCAL_WORDS = ("/quit", "/exit", "/cards", "/save")


class ChatRoom:
    """Lets one person talk in one conversation until they leave."""

    def __init__(self, talk: Talk, screen: Screen) -> None:
        self._talk = talk
        self._screen = screen
        self._news: asyncio.Queue[News | BaseException] = asyncio.Queue(NEWS_MAX)
        self._interrupts = Interrupts()
        self._keys: LineReader = PlainKeys(self._interrupts)
        self._is_busy = False
        self._is_left = False
        self._is_warned = False
        """Ctrl-C was pressed once, and nothing was done since."""
        self._line = ""
        self._aside: set[str] = set()

    async def run(self) -> int:
        """Talk until the person leaves."""
        await self._enter()
        listening = asyncio.create_task(self._listen(), name="listening")
        try:
            with self._interrupts.caught():
                while not self._is_left:
                    await self._go_on()
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening
        if self._is_busy:
            self._screen.tell(STILL_RUNNING, QUIET)
        return 0

    async def _enter(self) -> None:
        opened = await self._talk.open(HISTORY_ROWS)
        screen = self._screen
        screen.agent = opened["agent"]
        screen.tell(f"Conversation {self._talk.name}. /help for commands, Ctrl-D leaves.", QUIET)
        for row in (*opened["messages"][-ROWS_SHOWN:], *opened["cards"]):
            screen.show(row)
        self._follow_review(opened["review"])
        said = [row["markdown"] for row in opened["messages"] if row["kind"] == "said"]
        if not screen.console.is_dumb_terminal:
            self._keys = Keys(said)
        self._is_busy, self._line = opened["is_busy"], opened["line"]

    async def _listen(self) -> None:
        try:
            async for news in self._talk.listen():
                await self._news.put(news)
        except ControlError as error:
            await self._news.put(error)

    async def _go_on(self) -> None:
        if (card := self._next_card()) is not None:
            await self._decide(card)
        elif self._is_busy:
            await self._watch()
        else:
            await self._ask_words()

    def _next_card(self) -> ShownCard | None:
        waiting = (c for c in self._screen.cards.values() if c.message_id not in self._aside)
        return next(waiting, None)

    async def _take_news(self) -> bool:
        """Take in what the listener was told next; whether it said anything to the person."""
        news = await self._news.get()
        if isinstance(news, BaseException):
            raise news
        rows = [row for row in news.rows if not self._talk.is_own(row)]
        for row in rows:
            self._screen.show(row)
        self._follow_review(news.review)
        # News of before our last message say nothing of it.
        self._is_busy, self._line = news.is_busy or bool(self._talk.awaited), news.line
        return bool(rows)

    def _follow_review(self, review: Mapping[str, Any]) -> None:
        """Put the question about an answer that waits among the cards, and take old ones away."""
        card = ask_about_review(review) if review else None
        waiting = self._screen.cards
        for known in [each for each in waiting.values() if review_of(each)]:
            if card is None or known.message_id != card.message_id:
                waiting.pop(known.message_id)
        if card is not None and card.message_id not in waiting:
            self._screen.show_card(card)

    async def _watch(self) -> None:
        """Show what is being done until it is done, or something must be decided."""
        interrupted = asyncio.ensure_future(self._interrupts.wait())
        coming = asyncio.ensure_future(self._take_news())
        try:
            with quiet_keys(), self._screen.working() as status:
                while self._is_busy and self._next_card() is None and not self._is_left:
                    show_line(status, self._line)
                    both = {interrupted, coming}
                    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                    if coming.done():
                        await coming
                        coming = asyncio.ensure_future(self._take_news())
                    if interrupted.done():
                        interrupted = asyncio.ensure_future(self._interrupts.wait())
                        await self._interrupt(is_running=True)
        finally:
            interrupted.cancel()
            coming.cancel()
        self._is_warned = False

    async def _interrupt(self, *, is_running: bool) -> None:
        """Ctrl-C: once it stops the turn, twice it leaves."""
        if self._is_warned:
            self._is_left = True
            return
        self._is_warned = True
        self._screen.tell(STOPPING if is_running else LEAVING, QUIET)
        if is_running:
            await self._talk.say("/stop")

    async def _read(self, prompt: str, card: ShownCard | None) -> str | None:
        """A typed line; None when there is none: something else is to be done first, or nothing."""
        asked = None if card is None else card.message_id

        def is_over() -> bool:
            if asked is not None:
                return asked not in self._screen.cards
            return self._is_busy or self._next_card() is not None

        try:
            line = await self._keys.read(prompt, self._take_news, is_over)
        except EOFError:
            self._is_left = True
        except TypedInterruptError:
            await self._interrupt(is_running=card is not None)
        else:
            self._is_warned = False
            return line
        return None

    async def _ask_words(self) -> None:
        typed = await self._read("> ", None)
        if typed is None or not typed.strip():
            return
        if typed.split()[0] in LOCAL_WORDS:
            self._do_here(typed.split())
        else:
            await self._say(typed)

    async def _say(self, text: str) -> None:
        try:
            said = await self._talk.say(text)
        except ControlError as error:
            self._screen.tell(str(error))
            return
        self._is_busy = said["outcome"] == "stored"
        if not self._is_busy:
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_S):
                    while not await self._take_news():
                        pass

    def _do_here(self, words: list[str]) -> None:
        match words:
            case ["/quit" | "/exit"]:
                self._is_left = True
            case ["/cards"]:
                self._aside.clear()
                for card in self._screen.cards.values():
                    self._screen.print_card(card)
                if not self._screen.cards:
                    self._screen.tell("Nothing waits for you.", QUIET)
            case ["/save", number, *path]:
                self._save(number, Path(" ".join(path) or "."))
            case _:
                self._screen.tell("/save NUMBER [PATH], /cards and /quit are done here.", QUIET)

    def _save(self, number: str, target: Path) -> None:
        files = self._screen.files
        if not number.isdecimal() or not 1 <= int(number) <= len(files):
            self._screen.tell("There is no file of that number.")
            return
        try:
            path = save_file(self._screen.state_folder, files[int(number) - 1], target)
        except ControlError as error:
            self._screen.tell(str(error))
        else:
            self._screen.tell(f"Saved as {path}.", QUIET)

    async def _decide(self, card: ShownCard) -> None:
        """Ask until a person chose, put it aside or left; nothing else is an answer."""
        self._keys.forget()
        self._screen.tell(f"{card.question}  (or later)")
        typed = await self._read("Choose> ", card)
        if typed is None:
            return
        if typed.strip().casefold() in LATER:
            self._aside.add(card.message_id)
            self._screen.tell(PUT_ASIDE, QUIET)
        elif typed.strip().startswith("/"):
            await self._say(typed)
        elif (number := choose(typed, card.buttons)) is None:
            self._screen.tell(NO_CHOICE if typed.strip() else NOT_CONSENT)
        else:
            await self._press(card, number)

    async def _press(self, card: ShownCard, number: int) -> None:
        button = card.buttons[number - 1]
        words = ""
        if button.asks:
            words = await self._read(f"{button.asks}> ", card) or ""
            if not words.strip():
                return
        if review_of(card):
            await self._decide_review(card, decision_of(number), words)
            return
        try:
            done = await self._talk.press(card.message_id, number, button.label, words)
        except ControlError as error:
            self._screen.tell(str(error))
            self._screen.cards.pop(card.message_id, None)
            return
        if done["outcome"] == "decided" or done["reason"] == "card.decided":
            self._screen.cards.pop(card.message_id, None)
            self._is_busy = True

    async def _decide_review(self, card: ShownCard, decision: str, words: str) -> None:
        review_id = review_of(card)
        try:
            if decision == SHOW:
                self._screen.tell(report_review(await self._talk.show_review(review_id)))
                return
            await self._talk.decide_review(review_id, decision, words)
        except ControlError as error:
            self._screen.tell(str(error))
        self._screen.cards.pop(card.message_id, None)
        self._is_busy = True
