"""Privacy mode: what a bot does not hear in groups, and what the operator can do about it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from channels.telegram.entities import BotIdentity
from channels.telegram.web import TelegramWeb
from geode.errors import ChannelError
from geode.messages import Thread

log = logging.getLogger(__name__)

GROUPS_MAX: Final = 20
ADVICE: Final = (
    "Privacy mode is on, so in {where} only mentions, replies and commands are heard. To let the "
    "conversation be followed, make the bot an administrator of the group, or switch privacy mode "
    "off (BotFather, /setprivacy) and then remove the bot from the group and add it again."
)


async def advise_on_privacy(web: TelegramWeb, bot: BotIdentity, places: Sequence[Thread]) -> str:
    """What to do about bound groups that the bot does not hear; empty when it hears all of them.

    An administrator hears everything, whatever the mode.
    """
    if bot.reads_all:
        return ""
    groups = {place.channel for place in places if place.channel.startswith("-")}
    deaf = [chat for chat in sorted(groups)[:GROUPS_MAX] if not await _is_admin(web, bot, chat)]
    return ADVICE.format(where=", ".join(deaf)) if deaf else ""


async def _is_admin(web: TelegramWeb, bot: BotIdentity, chat: str) -> bool:
    try:
        return await web.is_admin(chat, bot.id)
    except ChannelError as error:
        log.info("telegram_membership_unknown chat=%s reason=%s", chat, error)
        return False
