"""The verdict on a storm, from what the platforms show and nothing else."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fakes.storm_daemon import TOKEN
from fakes.storm_town import Shown, Talk

from geode.reply.sentences import POSSIBLY_LOST

WORKING = "Working on it"
DOUBLED = "(possibly doubled)"


@dataclass(slots=True)
class StormVerdict:
    """What became of everything that was said."""

    said: int = 0
    turns: int = 0
    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    marked_doubles: int = 0
    wrong_thread: list[str] = field(default_factory=list[str])
    out_of_order: list[str] = field(default_factory=list[str])
    left_working: list[str] = field(default_factory=list[str])
    orphans: int = 0
    """Progress on a platform that shows a bot nothing, sent once more since nobody could look."""
    marks_left: list[str] = field(default_factory=list[str])
    other: Counter[str] = field(default_factory=Counter[str])

    @property
    def faults(self) -> dict[str, list[str]]:
        """Everything that must be empty."""
        names = ("lost", "doubled", "wrong_thread", "out_of_order", "left_working", "marks_left")
        return {name: found for name in names if (found := getattr(self, name))}

    def forgive(self, lost_copies: int) -> StormVerdict:
        """Take as many first progress messages for orphans as the daemon knows it can only doubt.

        One that was sent twice, of which the copy never arrived, leaves its first, unmarked.
        """
        doubted = [each for each in self.left_working if each.startswith("telegram: ")]
        for each in doubted[:lost_copies]:
            self.left_working.remove(each)
            self.orphans += 1
        return self

    def describe(self) -> str:
        """The figures in one line."""
        lists = ("lost", "doubled", "wrong_thread", "out_of_order", "left_working", "marks_left")
        counts = ", ".join(f"{name} {len(getattr(self, name))}" for name in lists)
        return (
            f"turns {self.turns}, tokens {self.said}, {counts}, marked doubles "
            f"{self.marked_doubles}, orphans {self.orphans}, notices {self.other.total()}"
        )


def judge(talks: Sequence[Talk]) -> StormVerdict:
    """Read every conversation and compare what was asked with what was answered."""
    verdict = StormVerdict()
    shown = {talk: talk.read() for talk in talks}
    places = {token: talk for talk in talks for token in _asked(shown[talk])}
    for talk in talks:
        _judge_talk(talk, shown[talk], places, verdict)
    return verdict


def count_lost_copies(database: Path) -> int:
    """Progress messages that were sent twice, and nobody can tell whether the copy arrived."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        (found,) = connection.execute(
            "SELECT count(*) FROM outbox_parts AS p JOIN outbox AS o ON o.id = p.outbox_id "
            "WHERE o.kind = 'progress' AND p.error = ?",
            (POSSIBLY_LOST,),
        ).fetchone()
    connection.close()
    return int(found)


def answered_tokens(shown: Sequence[Shown]) -> set[str]:
    """Every mark that an answer names."""
    return {token for each in shown if each.is_ours for token in TOKEN.findall(each.text)}


def _asked(shown: Sequence[Shown]) -> list[str]:
    return [token for each in shown if not each.is_ours for token in TOKEN.findall(each.text)]


def _judge_talk(
    talk: Talk, shown: Sequence[Shown], places: Mapping[str, Talk], verdict: StormVerdict
) -> None:
    asked, answered = _asked(shown), list[str]()
    verdict.said += len(asked)
    for each in [each for each in shown if each.is_ours]:
        tokens = TOKEN.findall(each.text)
        verdict.turns += bool(tokens)
        is_marked_copy = DOUBLED in each.text and talk.platform == "telegram"
        again = [token for token in tokens if token in answered]
        verdict.marked_doubles += is_marked_copy
        if not is_marked_copy:
            verdict.doubled += again
        verdict.wrong_thread += [token for token in tokens if places.get(token) is not talk]
        answered += [token for token in tokens if token not in answered]
        if not tokens and not each.text.startswith(WORKING):
            verdict.other[each.text] += 1
    verdict.lost += [token for token in asked if token not in answered]
    kept = [token for token in asked if token in answered]
    here = [token for token in answered if token in kept]
    if kept != here:
        verdict.out_of_order.append(f"{talk.platform}: {kept} answered as {here}")
    verdict.marks_left += [
        f"{talk.platform}: {each.text}" for each in shown if each.is_marked and not each.is_ours
    ]
    _judge_progress(talk, shown, verdict)


def _judge_progress(talk: Talk, shown: Sequence[Shown], verdict: StormVerdict) -> None:
    """A first progress whose outcome nobody can know may stay, when a marked one followed it."""
    ours = [each for each in shown if each.is_ours]
    for number, each in enumerate(ours):
        if not each.text.startswith(WORKING):
            continue
        follower = ours[number + 1] if number + 1 < len(ours) else None
        said = (*follower.before, follower.text) if follower else ()
        if talk.platform == "telegram" and any(DOUBLED in text for text in (each.text, *said)):
            verdict.orphans += 1
        else:
            verdict.left_working.append(f"{talk.platform}: {each.text}")
