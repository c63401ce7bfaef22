"""The side by side story counts what each platform shows, so a lost or doubled answer fails it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from geode.cli.demo import choose_platforms
from geode.cli.demo_count import LABEL, Said, count_side
from geode.cli.demo_platform import Line
from geode.errors import ConfigError

SAID = (Said("1", "Wrote the new file"), Said("2", "reviews waiting"), Said("3", "6 * 9 = 54"))


def _line(name: str, number: str, text: str) -> Line:
    return Line(number, name, text, name == "Geode", (text,))


def _thread() -> list[Line]:
    return [
        *(_line("ana", one.ts, "a question") for one in SAID),
        _line("Geode", "11", f"Wrote the new file plan.md {LABEL}"),
        _line("Geode", "12", "Idle, 0 reviews waiting"),
        _line("Geode", "13", f"6 * 9 = 54 {LABEL}"),
    ]


def test_whole_thread_has_no_fault() -> None:
    tally = count_side("slack", SAID, _thread())

    assert tally.faults == []
    assert (tally.messages, tally.answers, tally.lost, tally.doubled) == (3, 3, 0, 0)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param(lambda t: t.pop(3), "1 messages were never answered", id="lost"),
        pytest.param(lambda t: t.pop(4), "1 messages were never answered", id="command lost"),
        pytest.param(lambda t: t.append(t[3]), "more than once", id="doubled"),
        pytest.param(lambda t: t.pop(0), "1 messages were never answered", id="message gone"),
        pytest.param(
            lambda t: t.append(_line("ana", "9", "more")), "never answered", id="unknown message"
        ),
        pytest.param(
            lambda t: t.append(_line("Geode", "9", f"hm {LABEL}")), "no message", id="unasked"
        ),
        pytest.param(lambda t: t.clear(), "no message arrived", id="nothing"),
    ],
)
def test_thread_with_a_fault_is_told(change: Callable[[list[Line]], object], fault: str) -> None:
    thread = _thread()
    change(thread)

    faults = count_side("telegram", SAID, thread).faults

    assert [sentence for sentence in faults if fault in sentence], faults
    assert all(sentence.startswith("telegram: ") for sentence in faults)


@pytest.mark.parametrize(
    ("written", "chosen"),
    [
        ("all", ("slack", "discord", "telegram")),
        ("slack", ("slack",)),
        ("Telegram, slack", ("slack", "telegram")),
    ],
)
def test_channels_are_chosen_by_name_in_one_order(written: str, chosen: tuple[str, ...]) -> None:
    assert choose_platforms(written) == chosen


@pytest.mark.parametrize("written", ["", ",", "irc", "slack,irc", "all,slack"])
def test_unknown_channels_are_refused_with_the_known_ones(written: str) -> None:
    with pytest.raises(ConfigError, match="slack, discord, telegram"):
        choose_platforms(written)
