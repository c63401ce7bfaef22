"""One update, however it came: handed to the core, and answered where a person waits for it."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import TypeVar

from channels.telegram.answers import NOT_YOURS, STRAY, TRY_AGAIN, WORDS_NEEDED, Answers
from channels.telegram.parse import AlbumPart, Dropped, Migration, Parsed
from channels.telegram.places import PLATFORM
from channels.telegram.presses import BlankWords, Pressed, StrayQuery, WordsAsked
from geode.errors import StoreError
from geode.messages import ButtonPress, ChatCommand, Inbound, InboundMessage, Thread
from geode.ports import Accepted, Clock, Failpoints, Intake

log = logging.getLogger(__name__)

LIVE_WITHIN_US = 60_000_000
"""A message that waited longer at Telegram was said while we were away."""


Dated = TypeVar("Dated", InboundMessage, ChatCommand)


class Reception:
    """Knows nothing of how updates are confirmed; raises `StoreError` when one must come again."""

    def __init__(
        self, bot_id: str, intake: Intake, answers: Answers, *, clock: Clock, failpoints: Failpoints
    ) -> None:
        self._bot_id = bot_id
        self._intake = intake
        self._answers = answers
        self._clock = clock
        self._failpoints = failpoints
        self.dropped: Counter[str] = Counter()
        """What arrived and was nothing for us, by name."""

    async def take(self, parsed: Parsed) -> None:
        """Store what an update says, or drop it on purpose; part of an album is taken alone."""
        match parsed:
            case Dropped(reason):
                self.dropped[reason] += 1
                log.debug("telegram_update_dropped reason=%s", reason)
            case InboundMessage():
                await self._accept(self._date(parsed))
            case AlbumPart(_, message):
                await self._accept(replace(self._date(message), is_part=True))
            case ChatCommand():
                accepted = await self._accept(self._date(parsed))
                self._answers.say(parsed.thread, parsed.reply_to, accepted.answer)
            case ButtonPress():
                await self._accept_words(parsed)
            case Migration():
                await self._move(parsed)
            case _:
                await self._answer(parsed)

    async def _answer(self, parsed: Pressed | WordsAsked | StrayQuery | BlankWords) -> None:
        """What is pressed is answered in every case: Telegram shows a clock until then."""
        match parsed:
            case Pressed():
                await self._accept_press(parsed)
            case WordsAsked(query, press):
                if self._intake.admits(press):
                    self._answers.prompt(parsed)
                else:
                    self._answers.answer_query(query, NOT_YOURS)
            case StrayQuery(query):
                self._answers.answer_query(query, STRAY)
            case BlankWords(press, message_id):
                if self._intake.admits(press):
                    self._answers.say(press.thread, message_id, WORDS_NEEDED)

    async def _accept_press(self, pressed: Pressed) -> None:
        try:
            accepted = await self._accept(pressed.press)
        except StoreError:
            self._answers.answer_query(pressed.query, TRY_AGAIN)
            raise
        if accepted.is_confidential:
            person = pressed.press.presser.id
            self._answers.confide(pressed.query, person, accepted.answer)
            return
        is_stranger = accepted.outcome == "ignored" and not accepted.answer
        self._answers.answer_query(pressed.query, NOT_YOURS if is_stranger else accepted.answer)

    async def _accept_words(self, press: ButtonPress) -> None:
        accepted = await self._accept(press)
        self._answers.say(press.thread, "", accepted.answer)

    async def _accept(self, event: Inbound) -> Accepted:
        accepted = await self._intake.accept(event)
        self._failpoints.hit(f"telegram.ack:{accepted.outcome}")
        return accepted

    def _date(self, message: Dated) -> Dated:
        age_us = self._clock.now_us() - message.sent_at_us
        return replace(message, is_catch_up=age_us > LIVE_WITHIN_US)

    async def _move(self, moved: Migration) -> None:
        log.warning("telegram_group_migrated old=%s new=%s", moved.old_chat, moved.new_chat)
        old = Thread(PLATFORM, self._bot_id, moved.old_chat, "")
        await self._intake.move_place(old, replace(old, channel=moved.new_chat))
