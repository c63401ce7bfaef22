"""What the model writes to Slack pings nobody, hides no address and turns no text around."""

from __future__ import annotations

import json
import unicodedata

import pytest

from channels.rehearsal.slack_rules import block_texts, check_message
from channels.slack.cards import render_body
from channels.slack.render import render_plain
from geode.messages import OutboundBody

OVERRIDE, ISOLATE = "\u202e", "\u2067"
LIVE = [
    "<!channel>",
    "<!here|here>",
    "<!everyone>",
    "<!subteam^S0123|@team>",
    "<@U0ANA>",
    "<#C0GENERAL|general>",
    "<!date^1392734382^{date_num}^https://e.vil/|now>",
    "<https://e.vil|https://good.example>",
    "<mailto:a@e.vil|Ana>",
    "&lt;!channel&gt;",
    "&amp;lt;!channel&amp;gt;",
    "&#60;!channel&#62;",
    "\\<!channel\\>",
    "<\u200b!channel>",
    "<!chan\u00adnel>",
]
AROUND = [
    "{}",
    "**{}**",
    "*a*{}",
    "`{}`",
    "``` {}\n{}\n```",
    "# {}",
    "> {}",
    "- {}",
    "|{}|b|\n|-|-|\n|{}|{}|",
    "[{}](https://e.vil/)",
    "[a](<https://e.vil/{}>)",
    "![{}](https://e.vil/{})",
    "[a]: https://e.vil/{}\n\n[a]",
    "https://e.vil/{}",
    "\n".join(["{}"] * 400),
    "x" * 2_995 + "{}",
]


def texts(markdown: str) -> list[str]:
    """Every text of every part: sections, the fallback, and the plain form."""
    found: list[str] = []
    for part in render_body(OutboundBody(markdown)):
        assert check_message(part.payload, is_update=True) == ""
        found += [str(part.payload["text"]), *block_texts(part.payload["blocks"])]
        found.append(render_plain(part.plain))
    return found


def find_live(text: str) -> list[str]:
    """Everything between angle brackets that Slack would read as more than a plain address."""
    targets = [part.partition(">")[0] for part in text.split("<")[1:]]
    return [
        each
        for each in targets
        if not each.startswith(("https://", "mailto:")) or "|" in each or "\n" in each
    ]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("live", LIVE)
def test_nothing_the_model_writes_is_live(live: str, around: str) -> None:
    for text in texts(around.replace("{}", live)):
        assert find_live(text) == []


def test_words_of_the_model_would_be_live_as_they_are() -> None:
    """The positive control: the same look finds them in text that was not rendered."""
    assert find_live("".join(LIVE[:8])) == [text[1:-1] for text in LIVE[:8]]


@pytest.mark.parametrize(
    "markdown",
    [
        f"[{OVERRIDE}good](https://e.vil/)",
        f"[{ISOLATE}good](https://e.vil/)",
        f"see https://e.vil/{OVERRIDE}gpj.exe",
        f"`{OVERRIDE}if admin`",
        f"```\n{ISOLATE}x\n```",
        f"|{OVERRIDE}|\n|-|\n|{ISOLATE}|",
        "\x1b]0;owned\x07\x1b[2J",
        "a\u0085b\u009b31m",
    ],
)
def test_no_mark_turns_or_controls_what_is_shown(markdown: str) -> None:
    for text in texts(markdown):
        assert not set(text) & {OVERRIDE, ISOLATE}
        assert not [c for c in text if unicodedata.category(c) == "Cc" and c not in "\n\t"]


def test_address_shows_what_cannot_be_seen_in_it() -> None:
    (section, *_) = texts("https://e.vil/a\u200bb\U000e0041")

    assert section == "<https://e.vil/a%E2%80%8Bb%F3%A0%81%81>"


def test_scripts_and_emoji_stay_as_they_are() -> None:
    said = "שלום \u200fعالم\u200e 👩\u200d👩\u200d👧 क\u094dष \t x"

    assert json.dumps(texts(said)[0]) == json.dumps(said)
