"""The middleware in front of all that Bolt does: an envelope is acknowledged once it is stored."""

# Bolt's request bodies are dicts without types; they are read through channels.fields.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace

from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from channels.fields import object_of, text_of, to_object
from channels.slack.names import Names
from channels.slack.origin import BotIdentity, Dropped
from channels.slack.parse import STOPPED, Parsed, parse_payload
from channels.slack.presses import FORM_BLOCK, AskWords
from channels.slack.status import ThreadStatus
from channels.slack.whispers import NOT_STORED, UNKNOWN_VERB, Whispers, words_of
from geode.errors import StoreError
from geode.messages import ButtonPress, ChatCommand, Inbound, InboundMessage, JsonObject, Place
from geode.ports import Accepted, Failpoints, Intake

log = logging.getLogger(__name__)

NO_WORDS = "Please write something, or close the form."
FORM_NOT_STORED = "This could not be stored just now. Please send it again in a minute."
OK, NOT_NOW = 200, 503


class IntakeMiddleware(AsyncMiddleware):
    """Bolt's `before_authorize`: nothing behind it runs, and nothing before it acknowledges.

    Bolt itself would acknowledge an event before a listener runs, and when its own `auth.test`
    fails.
    """

    def __init__(
        self,
        intake: Intake,
        bot: BotIdentity,
        failpoints: Failpoints,
        *,
        whispers: Whispers,
        names: Names,
        status: ThreadStatus,
    ) -> None:
        self._intake = intake
        self._bot = bot
        self._failpoints = failpoints
        self._whispers = whispers
        self._names = names
        self._status = status
        self.dropped: Counter[str] = Counter()
        """What arrived and was nothing for us, by name."""

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],
    ) -> BoltResponse:
        """Accept one envelope; a status other than 200 leaves it unacknowledged."""
        payload = to_object(req.body)
        parsed = parse_payload(payload, self._bot)
        if isinstance(parsed, Dropped):
            return self._drop(parsed, is_slash=bool(text_of(payload, "command")))
        if isinstance(parsed, AskWords):
            return self._open_form(parsed)
        is_form = text_of(payload, "type") == "view_submission"
        if is_form and isinstance(parsed, ButtonPress) and not parsed.text:
            return _refuse_form(NO_WORDS)
        return await self._take(self._fill_name(parsed), payload, is_form=is_form)

    def _open_form(self, asked: AskWords) -> BoltResponse:
        if self._intake.admits(asked.press):
            self._whispers.open_form(asked)
        else:
            self._whispers.answer(asked.press, Accepted("ignored"), asked.response_url)
        return BoltResponse(status=OK)

    async def _take(self, event: Inbound, payload: JsonObject, *, is_form: bool) -> BoltResponse:
        try:
            accepted = await self._intake.accept(event)
        except StoreError as error:
            log.warning("slack_event_not_stored reason=%s", error)
            return self._say_not_stored(event, is_form=is_form)
        self._failpoints.hit(f"slack.ack:{accepted.outcome}")
        is_stop = text_of(object_of(payload, "event"), "type") == STOPPED
        if is_stop and accepted.outcome != "ignored":
            # Slack leaves the thread as it was: the session stays processing until we say so.
            self._status.clear_later(Place(event.thread, _reply_to(event)))
        return self._answer(event, accepted, payload)

    def _answer(self, event: Inbound, accepted: Accepted, payload: JsonObject) -> BoltResponse:
        if isinstance(event, InboundMessage):
            if accepted.outcome != "ignored" and not event.sender.name:
                self._names.look_up_later(event.sender.id)
            return BoltResponse(status=OK)
        if isinstance(event, ChatCommand) and event.is_private:
            return self._say_privately(words_of(event, accepted))
        self._whispers.answer(event, accepted, text_of(payload, "response_url"))
        return BoltResponse(status=OK)

    def _fill_name(self, parsed: Parsed) -> Inbound:
        if isinstance(parsed, ButtonPress):
            return replace(parsed, presser=self._names.fill(parsed.presser))
        assert isinstance(parsed, InboundMessage | ChatCommand)
        return replace(parsed, sender=self._names.fill(parsed.sender))

    def _drop(self, dropped: Dropped, *, is_slash: bool) -> BoltResponse:
        self.dropped[dropped.reason] += 1
        log.debug("slack_event_dropped reason=%s", dropped.reason)
        return self._say_privately(UNKNOWN_VERB) if is_slash else BoltResponse(status=OK)

    def _say_not_stored(self, event: Inbound, *, is_form: bool) -> BoltResponse:
        """Slack repeats an event that is not acknowledged, and shows a press as failed."""
        if isinstance(event, ChatCommand) and event.is_private:
            return self._say_privately(NOT_STORED)
        return _refuse_form(FORM_NOT_STORED) if is_form else BoltResponse(status=NOT_NOW)

    def _say_privately(self, words: str) -> BoltResponse:
        if not words:
            return BoltResponse(status=OK)
        return BoltResponse(
            status=OK, body={"response_type": "ephemeral", **self._whispers.render(words)}
        )


def _refuse_form(words: str) -> BoltResponse:
    return BoltResponse(
        status=OK, body={"response_action": "errors", "errors": {FORM_BLOCK: words}}
    )


def _reply_to(event: Inbound) -> str:
    return "" if isinstance(event, ButtonPress) else event.reply_to
