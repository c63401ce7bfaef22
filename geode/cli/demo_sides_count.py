"""Counts what one platform's thread shows: nothing lost, nothing doubled, or it failed; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from geode.cli.demo_count import LABEL, Said
from geode.cli.demo_platform import Line


@dataclass(frozen=True, slots=True)
class SideTally:
    """What the transcript of one platform says, as counts."""

    platform: str
    messages: int
    answers: int
    lost: int
    doubled: int
    unasked: int

    @property
    def faults(self) -> list[str]:
        """What is wrong, one sentence each; empty when all is well."""
        checks = (
            (self.messages > 0, "no message arrived."),
            (self.lost == 0, f"{self.lost} messages were never answered."),
            (self.doubled == 0, f"{self.doubled} messages were answered more than once."),
            (self.unasked == 0, f"{self.unasked} answers belong to no message."),
        )
        return [f"{self.platform}: {sentence}" for is_well, sentence in checks if not is_well]


def count_side(platform: str, said: Sequence[Said], lines: Sequence[Line]) -> SideTally:
    """The counts of one finished thread; `said` are the messages with what only an answer holds."""
    ours = [line for line in lines if line.is_ours]
    found = {one.ts: _ids_of(ours, one.answer_holds) for one in said}
    asked_for = {answer for answers in found.values() for answer in answers}
    answers = {line.id for line in ours if LABEL in line.text} | asked_for
    people = [line for line in lines if not line.is_ours]
    return SideTally(
        platform=platform,
        messages=len(people),
        answers=len(answers),
        lost=sum(not found.get(line.id) for line in people) + _count_missing(said, people),
        doubled=sum(len(answered) > 1 for answered in found.values()),
        unasked=len(answers - asked_for),
    )


def _ids_of(lines: Iterable[Line], part: str) -> list[str]:
    return [line.id for line in lines if part in line.text]


def _count_missing(said: Sequence[Said], people: Sequence[Line]) -> int:
    """Messages that were posted and do not even stand in the transcript."""
    return len({one.ts for one in said} - {line.id for line in people})
