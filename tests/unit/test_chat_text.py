"""What a client prints acts on nothing, drops nothing, and takes no empty line for an answer."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from geode.cli.chat_card import CardButton, choose, read_card
from geode.cli.chat_files import ArrivedFile, save_file
from geode.cli.chat_screen import Screen
from geode.cli.chat_text import clean_line, clean_text
from geode.errors import ControlError
from geode.records.transcript import ROOMS
from geode.store.blobs import Blobs

BUTTONS = (CardButton("Allow once", ""), CardButton("Allow in this session", ""))

HOSTILE = {
    "colour": ("a\x1b[31mb\x1b[0m", "ab"),
    "clear": ("a\x1b[2J\x1b[Hb", "ab"),
    "title": ("a\x1b]0;owned\x07b", "ab"),
    "clipboard": ("a\x1b]52;c;aGk=\x1b\\b", "ab"),
    "hyperlink": ("\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"),
    "device": ("a\x1bPq#0\x1b\\b", "ab"),
    "apc": ("a\x1b_Gx\x1b\\b", "ab"),
    "one-byte": ("a\x9b31mb\x9d0;x\x9cc", "abc"),
    "reset": ("a\x1bcb", "ab"),
    "charset": ("a\x1b(0b", "ab"),
    "keys": ("a\x07\x08\x7fb\x00c", "abc"),
    "overwrite": ("safe\rrm -rf", "saferm -rf"),
    "nested": ("\x1b\x1b[[31m", "31m"),
    "open": ("a\x1b]0;never ends", "a0;never ends"),
    "lines": ("a\r\nb\tc\n", "a\nb\tc\n"),
    "scripts": ("שלום 👩‍👩‍👧 é", "שלום 👩‍👩‍👧 é"),
}


@pytest.mark.parametrize(("text", "clean"), HOSTILE.values(), ids=HOSTILE.keys())
def test_text_is_printed_without_what_acts_on_a_terminal(text: str, clean: str) -> None:
    assert clean_text(text) == clean
    assert clean_text(clean) == clean
    assert "\n" not in clean_line(text)


CHOICES = {
    "number": ("1", 1),
    "mark": ("2)", 2),
    "label": ("allow ONCE", 1),
    "blanks": ("  allow in  this session ", 2),
    "empty": ("", None),
    "blank": ("   ", None),
    "zero": ("0", None),
    "beyond": ("3", None),
    "negative": ("-1", None),
    "beginning": ("allow", None),
    "yes": ("yes", None),
    "both": ("1 2", None),
}


@pytest.mark.parametrize(("typed", "number"), CHOICES.values(), ids=CHOICES.keys())
def test_choice_is_a_number_or_a_whole_label(typed: str, number: int | None) -> None:
    assert choose(typed, BUTTONS) == number


def screen_of(columns: int, *, is_terminal: bool = True) -> tuple[Screen, io.StringIO]:
    out = io.StringIO()
    console = Console(
        file=out, width=columns, force_terminal=is_terminal, highlight=False, markup=False
    )
    return Screen(console, Path("/nowhere")), out


def seen(out: io.StringIO) -> str:
    return re.sub(r"\s+", "", re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()))


def row_of(**more: object) -> dict[str, object]:
    row: dict[str, object] = {"id": "1", "key": "", "kind": "answer", "markdown": "", "card": None}
    return row | {"files": []} | more


def card_of(arguments: str, *buttons: str) -> dict[str, object]:
    return {
        "title": "May I?\x1b[2J",
        "body": f"It wants this:\n\n```json\n{arguments}\n```",
        "fields": [["Tool", "`run_bash`"]],
        "buttons": [{"label": label, "style": "plain", "asks": ""} for label in buttons],
    }


@pytest.mark.parametrize("columns", [20, 37, 80, 200])
def test_card_is_shown_whole_in_a_window_of_any_width(columns: int) -> None:
    arguments = '{"command":"' + "".join(f"echo-{n};" for n in range(400)) + '"}'
    screen, out = screen_of(columns)

    screen.show(row_of(kind="card", card=card_of(arguments, "Allow once", "Deny")))

    assert arguments in seen(out)
    assert "\x1b[2J" not in out.getvalue()
    assert [card.title for card in screen.cards.values()] == ["May I?"]


def test_card_that_is_over_waits_for_nobody() -> None:
    screen, _ = screen_of(80)
    screen.show(row_of(kind="card", card=card_of("{}", "Allow once")))

    screen.show(row_of(kind="card", card=card_of("{}")))

    assert screen.cards == {}


ANSWER = """<script>alert(1)</script> <b>loud</b> & [link](https://example.org/x?y=1)

| a | b |
|---|---|
| [bold red]one[/] | two |

```python
print("[red]")
```
first line
second line"""


def test_answer_keeps_every_word_and_shows_where_links_lead() -> None:
    screen, out = screen_of(100)

    screen.show(row_of(markdown=ANSWER))

    for part in (
        "<script>alert(1)</script>",
        "<b>loud</b>",
        "https://example.org/x?y=1",
        "[boldred]one[/]",
        'print("[red]")',
    ):
        assert part in seen(out)
    assert "first line\n" in re.sub(r" +\n", "\n", re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()))
    assert "\x1b]" not in out.getvalue()


def test_answer_is_printed_as_it_is_without_a_terminal() -> None:
    screen, out = screen_of(20, is_terminal=False)

    screen.show(row_of(markdown="**a** [link](https://example.org/a/very/long/address)"))

    assert out.getvalue() == "**a** [link](https://example.org/a/very/long/address)\n"


def test_message_is_shown_once_and_again_only_when_it_changed() -> None:
    screen, out = screen_of(80)
    for row in (
        row_of(kind="progress", markdown="Working on it …"),
        row_of(markdown="Done"),
        row_of(markdown="Done"),
        row_of(id="2", markdown="Answered below."),
    ):
        screen.show(row)

    assert seen(out) == "Geode:Done"


def test_file_is_saved_under_its_own_name_and_replaces_nothing(tmp_path: Path) -> None:
    sha256 = Blobs(tmp_path / ROOMS).put(b"new")
    (tmp_path / "passwd").write_bytes(b"old")

    saved = save_file(tmp_path, ArrivedFile("../../etc/passwd", 3, sha256), tmp_path)

    assert saved == tmp_path / "passwd-1"
    assert saved.read_bytes() == b"new"
    assert (tmp_path / "passwd").read_bytes() == b"old"


def test_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match="not kept any more"):
        save_file(tmp_path, ArrivedFile("a", 3, "0" * 64), tmp_path)


def test_message_without_a_card_has_none() -> None:
    assert read_card(row_of()) is None
