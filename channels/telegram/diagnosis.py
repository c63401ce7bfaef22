"""What `geode doctor` asks Telegram: the token, a webhook in the way, and privacy mode."""

from __future__ import annotations

from collections.abc import Sequence

from channels.fields import text_of
from channels.telegram.entities import BotIdentity
from channels.telegram.failures import TokenRefusedError
from channels.telegram.privacy import advise_on_privacy
from channels.telegram.web import TelegramWeb
from geode.errors import SendRefusedError
from geode.messages import Thread
from geode.ports import Finding


async def diagnose(
    web: TelegramWeb, places: Sequence[Thread], token_name: str, *, is_polling: bool
) -> list[Finding]:
    """Ask without polling: a poll would take updates away from whoever receives them."""
    try:
        bot = await web.identify()
    except TokenRefusedError as error:
        return [Finding("fault", "token", f"{str(error)[:-1]}: check {token_name}.")]
    found = [Finding("ok", "token", "Telegram accepts it.")]
    hook = await web.read_webhook()
    if is_polling and text_of(hook, "url"):
        sentence = (
            "A webhook is set for this bot, so another program may receive with it: stop that "
            'program, or write mode = "webhook"; geode serve takes the webhook away.'
        )
        found.append(Finding("warning", "webhook", sentence))
    if failed := text_of(hook, "last_error_message"):
        found.append(Finding("warning", "webhook", f"Telegram could not post updates: {failed}."))
    found += [await _look_at_place(web, bot, each) for each in places]
    advice = await advise_on_privacy(web, bot, places)
    found.append(Finding("warning" if advice else "ok", "privacy", advice or "All is heard."))
    return found


async def _look_at_place(web: TelegramWeb, bot: BotIdentity, place: Thread) -> Finding:
    where = f"{place.workspace}/{place.channel}"
    if place.workspace != bot.id:
        sentence = (
            f"{where} begins with another bot's id than the token's, {bot.id}: correct where."
        )
        return Finding("fault", "place", sentence)
    if place.channel == "dm":
        return Finding("ok", "place", f"{where} is served")
    try:
        await web.is_admin(place.channel, bot.id)
    except SendRefusedError as error:
        sentence = (
            f"The bot is not in the chat {place.channel}: add it there, or correct where ({error})"
        )
        return Finding("fault", "place", sentence)
    return Finding("ok", "place", f"{where} has the bot in it")
