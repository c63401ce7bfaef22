"""What may be written under [channels.telegram], and what is refused by name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from channels.telegram.settings import TelegramSettings


def test_only_the_token_reference_is_needed() -> None:
    settings = TelegramSettings()

    assert str(settings.token) == "env:TELEGRAM_BOT_TOKEN"
    assert (settings.api_url, settings.mode) == ("https://api.telegram.org", "polling")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mode", "webhook"),
        ("webhook_url", "https://x.test/hook"),
        ("webhook_secret", "env:SECRET"),
        ("webhook_listen", "127.0.0.1:1"),
    ],
)
def test_webhook_is_refused_as_not_built_yet(key: str, value: str) -> None:
    with pytest.raises(ValidationError, match="is not built yet"):
        TelegramSettings.model_validate({key: value})


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(ValidationError):
        TelegramSettings.model_validate({"mode": "carrier pigeon"})
