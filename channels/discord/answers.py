"""Answers an interaction: acknowledged once, then told, in private while that can be."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict

from channels.discord.failures import (
    ALREADY_ANSWERED,
    EXPIRED_CODES,
    UNKNOWN_MESSAGE,
    PlatformRefusedError,
)
from channels.discord.interactions import EPHEMERAL, Interaction, acknowledgement_of
from channels.discord.render import SUPPRESS_EMBEDS, message_fields, render_parts
from channels.discord.rest import DiscordRest
from channels.discord.snowflakes import snowflake_to_us
from geode.errors import ChannelError, SendUnknownError
from geode.messages import JsonObject, OutboundBody, Part
from geode.ports import Clock, Redactor

log = logging.getLogger(__name__)

ACKNOWLEDGE_S = 2.5
"""Discord waits for three seconds."""
TOKEN_S = 15 * 60 - 20
"""For so long an interaction's token answers it, with room for the call itself."""
PARTS_MAX = 5
CUT = "The rest does not fit here."
SEEN_MAX = 2_000
GONE_CODES = EXPIRED_CODES | {UNKNOWN_MESSAGE}


class Answers:
    """Every answer to an interaction goes through here, so that none is acknowledged twice."""

    def __init__(self, rest: DiscordRest, clock: Clock, redactor: Redactor) -> None:
        self._rest = rest
        self._clock = clock
        self._redactor = redactor
        self._seen: OrderedDict[str, None] = OrderedDict()

    def claim(self, interaction: str) -> bool:
        """Whether this is its first arrival; a resume may bring it once more."""
        if interaction in self._seen:
            return False
        self._seen[interaction] = None
        if len(self._seen) > SEEN_MAX:
            self._seen.popitem(last=False)
        return True

    async def acknowledge(self, done: Interaction) -> bool:
        """Tell Discord that we heard it; False when its token is dead.

        An unknown outcome counts as heard: what follows finds out.
        """
        path = "POST /interactions/{webhook_id}/{webhook_token}/callback"
        body = acknowledgement_of(done)
        try:
            async with asyncio.timeout(ACKNOWLEDGE_S):
                await self._rest.call(path, body, webhook_id=done.id, webhook_token=done.token)
        except PlatformRefusedError as error:
            if error.code == ALREADY_ANSWERED:
                return True
            log.warning("discord_interaction_not_acknowledged reason=%s", error)
            return False
        except (ChannelError, TimeoutError) as error:
            log.warning("discord_interaction_maybe_acknowledged reason=%s", error)
        return True

    async def tell(
        self, done: Interaction, markdown: str, *, is_alive: bool, is_for_all: bool
    ) -> None:
        """Say it to the person alone, or, when the token is dead, in the place if it may be read.

        Raises `ChannelError` when it could be said nowhere.
        """
        parts = self._render(markdown)
        for number, part in enumerate(parts):
            if is_alive and self._is_young(done):
                try:
                    await self._whisper(done, part, number)
                    continue
                except SendUnknownError as error:
                    log.warning("discord_answer_of_unknown_outcome reason=%s", error)
                    continue
                except PlatformRefusedError as error:
                    if error.code not in GONE_CODES:
                        raise
            is_alive = False
            if is_for_all:
                await self._say(done, part, number)

    def _render(self, markdown: str) -> tuple[Part, ...]:
        parts = render_parts(OutboundBody(self._redactor.redact(markdown)))
        if len(parts) <= PARTS_MAX:
            return parts
        return (*parts[: PARTS_MAX - 1], *render_parts(OutboundBody(CUT)))

    def _is_young(self, done: Interaction) -> bool:
        age_us = self._clock.now_us() - snowflake_to_us(done.id)
        return age_us < TOKEN_S * 1_000_000

    async def _whisper(self, done: Interaction, part: Part, number: int) -> None:
        fields = message_fields(part)
        if done.kind == "command" and number == 0:
            path = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original"
        else:
            path = "POST /webhooks/{webhook_id}/{webhook_token}"
            fields |= {"flags": SUPPRESS_EMBEDS | EPHEMERAL}
        token = done.token
        await self._rest.call(path, fields, webhook_id=done.application, webhook_token=token)

    async def _say(self, done: Interaction, part: Part, number: int) -> None:
        fields = message_fields(part) | _once(done.id, number)
        await self._rest.create_message(done.channel, fields)

    async def reply(self, channel: str, message: str, markdown: str) -> None:
        """Answer a command that was written as a message, below it; raises `ChannelError`."""
        parts = self._render(markdown)
        below: JsonObject = {"message_id": message, "fail_if_not_exists": False}
        for number, part in enumerate(parts):
            fields = message_fields(part) | _once(message, number)
            fields["message_reference"] = below
            await self._rest.create_message(channel, fields)


def _once(cause: str, number: int) -> JsonObject:
    """A nonce by which a repeated call makes no second message."""
    key = hashlib.sha256(f"{cause}/{number}".encode()).hexdigest()[:25]
    return {"nonce": key, "enforce_nonce": True}
