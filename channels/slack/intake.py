"""The middleware in front of all that Bolt does: an envelope is acknowledged once it is stored."""

# Bolt's request bodies are dicts without types; they are read through channels.fields.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from channels.fields import to_object
from channels.slack.parse import BotIdentity, Dropped, parse_payload
from geode.errors import StoreError
from geode.ports import Failpoints, Intake

log = logging.getLogger(__name__)

SLASH_ANSWER = (
    "I cannot read slash commands here yet. Mention me instead; that also works in threads."
)


class IntakeMiddleware(AsyncMiddleware):
    """Bolt's `before_authorize`: nothing behind it runs, and nothing before it acknowledges.

    Bolt itself would acknowledge an event before a listener runs, and when its own `auth.test`
    fails.
    """

    def __init__(self, intake: Intake, bot: BotIdentity, failpoints: Failpoints) -> None:
        self._intake = intake
        self._bot = bot
        self._failpoints = failpoints
        self.dropped: Counter[str] = Counter()
        """What arrived and was no message for us, by name."""

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],
    ) -> BoltResponse:
        """Accept one envelope; a status other than 200 leaves it unacknowledged."""
        parsed = parse_payload(to_object(req.body), self._bot)
        if isinstance(parsed, Dropped):
            self.dropped[parsed.reason] += 1
            log.debug("slack_event_dropped reason=%s", parsed.reason)
            is_slash = parsed.reason == "slash_command"
            answer = {"response_type": "ephemeral", "text": SLASH_ANSWER}
            return BoltResponse(status=200, body=answer if is_slash else "")
        try:
            accepted = await self._intake.accept(parsed)
        except StoreError as error:
            log.warning("slack_event_not_stored reason=%s", error)
            return BoltResponse(status=503)
        self._failpoints.hit(f"slack.ack:{accepted.outcome}")
        return BoltResponse(status=200)
