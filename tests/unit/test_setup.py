"""The pure parts of `geode setup`: what was typed, the file's new text, and the writing of it."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode.cli.setup_answers import (
    Answers,
    ChannelAnswer,
    ModelAnswer,
    PlaceAnswer,
    SecretAnswer,
)
from geode.cli.setup_choices import (
    guess_timezone,
    parse_names,
    parse_numbers,
    parse_operators,
    parse_people,
)
from geode.cli.setup_document import build_document
from geode.cli.setup_file import check_document, find_target, read_existing, write_all
from geode.errors import ConfigError
from geode.messages import Person
from geode.settings_secrets import SecretRef

KEY = "xoxb-very-secret"
SEEN = (Person("U1", "ana"), Person("U2", "ben"))


def place(where: str = "T1/C1", respond: str = "mention") -> PlaceAnswer:
    return PlaceAnswer("slack", where, "#x", ("U1", "U2"), ("U1",), respond)


def answers(*places: PlaceAnswer) -> Answers:
    token = SecretAnswer(SecretRef("file", "/s/token"), KEY, is_pasted=True)
    named = SecretAnswer(SecretRef("env", "APP"), "xapp")
    slack = ChannelAnswer("slack", {"bot_token": token, "app_token": named}, places or (place(),))
    return Answers(ModelAnswer("rehearsal"), "Europe/Berlin", [slack])


@pytest.mark.parametrize(("text", "wanted"), [("1", (0,)), ("3, 1", (2, 0)), ("2 2;1", (1, 0))])
def test_numbers_of_a_list_are_read_in_their_order(text: str, wanted: tuple[int, ...]) -> None:
    assert parse_numbers(text, 3) == wanted


@pytest.mark.parametrize("text", ["", "0", "4", "x", "1,x", "-1"])
def test_number_that_is_none_of_the_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="from 1 to 3"):
        parse_numbers(text, 3)


@pytest.mark.parametrize(
    ("text", "wanted"), [("web", ("web",)), ("2, web", ("slack", "web")), ("SLACK", ("slack",))]
)
def test_names_are_read_with_numbers_and_in_any_case(text: str, wanted: tuple[str, ...]) -> None:
    assert parse_names(text, ["web", "slack"]) == wanted


def test_name_that_is_not_installed_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="web, slack"):
        parse_names("matrix", ["web", "slack"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1", ("U1",)),
        ("all", ("U1", "U2")),
        ("members", "members"),
        ("2, U9", ("U2", "U9")),
        ("", ()),
    ],
)
def test_people_are_numbers_ids_all_or_members(text: str, wanted: object) -> None:
    assert parse_people(text, "slack", SEEN) == wanted


def test_number_beyond_the_people_shown_is_an_id_where_ids_are_numbers() -> None:
    assert parse_people("2, 101", "telegram", SEEN) == ("U2", "101")


@pytest.mark.parametrize("text", ["@ana", "ana", "3", "all members"])
def test_name_of_a_person_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match="is not a slack id"):
        parse_people(text, "slack", SEEN)


@pytest.mark.parametrize("text", ["", "members"])
def test_operators_are_at_least_one_person(text: str) -> None:
    with pytest.raises(ValueError, match="at least one operator"):
        parse_operators(text, "slack", SEEN)


def test_timezone_is_that_of_the_variable_then_the_machine_then_utc(tmp_path: Path) -> None:
    linked = tmp_path / "localtime"
    linked.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    none = tmp_path / "none"

    assert guess_timezone({"TZ": ":Europe/Paris"}, linked) == "Europe/Paris"
    assert guess_timezone({"TZ": "CET-1CEST"}, linked) == "Asia/Tokyo"
    assert guess_timezone({}, none) == "UTC"


def test_new_file_holds_the_answers_and_no_secret() -> None:
    text = build_document("", answers())

    assert KEY not in text
    written = tomllib.loads(text)
    assert written["agent"] == {"model": "rehearsal", "timezone": "Europe/Berlin"}
    tokens = {"bot_token": "file:/s/token", "app_token": "env:APP"}
    assert written["channels"] == {"slack": tokens}
    (binding,) = written["bindings"]
    assert (binding["people"], binding["operators"]) == (["U1", "U2"], ["U1"])
    assert answers().pasted == {Path("/s/token"): KEY}
    assert answers().variables == ["APP"]
    assert KEY not in repr(answers())


def test_place_that_is_bound_is_changed_where_it_stands() -> None:
    before = """[[bindings]]
channel = "slack"
where = "T1/C1" # the room
people = ["U7"]
operators = ["U1"] # ana
profile = "research"

[profiles.research]
tools = ["read_file"] # only this

[[bindings]]
channel = "slack"
where = "T1/C2"
people = []
operators = ["U1"]
"""
    text = build_document(before, answers(place(), place("T1/C3", "always")))

    rows = tomllib.loads(text)["bindings"]
    assert [(row["where"], row["people"]) for row in rows] == [
        ("T1/C1", ["U1", "U2"]),
        ("T1/C2", []),
        ("T1/C3", ["U1", "U2"]),
    ]
    assert rows[0]["profile"] == "research"
    assert rows[2]["respond"] == "always"
    for comment in ("# the room", "# ana", "# only this"):
        assert comment in text


@pytest.mark.parametrize(
    "before",
    [
        'channels = { slack = { api_url = "http://x.org/" } } # inline\n',
        'bindings = [{ channel = "slack", where = "T1/C9", operators = ["U1"] }]\n',
        '[channels.web]\n[agent]\nname = "A"\n[channels.discord]\ntoken = "env:D"\n',
        'agent.name = "A"\nagent.timezone = "UTC" # dotted\n',
        "\r\n[agent] # windows\r\nname = 'A'\r\n",
        "[channels.slack.more]\nx = 1\n",
    ],
)
def test_file_of_any_form_is_changed_exactly(before: str) -> None:
    text = build_document(before, answers())

    after, was = tomllib.loads(text), tomllib.loads(before)
    assert after["channels"]["slack"]["bot_token"] == "file:/s/token"
    assert len(after["bindings"]) == len(was.get("bindings", [])) + 1
    assert set(was.get("channels", {})) <= set(after["channels"])


NAMES = st.sampled_from(["a", "b", "agent", "state", "web", "profiles"])
TABLES = st.dictionaries(NAMES, st.integers() | st.text("xyz ä\n\"'", max_size=5), max_size=3)


@given(tables=st.dictionaries(st.sampled_from(["state", "limits", "web", "x"]), TABLES))
def test_everything_else_in_a_file_stays_as_it_was(tables: dict[str, dict[str, object]]) -> None:
    import tomlkit

    before = "".join(
        f"# of {name}\n[{name}]\n{tomlkit.dumps(table)}" for name, table in tables.items()
    )
    text = build_document(before, answers())

    assert {k: v for k, v in tomllib.loads(text).items() if k in tables} == tables
    assert [f"# of {name}" for name in tables if f"# of {name}" not in text] == []


def test_same_answers_again_change_nothing() -> None:
    text = build_document("", answers())

    assert build_document(text, answers()) == text


def test_fault_in_the_draft_names_the_file_that_would_be_written(tmp_path: Path) -> None:
    target = tmp_path / "geode.toml"

    with pytest.raises(ConfigError, match=f"^{target}: agent.nam is not a known key"):
        check_document("[agent]\nnam = 1\n", target, {"HOME": str(tmp_path)})

    assert list(tmp_path.iterdir()) == []


def test_file_is_where_serve_looks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"GEODE_HOME": str(tmp_path / "home")}

    assert find_target(None, environ) == tmp_path / "home" / "geode.toml"
    (tmp_path / "geode.toml").write_text("")
    assert find_target(None, environ) == tmp_path / "geode.toml"
    assert find_target(None, environ | {"GEODE_CONFIG": "/x/y.toml"}) == Path("/x/y.toml")
    assert find_target(Path("z.toml"), environ) == tmp_path / "z.toml"


def test_writing_keeps_each_former_file_and_makes_all_private(tmp_path: Path) -> None:
    target, secret = tmp_path / "home" / "geode.toml", tmp_path / "home" / "secrets" / "token"

    assert write_all(target, "a = 1\n", {secret: KEY}) is None
    first = write_all(target, "a = 2\n", {secret: KEY})
    second = write_all(target, "a = 3\n", {})

    assert first is not None
    assert second is not None
    assert [path.read_text() for path in (first, second, target)] == [
        "a = 1\n",
        "a = 2\n",
        "a = 3\n",
    ]
    assert secret.read_text() == f"{KEY}\n"
    files = (target, secret, first, second)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(secret.parent.stat().st_mode) == 0o700
    assert len(list(target.parent.iterdir())) == 4


def test_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "geode.toml"
    real.write_text("a = 1\n")
    link.symlink_to(real)
    write_all(link, "a = 2\n", {})

    assert link.is_symlink()
    assert real.read_text() == "a = 2\n"


def test_file_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "geode.toml"
    target.write_text("a = 1\n")
    (tmp_path / "secrets").write_text("no folder")

    with pytest.raises(ConfigError, match="is as it was"):
        write_all(target, "a = 2\n", {tmp_path / "secrets" / "token": KEY})

    assert target.read_text() == "a = 1\n"
    assert {path.name for path in tmp_path.iterdir()} == {"geode.toml", "secrets"}


def test_mark_of_byte_order_is_left_out(tmp_path: Path) -> None:
    target = tmp_path / "geode.toml"
    target.write_bytes(b"\xef\xbb\xbf[agent]\n")

    assert read_existing(target) == "[agent]\n"
    assert read_existing(tmp_path / "none.toml") == ""
