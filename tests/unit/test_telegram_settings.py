"""What may be written under [channels.telegram], and what is refused by name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from channels.telegram.settings import TelegramSettings


def test_only_the_token_reference_is_needed() -> None:
    settings = TelegramSettings()

    assert str(settings.token) == "env:TELEGRAM_BOT_TOKEN"
    assert (settings.api_url, settings.mode) == ("https://api.telegram.org", "polling")


WEBHOOK = {
    "mode": "webhook",
    "webhook_url": "https://bot.example.org/telegram",
    "webhook_secret": "env:TELEGRAM_WEBHOOK_SECRET",
    "webhook_listen": "127.0.0.1:8443",
}


def test_webhook_is_written_whole() -> None:
    settings = TelegramSettings.model_validate(WEBHOOK)

    assert str(settings.webhook_secret) == "env:TELEGRAM_WEBHOOK_SECRET"


@pytest.mark.parametrize("key", ["webhook_url", "webhook_secret", "webhook_listen"])
def test_webhook_without_one_of_its_keys_is_refused_by_name(key: str) -> None:
    with pytest.raises(ValidationError, match=f"needs {key}"):
        TelegramSettings.model_validate({k: v for k, v in WEBHOOK.items() if k != key})


@pytest.mark.parametrize("key", ["webhook_url", "webhook_secret", "webhook_listen"])
def test_key_of_the_webhook_is_refused_while_polling(key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        TelegramSettings.model_validate({key: WEBHOOK[key]})


@pytest.mark.parametrize("listen", ["8443", "host:", "127.0.0.1:99999", "http://x:1", "a b:1"])
def test_place_to_listen_has_a_host_and_a_port(listen: str) -> None:
    with pytest.raises(ValidationError, match="no place to listen"):
        TelegramSettings.model_validate(WEBHOOK | {"webhook_listen": listen})


def test_secret_that_is_written_out_is_refused() -> None:
    with pytest.raises(ValidationError, match="never written here"):
        TelegramSettings.model_validate(WEBHOOK | {"webhook_secret": "s3cret"})


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(ValidationError):
        TelegramSettings.model_validate({"mode": "carrier pigeon"})
