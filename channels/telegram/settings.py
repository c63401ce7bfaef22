"""What the operator sets for Telegram: secret references, where the Bot API is, and the mode."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from geode.settings import HttpUrl, SecretRef, Section

TELEGRAM_API_URL = "https://api.telegram.org"

_LISTEN = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})")
PORT_MAX = 65_535
ONLY_WEBHOOK = 'belongs to mode = "webhook"; write that, or remove it'


def _check_listen(value: str) -> str:
    found = _LISTEN.fullmatch(value)
    if value and (found is None or int(found[1]) > PORT_MAX):
        raise ValueError('is no place to listen; write it as "127.0.0.1:8443"')
    return value


class TelegramSettings(Section):
    """`[channels.telegram]`: the bot's token, the Bot API server, how updates are received."""

    token: SecretRef = SecretRef("env", "TELEGRAM_BOT_TOKEN")
    """As BotFather gave it: the bot's id, a colon, a secret."""
    api_url: HttpUrl = TELEGRAM_API_URL
    """A Bot API server of one's own is written without `/bot` and token."""
    mode: Literal["polling", "webhook"] = "polling"
    webhook_url: HttpUrl = ""
    """Where Telegram posts updates to; a proxy in front of us may end there."""
    webhook_secret: SecretRef | None = None
    """Telegram sends it with every update; 1 to 256 letters, digits, `_` and `-`."""
    webhook_listen: Annotated[str, AfterValidator(_check_listen)] = ""
    """Host and port on which we take updates."""

    @model_validator(mode="after")
    def _webhook_is_whole(self) -> TelegramSettings:
        keys = ("webhook_url", "webhook_secret", "webhook_listen")
        for key in keys:
            is_written = bool(getattr(self, key))
            if self.mode == "webhook" and not is_written:
                raise ValueError(f'mode = "webhook" needs {key}')
            if self.mode == "polling" and is_written:
                raise ValueError(f"{key} {ONLY_WEBHOOK}")
        return self
