"""A secret is named, never written; a missing one degrades only what needs it (CF-02)."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pytest

from geode.errors import ConfigError
from geode.settings import SecretRef, Section, Settings
from geode.settings_keys import choose_model, resolve_provider_key, resolve_section
from geode.settings_load import InstalledChannelModels, load_settings
from geode.settings_secrets import Secret, SecretMissingError, resolve_secret

CANARY = "xoxb-canary-0123456789"


class ChatSettings(Section):
    """A channel with two secrets and one plain knob."""

    bot_token: SecretRef
    app_token: SecretRef = SecretRef("env", "APP_TOKEN")
    api_url: str = "https://chat.example/"


def _load(tmp_path: Path, text: str, **environ: str) -> Settings:
    path = tmp_path / "geode.toml"
    path.write_text(text, encoding="utf-8")
    models = {"chat": ChatSettings, "other": ChatSettings}
    env = {"HOME": str(tmp_path), **environ}
    return load_settings(path, channel_models=models, environ=env).settings


@pytest.mark.parametrize(
    "written", [CANARY, "", "env:", "env:A B", "file:relative", "ENV:X", f"env:{CANARY}", "$X"]
)
def test_written_out_secret_is_refused_without_repeating_it(tmp_path: Path, written: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, f'[channels.chat]\nbot_token = "{written}"')

    assert "channels.chat.bot_token: a secret is never written here" in str(caught.value)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_written_out_secret_in_a_variable_is_refused_without_repeating_it(tmp_path: Path) -> None:
    start = '[channels.chat]\nbot_token = "env:X"'

    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, start, GEODE_CHANNELS__CHAT__BOT_TOKEN=CANARY)

    assert str(caught.value).startswith("GEODE_CHANNELS__CHAT__BOT_TOKEN: a secret is never")
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "is not set"),
        ("", "is empty"),
        ("  \n", "is empty"),
        ("changeme", "still holds a placeholder"),
        ("CHANGEME", "still holds a placeholder"),
        ("${MISSING}", "holds an unexpanded placeholder"),
        ("$MISSING", "holds an unexpanded placeholder"),
    ],
)
def test_missing_secret_names_its_variable(value: str | None, reason: str) -> None:
    environ = {} if value is None else {"BOT_TOKEN": value}

    with pytest.raises(SecretMissingError, match=reason) as caught:
        resolve_secret(SecretRef("env", "BOT_TOKEN"), environ)

    assert str(caught.value).startswith("The environment variable BOT_TOKEN ")
    assert "${" not in str(caught.value)


def test_missing_secret_of_one_channel_leaves_the_other_alone(tmp_path: Path) -> None:
    settings = _load(
        tmp_path,
        '[channels.chat]\nbot_token = "env:GOOD"\n[channels.other]\nbot_token = "env:BAD"\n',
    )
    environ = {"GOOD": CANARY, "APP_TOKEN": "b", "BAD": "${MISSING}"}

    secrets = resolve_section(settings.channels["chat"], environ)
    with pytest.raises(SecretMissingError, match="BAD"):
        resolve_section(settings.channels["other"], environ)

    assert {name: secret.reveal() for name, secret in secrets.items()} == {
        "bot_token": CANARY,
        "app_token": "b",
    }


def test_secret_file_is_read_without_its_line_end(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{CANARY}\n", encoding="utf-8")
    absolute = SecretRef("file", str(tmp_path / "token"))
    in_home = SecretRef("file", "~/token")

    assert resolve_secret(absolute, {}).reveal() == CANARY
    assert resolve_secret(in_home, {"HOME": str(tmp_path)}).reveal() == CANARY


@pytest.mark.parametrize("name", ["absent", "folder", "binary", "loop"])
def test_secret_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    ref = SecretRef("file", str(tmp_path / name))

    with pytest.raises(SecretMissingError, match=f"The secret file {tmp_path / name} "):
        resolve_secret(ref, {})


def test_secret_shows_itself_to_reveal_only() -> None:
    secret = Secret(CANARY)

    shown = f"{secret} {secret!r} {[secret]} {vars(Settings())}"

    assert CANARY not in shown
    assert secret.reveal() == CANARY
    assert secret == Secret(CANARY)
    assert secret != Secret("other")
    assert secret != CANARY
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("", "rehearsal", "rehearsal"),
        ('[agent]\nmodel = "rehearsal"', "rehearsal", "rehearsal"),
        ('[agent]\nmodel = "anthropic/claude-x"', "anthropic", "claude-x"),
        ('[agent]\nmodel = "anthropic/vendor/claude-x"', "anthropic", "vendor/claude-x"),
        ("[providers.anthropic]\n", "anthropic", ""),
    ],
)
def test_model_is_what_is_written_and_rehearsal_only_when_nothing_is(
    tmp_path: Path, text: str, provider: str, model: str
) -> None:
    choice = choose_model(_load(tmp_path, text, ANTHROPIC_API_KEY=CANARY))

    assert (choice.provider, choice.model) == (provider, model)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '[agent]\nmodel = "anthropic/claude-x"',
            "The model anthropic/claude-x has no key; write [providers.anthropic] with "
            'api_key = "env:ANTHROPIC_API_KEY".',
        ),
        (
            '[providers.anthropic]\napi_key = "env:KEY"',
            "The environment variable KEY is not set; set it to the secret.",
        ),
    ],
)
def test_model_without_its_key_is_an_error(tmp_path: Path, text: str, sentence: str) -> None:
    settings = _load(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        resolve_provider_key(settings, choose_model(settings), {"ANTHROPIC_API_KEY": CANARY})

    assert str(caught.value) == sentence


def test_key_of_the_chosen_model_is_found(tmp_path: Path) -> None:
    settings = _load(tmp_path, '[providers.anthropic]\napi_key = "env:KEY"')

    assert resolve_provider_key(settings, choose_model(settings), {"KEY": "k1"}) == Secret("k1")
    assert resolve_provider_key(Settings(), choose_model(Settings()), {}) is None


def test_installed_channels_are_found_by_their_entry_points() -> None:
    installed = InstalledChannelModels()

    assert "slack" in installed
    assert "nonesuch" not in installed
