"""What the operator sets for Telegram: a secret reference, where the Bot API is, and the mode."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from geode.settings import NOT_BUILT, HttpUrl, SecretRef, Section

TELEGRAM_API_URL = "https://api.telegram.org"


def _refuse_webhook(value: str) -> str:
    if value not in ("", "polling"):
        raise ValueError(f'receiving by webhook {NOT_BUILT}, or write mode = "polling"')
    return value


class TelegramSettings(Section):
    """`[channels.telegram]`: the bot's token, the Bot API server, how updates are received."""

    token: SecretRef = SecretRef("env", "TELEGRAM_BOT_TOKEN")
    """As BotFather gave it: the bot's id, a colon, a secret."""
    api_url: HttpUrl = TELEGRAM_API_URL
    """A Bot API server of one's own is written without `/bot` and token."""
    mode: Annotated[Literal["polling", "webhook"], AfterValidator(_refuse_webhook)] = "polling"
    webhook_url: Annotated[str, AfterValidator(_refuse_webhook)] = ""
    webhook_secret: Annotated[str, AfterValidator(_refuse_webhook)] = ""
    webhook_listen: Annotated[str, AfterValidator(_refuse_webhook)] = ""
