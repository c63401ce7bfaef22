"""An id keeps every digit it was written with, and a name is never an id (CF-03)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode.errors import ConfigError
from geode.settings import Binding, Section
from geode.settings_ids import BoundPlace, split_where
from geode.settings_load import load_settings

MODELS = dict.fromkeys(("slack", "discord", "telegram", "web", "fifth"), Section)
WHERE = {"slack": "T1/C1", "discord": "1/2", "telegram": "1/-100", "web": "room", "fifth": "w/c"}


def _bind(tmp_path: Path, channel: str, **written: str) -> Binding:
    rows = {"where": json.dumps(WHERE[channel]), "operators": '["{id}"]', **written}
    rows["operators"] = rows["operators"].replace("{id}", "U1" if channel == "slack" else "1")
    text = "\n".join(f"{key} = {value}" for key, value in rows.items())
    path = tmp_path / "geode.toml"
    path.write_text(f"[channels.{channel}]\n[[bindings]]\nchannel = '{channel}'\n{text}\n")
    loaded = load_settings(path, channel_models=MODELS, environ={"HOME": str(tmp_path)})
    return loaded.settings.bindings[0]


@pytest.mark.parametrize(
    ("channel", "written", "people"),
    [
        ("discord", "[1234567890123456789]", ("1234567890123456789",)),
        ("discord", '["1234567890123456789"]', ("1234567890123456789",)),
        ("telegram", "[-1001234567890]", ("-1001234567890",)),
        ("telegram", '["-1001234567890"]', ("-1001234567890",)),
        ("discord", '["0123"]', ("0123",)),
        ("web", '["1e5", "0123"]', ("1e5", "0123")),
        ("fifth", '["ou_7d8a:6e"]', ("ou_7d8a:6e",)),
        ("slack", '["U1", "W0123ABCD"]', ("U1", "W0123ABCD")),
        ("slack", "[]", ()),
        ("slack", '"members"', "members"),
    ],
)
def test_people_keep_the_digits_they_were_written_with(
    tmp_path: Path, channel: str, written: str, people: object
) -> None:
    assert _bind(tmp_path, channel, people=written).people == people


@pytest.mark.parametrize("key", ["people", "operators"])
@pytest.mark.parametrize(
    ("channel", "written"),
    [
        ("slack", '["@anna"]'),
        ("slack", '["anna"]'),
        ("slack", '["u0123"]'),
        ("slack", '["U0123 "]'),
        ("slack", "[123]"),
        ("discord", '["anna#1234"]'),
        ("discord", '["1e5"]'),
        ("telegram", '["@anna"]'),
        ("web", '["anna smith"]'),
        ("fifth", '["@anna"]'),
        ("fifth", '["a\\u202Eb"]'),
        ("fifth", '[""]'),
    ],
)
def test_name_is_refused_where_an_id_belongs(
    tmp_path: Path, channel: str, written: str, key: str
) -> None:
    with pytest.raises(ConfigError, match=rf"bindings\[1\]\.{key}: .* is not a {channel} id"):
        _bind(tmp_path, channel, **{key: written})


@pytest.mark.parametrize("written", ["[1e5]", "[1234567890123456789.0]", "[true]", "[2024-01-01]"])
def test_id_that_may_have_lost_digits_is_refused(tmp_path: Path, written: str) -> None:
    with pytest.raises(ConfigError, match="is not an id; write it in quotes, digit by digit"):
        _bind(tmp_path, "discord", people=written)


@pytest.mark.parametrize("written", ['"U1"', '"everyone"', "3"])
def test_people_is_a_list_or_members(tmp_path: Path, written: str) -> None:
    with pytest.raises(ConfigError, match=r"people: .* is not a list"):
        _bind(tmp_path, "slack", people=written)


@pytest.mark.parametrize("operators", ["[]", None])
def test_binding_without_an_operator_is_refused(tmp_path: Path, operators: str | None) -> None:
    path = tmp_path / "geode.toml"
    row = f"operators = {operators}" if operators else ""
    text = f'[channels.slack]\n[[bindings]]\nchannel = "slack"\nwhere = "T1/C1"\n{row}\n'
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"operators: a binding names at least one operator"):
        load_settings(path, channel_models=MODELS, environ={"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("channel", "where", "place"),
    [
        ("slack", "T0123/C0456", BoundPlace("T0123", "C0456")),
        ("slack", "T1/C1/1712345678.000100", BoundPlace("T1", "C1", "1712345678.000100")),
        ("slack", "T1/dm", BoundPlace("T1", "dm")),
        ("discord", "80351110224678912/41771983423143937", None),
        ("telegram", "123456/-1001234567890/7", BoundPlace("123456", "-1001234567890", "7")),
        ("web", "room", BoundPlace("room", "")),
    ],
)
def test_where_names_a_place_by_its_ids(
    tmp_path: Path, channel: str, where: str, place: BoundPlace | None
) -> None:
    binding = _bind(tmp_path, channel, where=json.dumps(where), people="[]")

    assert binding.where == where
    assert binding.key == f"{channel}:{where}"
    assert place in {None, binding.place}


@pytest.mark.parametrize(
    ("channel", "where"),
    [
        ("slack", '"#general"'),
        ("slack", '"C0456"'),
        ("slack", '"T0123/general"'),
        ("slack", '"t0123/c0456"'),
        ("slack", '"T1/C1/thread"'),
        ("slack", "1234567890123456789"),
        ("discord", '"guild/general"'),
        ("discord", "1.5"),
        ("telegram", '"@group"'),
        ("fifth", '"a b"'),
    ],
)
def test_where_that_names_no_place_is_refused(tmp_path: Path, channel: str, where: str) -> None:
    with pytest.raises(ConfigError, match=r"bindings\[1\]\.where: "):
        _bind(tmp_path, channel, where=where)


def test_direct_messages_have_no_members(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="direct messages have no members"):
        _bind(tmp_path, "slack", where='"T1/dm"', people='"members"')


@given(st.integers(min_value=0, max_value=2**80))
def test_integer_and_text_are_the_same_id(number: int) -> None:
    written = [number] if number < 10**20 else [str(number)[:20]]

    binding = Binding.model_validate(
        {"channel": "discord", "where": "1/2", "people": written, "operators": ["1"]}
    )

    assert binding.people == (str(written[0]),)


def test_place_is_the_text_between_the_slashes() -> None:
    assert split_where("T1/dm").is_direct
    assert not split_where("T1/D1").is_direct
