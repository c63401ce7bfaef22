"""Which paths the model may write: plain names beneath the workspace and nothing else."""

from __future__ import annotations

import pytest

from geode.errors import PathRefusedError
from geode.tools.paths import parse_file_path, parse_path, show_name

REFUSED = {
    "absolute": "/etc/passwd",
    "double slash": "//etc/passwd",
    "parent": "..",
    "parent inside": "a/../../etc/passwd",
    "parent at the end": "a/..",
    "parent after dot": "./../x",
    "nul": "a\0b",
    "nul after parent": "..\0/x",
    "backslash": "..\\..\\etc",
    "backslash drive": "C:\\x",
    "newline": "a\nb",
    "return": "a\rb",
    "escape code": "a\x1b[2J",
    "delete": "a\x7f",
    "c1": "a\x85b",
    "line separator": "a\u2028b",
    "bidi override": "gpj.\u202eexe",
    "bidi isolate": "a\u2066b",
    "surrogate": "a\ud800",
    "long name": "x" * 256,
    "long name in bytes": "語" * 86,
    "long path": "/".join(["x" * 200] * 21),
    "too deep": "/".join("a" * 33),
    "reserved": ".geode-r1.tmp",
    "reserved folder": "a/.geode-x/b",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_parse_path_refuses(text: str):
    with pytest.raises(PathRefusedError):
        parse_path(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a.txt", ("a.txt",)),
        ("./a//b/", ("a", "b")),
        (".", ()),
        ("", ()),
        ("%2e%2e/x", ("%2e%2e", "x")),
        ("...", ("...",)),
        (".env", (".env",)),
        ("~/x", ("~", "x")),
        ("$HOME", ("$HOME",)),
        ("a b/c:d", ("a b", "c:d")),
        ("학점인정.pdf", ("학점인정.pdf",)),
        ("x" * 255, ("x" * 255,)),
    ],
)
def test_parse_path_takes_plain_names_as_they_are(text: str, names: tuple[str, ...]):
    assert parse_path(text).names == names


def test_path_text_is_equal_for_both_spellings_of_a_name():
    composed, decomposed = (
        "\u00dcbersicht f\u00fcr \u00e4.pdf",
        "U\u0308bersicht fu\u0308r a\u0308.pdf",
    )

    assert composed != decomposed
    assert parse_path(composed).text == parse_path(f"./{decomposed}").text


@pytest.mark.parametrize("text", ["", ".", "a/", "./"])
def test_parse_file_path_refuses_what_names_a_folder(text: str):
    with pytest.raises(PathRefusedError):
        parse_file_path(text)


def test_show_name_escapes_what_would_disturb_a_reader():
    assert show_name("a\nb\u202ec\udcff") == "a\\nb\\u202ec\\udcff"
