"""What is said back to a person at once: to a press, to a command, and when words are needed."""

from __future__ import annotations

from dataclasses import replace

from channels.errands import Errands
from channels.telegram.flood import ChatPauses
from channels.telegram.places import topic_of
from channels.telegram.presses import WordsAsked, prompt_for
from channels.telegram.render import ALERT_UNITS_MAX, render_alert, render_parts
from channels.telegram.web import Target, TelegramWeb
from geode.errors import ChannelError
from geode.messages import OutboundBody, Thread
from geode.ports import Redactor

TRY_AGAIN = "That could not be stored just now. Please try again."
STRAY = "This button is not in use any more."
NOT_YOURS = "This is not for you to decide here."
WORDS_NEEDED = "Please answer the question above with words."
PROMPTED = "Please answer the message below."
CONFIDED = "I have sent it to you in our private chat."
WRITE_FIRST = "I may not write to you yet: send me a private message first, then press again."


class Answers:
    """Sends in the background: no person's update waits for another one's answer."""

    def __init__(
        self, web: TelegramWeb, redactor: Redactor, pauses: ChatPauses, errands: Errands
    ) -> None:
        self._web = web
        self._redactor = redactor
        self._pauses = pauses
        self._errands = errands

    def answer_query(self, query: str, markdown: str) -> None:
        """End the waiting of a pressed button, with an alert when there is something to say.

        What is too long for an alert is cut; it is a hint, and the chat shows what was decided.
        """
        text = render_alert(self._redactor.redact(markdown), ALERT_UNITS_MAX)
        self._errands.begin("answer_query", self._web.answer_query(query, text))

    def confide(self, query: str, person: str, markdown: str) -> None:
        """Say it to one person in their own chat with the bot, and where they pressed only that."""
        self._errands.begin("confide", self._confide(query, person, markdown))

    async def _confide(self, query: str, person: str, markdown: str) -> None:
        told = CONFIDED
        try:
            await self._say(Thread("telegram", "", person, ""), "", markdown)
        except ChannelError:
            told = WRITE_FIRST  # a bot may not begin a chat
        await self._web.answer_query(query, told)

    def say(self, thread: Thread, reply_to: str, markdown: str) -> None:
        """A short message in the place; nothing when there is nothing to say."""
        if markdown.strip():
            self._errands.begin("say", self._say(thread, reply_to, markdown))

    def prompt(self, asked: WordsAsked) -> None:
        """Ask the presser for words, in the place of the card."""
        self.answer_query(asked.query, "")
        self._errands.begin("prompt", self._prompt(asked))

    async def _say(self, thread: Thread, reply_to: str, markdown: str) -> None:
        clean = self._redactor.redact(markdown)
        number = int(reply_to) if reply_to.isdecimal() else 0
        target = Target(thread.channel, topic_of(thread), number)
        for part in render_parts(OutboundBody(clean, "notice")):
            with self._pauses.pacing(thread.channel):
                await self._web.send(target, part.payload)

    async def _prompt(self, asked: WordsAsked) -> None:
        presser = replace(asked.press.presser, name=asked.press.presser.name[:64])
        content = prompt_for(replace(asked, press=replace(asked.press, presser=presser)))
        thread = asked.press.thread
        with self._pauses.pacing(thread.channel):
            await self._web.send(
                Target(thread.channel, topic_of(thread), int(asked.press.message_id)), content
            )
