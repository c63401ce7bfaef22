"""The file is found in order, read as it is written, and never changed (CF-01, ST-02)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geode.errors import ConfigError
from geode.settings_load import Loaded, load_settings


def _load(folder: Path, config: Path | None = None, **environ: str) -> Loaded:
    env = {"HOME": str(folder / "home"), **environ}
    return load_settings(config, channel_models={}, environ=env)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    return path


def _fault(config: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        _load(config.parent, config)
    return str(caught.value)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a configuration of its own."""
    work = tmp_path / "here"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def test_absent_file_means_the_defaults_and_writes_nothing(tmp_path: Path) -> None:
    loaded = _load(tmp_path)

    assert loaded.path is None
    assert loaded.settings.agent.name == "Geode"
    assert set(loaded.sources.values()) == {"default"}
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["here"]


def test_file_is_looked_for_in_the_stated_order(tmp_path: Path, own_folder: Path) -> None:
    named = _write(tmp_path / "named.toml", '[agent]\nname = "option"\n')
    in_variable = _write(tmp_path / "variable.toml", '[agent]\nname = "variable"\n')
    here = _write(own_folder / "geode.toml", '[agent]\nname = "here"\n')
    at_home = _write(tmp_path / "home/.geode/geode.toml", '[agent]\nname = "home"\n')
    found: list[tuple[str, Path | None]] = []

    loaded = _load(tmp_path, named, GEODE_CONFIG=str(in_variable))
    found.append((loaded.settings.agent.name, loaded.path))
    loaded = _load(tmp_path, GEODE_CONFIG=str(in_variable))
    found.append((loaded.settings.agent.name, loaded.path))
    loaded = _load(tmp_path)
    found.append((loaded.settings.agent.name, loaded.path))
    here.unlink()
    loaded = _load(tmp_path)
    found.append((loaded.settings.agent.name, loaded.path))

    assert found == [
        ("option", named),
        ("variable", in_variable),
        ("here", here),
        ("home", at_home),
    ]


def test_state_folder_follows_geode_home_and_is_absolute(tmp_path: Path, own_folder: Path) -> None:
    assert _load(tmp_path).state_folder == tmp_path / "home/.geode"
    assert _load(tmp_path, GEODE_HOME="state").state_folder == own_folder / "state"
    assert _load(tmp_path, GEODE_HOME="~/s").state_folder == tmp_path / "home/s"
    assert _load(tmp_path, GEODE_HOME="/srv/g").database_path == Path("/srv/g/geode.db")


def test_file_in_geode_home_is_read(tmp_path: Path) -> None:
    path = _write(tmp_path / "state/geode.toml", '[agent]\nname = "kept there"\n')

    loaded = _load(tmp_path, GEODE_HOME=str(path.parent))

    assert loaded.settings.agent.name == "kept there"


@pytest.mark.parametrize("asked", ["--config", "GEODE_CONFIG"])
def test_file_asked_for_by_name_must_exist(tmp_path: Path, asked: str) -> None:
    absent = tmp_path / "absent.toml"

    config = absent if asked == "--config" else None
    environ = {} if config else {asked: str(absent)}

    with pytest.raises(ConfigError, match=asked) as caught:
        _load(tmp_path, config, **environ)

    assert str(absent) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="0-bytes"),
        pytest.param('\ufeff[agent]\nname = "Geode"\n', id="bom"),
        pytest.param('[agent]\r\nname = "Geode"\r\n', id="crlf"),
        pytest.param('[agent]\n\tname\t=\t"Geode"\n', id="tabs-between"),
        pytest.param('[agent]\n      name = "Geode" # odd indent\n', id="indent"),
    ],
)
def test_harmless_spelling_is_accepted_and_left_alone(tmp_path: Path, text: str) -> None:
    path = _write(tmp_path / "geode.toml", text)
    before = path.read_bytes()

    assert _load(tmp_path, path).settings.agent.name == "Geode"
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param('[agent]\nname = "Geode\n', "line 2, column 14", id="missing-quote"),
        pytest.param('[agent]\nname = "a"\nname = "b"\n', "line 3, column 11", id="duplicate-key"),
        pytest.param("[agent]\nsteps max = 3\n", "line 2, column 7", id="space-in-key"),
        pytest.param("[agent]\nid = 0123\n", "line 2, column 7", id="leading-zero"),
        pytest.param('[agent]\nname = "a\tb" x\n', "line 2, column 14", id="rest-after-value"),
        pytest.param('[agent]\r\nname = "a"\r\n[agent\r\n', "line 3, column 7", id="half-crlf"),
        pytest.param('[agent]\nname = "a"\n[limits]\nsteps_m', "line 4, column 8", id="half-file"),
        pytest.param('{"agent": {"name": "x"}}', "line 1, column 1", id="json"),
    ],
)
def test_bad_toml_names_file_line_and_column(tmp_path: Path, text: str, place: str) -> None:
    path = _write(tmp_path / "geode.toml", text)
    before = path.read_bytes()

    fault = _fault(path)

    assert fault.startswith(f"{path}, {place}: ")
    assert "\n" not in fault
    assert path.read_bytes() == before


def test_text_that_is_not_utf8_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "geode.toml"
    path.write_bytes(b'[agent]\nname = "M\xfcller"\n')

    assert _fault(path) == f"{path}, line 2, column 10: not UTF-8 text; save the file as UTF-8."


def test_directory_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "geode.toml"
    path.mkdir()

    assert _fault(path) == f"{path} is not a file; put the configuration file there."


def test_dangling_link_is_not_taken_for_an_absent_file(tmp_path: Path, own_folder: Path) -> None:
    (own_folder / "geode.toml").symlink_to(tmp_path / "gone.toml")

    with pytest.raises(ConfigError, match=r"geode\.toml cannot be read"):
        _load(tmp_path)


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "geode.toml", "")
    path.chmod(0)

    if os.access(path, os.R_OK):  # root reads everything; a link to itself cannot be read by anyone
        path.unlink()
        path.symlink_to(path)

    assert _fault(path).startswith(f"{path} cannot be read (")


def test_deep_nesting_is_a_sentence(tmp_path: Path) -> None:
    path = _write(tmp_path / "geode.toml", f"x = {'[' * 100_000}")

    assert _fault(path).startswith(f"{path}")
