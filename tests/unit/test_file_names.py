"""Whatever a person calls a file, it gets one plain name in one folder (IN-02)."""

from __future__ import annotations

import unicodedata

import pytest

from geode.tools.names import NAME_BYTES_MAX, clean_file_name, number_name
from geode.tools.paths import parse_file_path

DECOMPOSED = unicodedata.normalize("NFD", "Übersicht für ä.pdf")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\notes.txt", "notes.txt"),
        ("/", "file"),
        ("..", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        (".geode-x.tmp", "geode-x.tmp"),
        ("a\x00b\nc\u202egnp.exe", "abcgnp.exe"),
        ("two  words\u00a0here.txt", "two words here.txt"),
        ('say "hi" <b>.md', "say _hi_ _b_.md"),
        (DECOMPOSED, "Übersicht für ä.pdf"),
    ],
)
def test_name_is_made_plain(given: str, expected: str) -> None:
    assert clean_file_name(given) == expected


@pytest.mark.parametrize("given", ["x" * 500 + ".tar", "학" * 300 + ".pdf", "." * 300, "🙂" * 90])
def test_long_name_keeps_its_suffix_and_fits(given: str) -> None:
    name = clean_file_name(given)

    assert len(name.encode()) <= NAME_BYTES_MAX
    assert parse_file_path(f"attachments/{name}").names[-1] == name
    assert name.endswith(given[-4:]) or "." not in given.strip(".")


def test_second_of_a_name_gets_a_number_before_its_suffix() -> None:
    assert [number_name("a.b.pdf", n) for n in (1, 2, 3)] == ["a.b.pdf", "a.b-2.pdf", "a.b-3.pdf"]
