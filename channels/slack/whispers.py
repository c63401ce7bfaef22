"""Words for one person alone: answers to presses and commands, and the forms that ask for words."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from channels.errands import Errands
from channels.slack.failures import PlatformRefusedError
from channels.slack.presses import AskWords, write_form
from channels.slack.render import render_posts
from channels.slack.web import SlackWeb
from geode.errors import ChannelError
from geode.messages import COMMANDS, ButtonPress, ChatCommand, InboundMessage, JsonObject
from geode.ports import Accepted, Redactor

log = logging.getLogger(__name__)

POSTS_MAX = 5
CUT = "The rest does not fit here."

NOT_YOURS = "That is not for you to use here. Ask an operator of this conversation to add you."
FORM_LATE = (
    "Slack did not open the form in time, so nothing was decided. "
    "Press the button again and write your words in the form."
)
NOT_STORED = "I could not store this just now. Please try again in a minute."
UNKNOWN_VERB = "I do not know that command. `/geode help` lists what I understand."


@dataclass(frozen=True, slots=True)
class Ear:
    """Where somebody listens: a place, and the thread in it when one is open there."""

    channel: str
    user: str
    thread_ts: str = ""
    response_url: str = ""


class Whispers:
    """Says something to one person, beside the acknowledgement of what they did."""

    def __init__(self, web: SlackWeb, redactor: Redactor, errands: Errands) -> None:
        self._web = web
        self._redactor = redactor
        self._errands = errands

    def answer(self, event: ButtonPress | ChatCommand, accepted: Accepted, url: str = "") -> None:
        """Say what became of it, when there is something to say."""
        words = words_of(event, accepted)
        if words:
            self._errands.begin("say", self._say(ear_of(event, url), words))

    def open_form(self, ask: AskWords) -> None:
        """Open the form at once; its trigger lives for three seconds."""
        self._errands.begin("open_form", self._open(ask))

    async def _open(self, ask: AskWords) -> None:
        try:
            await self._web.open_view(ask.trigger_id, write_form(ask))
        except ChannelError as error:
            log.warning("slack_form_not_opened reason=%s", error)
            await self._say(ear_of(ask.press, ask.response_url), FORM_LATE)

    async def _say(self, ear: Ear, markdown: str) -> None:
        posts = render_posts(self._redactor.redact(markdown))
        if len(posts) > POSTS_MAX:
            posts = [*posts[: POSTS_MAX - 1], *render_posts(CUT)]
        for post in posts:
            await self._say_post(ear, {"text": post.text, "blocks": post.blocks})

    async def _say_post(self, ear: Ear, content: JsonObject) -> None:
        fields: JsonObject = {**content, "channel": ear.channel, "user": ear.user}
        if ear.thread_ts:
            fields["thread_ts"] = ear.thread_ts
        try:
            try:
                await self._web.write("chat.postEphemeral", fields)
            except PlatformRefusedError:
                if not ear.response_url:
                    raise
                await self._web.respond(ear.response_url, content)
        except ChannelError as error:
            log.warning("slack_answer_not_shown channel=%s reason=%s", ear.channel, error)

    def render(self, markdown: str) -> JsonObject:
        """One post's text and blocks; what does not fit is left out."""
        post = render_posts(self._redactor.redact(markdown))[0]
        return {"text": post.text, "blocks": post.blocks}


def ear_of(event: ButtonPress | ChatCommand, response_url: str = "") -> Ear:
    """Where the person sees an answer; a thread that was never replied in shows nothing."""
    presser = event.presser if isinstance(event, ButtonPress) else event.sender
    root = event.thread.thread or (event.reply_to if isinstance(event, ChatCommand) else "")
    is_open = root != event.message_id
    return Ear(event.thread.channel, presser.id, root if is_open else "", response_url)


def words_of(event: ButtonPress | ChatCommand | InboundMessage, accepted: Accepted) -> str:
    """What is said about an event to the one who caused it; a stranger hears one refusal."""
    if accepted.answer:
        return accepted.answer
    is_asked = isinstance(event, ButtonPress) or (
        isinstance(event, ChatCommand) and event.is_private
    )
    if is_asked and accepted.outcome == "ignored":
        return NOT_YOURS
    is_unknown = isinstance(event, ChatCommand) and event.verb not in COMMANDS
    return UNKNOWN_VERB if is_unknown and accepted.outcome != "duplicate" else ""
