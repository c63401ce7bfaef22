"""The page is there without a word of configuration, for the person at this machine alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from channels.web.settings import WebSettings
from geode.changes import merge_settings
from geode.errors import ConfigError
from geode.settings import SecretRef
from geode.settings_keys import resolve_section
from geode.settings_load import Loaded, load_settings
from geode.settings_secrets import SecretMissingError

SLACK = "[channels.slack]\n"
WEB = "[channels.web]\n"
BOUND = (
    '[[bindings]]\nchannel = "web"\nwhere = "local/team"\npeople = ["ana"]\noperators = ["ana"]\n'
)


def load(folder: Path, text: str = "", **environ: str) -> Loaded:
    if text:
        (folder / "geode.toml").write_text(text)
    return load_settings(environ={"HOME": str(folder), "GEODE_HOME": str(folder), **environ})


def test_nothing_written_serves_the_page_to_the_person_at_this_machine(tmp_path: Path) -> None:
    loaded = load(tmp_path)

    (binding,) = loaded.settings.bindings
    assert list(loaded.settings.channels) == ["web"]
    assert (binding.key, binding.people, binding.operators) == (
        "web:local/room",
        ("local",),
        ("local",),
    )
    assert binding.profile == "default"
    assert not (tmp_path / "geode.toml").exists()


@pytest.mark.parametrize(
    ("text", "channels"),
    [(SLACK, ["slack"]), (WEB, ["web"]), (SLACK + WEB, ["slack", "web"]), ("[limits]\n", ["web"])],
)
def test_page_is_served_where_it_is_written_or_nothing_else_is(
    tmp_path: Path, text: str, channels: list[str]
) -> None:
    loaded = load(tmp_path, text)

    assert list(loaded.settings.channels) == channels
    assert [b.channel for b in loaded.settings.bindings] == ["web"] * ("web" in channels)


def test_binding_that_is_written_stands_alone(tmp_path: Path) -> None:
    loaded = load(tmp_path, WEB + BOUND)

    assert [binding.key for binding in loaded.settings.bindings] == ["web:local/team"]


def test_page_on_the_network_binds_nobody_by_itself(tmp_path: Path) -> None:
    text = WEB + 'listen = "0.0.0.0:80"\ntoken = "env:T"\norigin = "https://chat.example.org"\n'

    assert load(tmp_path, text).settings.bindings == ()


def test_environment_can_move_the_page_without_a_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, GEODE_CHANNELS__WEB__LISTEN="127.0.0.1:9")

    section = loaded.settings.channels["web"]
    assert isinstance(section, WebSettings)
    assert section.port == 9
    assert len(loaded.settings.bindings) == 1


def test_every_persons_token_is_a_secret_of_the_section() -> None:
    section = WebSettings(token=SecretRef("env", "T"), tokens={"ana": SecretRef("env", "A")})

    found = resolve_section(section, {"T": "for the local one", "A": "for ana"})

    assert {name: secret.reveal() for name, secret in found.items()} == {
        "token": "for the local one",
        "tokens.ana": "for ana",
    }
    with pytest.raises(SecretMissingError, match="A"):
        resolve_section(section, {"T": "for the local one"})


def test_token_that_is_written_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, WEB + '[channels.web.tokens]\nana = "canary-secret-canary"\n')

    assert "env:NAME" in str(refused.value)
    assert "canary" not in str(refused.value)


def test_changed_tokens_are_taken_over_by_a_reload(tmp_path: Path) -> None:
    old = load(tmp_path, WEB + BOUND + '[channels.web.tokens]\nana = "env:A"\n').settings
    new = load(tmp_path, WEB + BOUND + '[channels.web.tokens]\nana = "env:B"\n').settings

    merged, waiting = merge_settings(old, new)

    assert merged.channels != old.channels
    assert waiting == []
