"""What `geode doctor` asks Telegram: the token, a webhook in the way, and privacy mode."""

from __future__ import annotations

from collections.abc import Sequence

from channels.fields import text_of
from channels.telegram.failures import TokenRefusedError
from channels.telegram.privacy import advise_on_privacy
from channels.telegram.web import TelegramWeb
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
    advice = await advise_on_privacy(web, bot, places)
    found.append(Finding("warning" if advice else "ok", "privacy", advice or "All is heard."))
    return found
