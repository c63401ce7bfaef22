"""Counts what threads show at the end: nothing lost, nothing doubled, or it failed; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geode.cli.demo_platform import Line
from geode.reply import sentences

LABEL = "(rehearsal model)"


@dataclass(frozen=True, slots=True)
class Said:
    """One message a person wrote, and what only its answer can contain."""

    ts: str
    answer_holds: str


@dataclass(frozen=True, slots=True)
class Tally:
    """What the transcript and the store say, as counts."""

    messages: int
    answers: int
    lost: int
    doubled: int
    unasked: int
    notices: int
    is_collected: bool
    """The two quick messages were answered together, in one message."""
    is_refusal_explained: bool
    effects: int
    effects_open: int
    refused_calls: int

    @property
    def faults(self) -> list[str]:
        """What is wrong, one sentence each; empty when all is well."""
        checks = (
            (self.lost == 0, f"{self.lost} messages were never answered."),
            (self.doubled == 0, f"{self.doubled} messages were answered more than once."),
            (self.unasked == 0, f"{self.unasked} answers belong to no message."),
            (self.is_collected, "The two quick messages were not collected into one turn."),
            (self.notices == 1, f"The sender was told to wait {self.notices} times, not once."),
            (self.is_refusal_explained, "The refusal of run_bash came without its reason."),
            (self.effects == 1, f"{self.effects} effects were recorded, not 1."),
            (self.effects_open == 0, f"{self.effects_open} effects have an unknown outcome."),
            (self.refused_calls == 0, f"Slack refused {self.refused_calls} calls."),
        )
        return [sentence for is_well, sentence in checks if not is_well]


def is_answer(message: Mapping[str, Any]) -> bool:
    """Whether a message of the thread is a model's answer: each of them names its model."""
    return is_ours(message) and LABEL in message["text"]


def is_ours(message: Mapping[str, Any]) -> bool:
    """Whether the bot wrote a message that still stands."""
    return bool(message.get("bot_id")) and not message["is_deleted"]


def count_thread(
    said: Sequence[Said],
    messages: Sequence[Mapping[str, Any]],
    effects: Sequence[Mapping[str, Any]],
    refused_calls: int,
) -> Tally:
    """The counts of one finished thread."""
    answers = [message for message in messages if is_answer(message)]
    found = {one.ts: [a["ts"] for a in answers if one.answer_holds in a["text"]] for one in said}
    asked_for = {ts for answered in found.values() for ts in answered}
    people = [m for m in messages if not m.get("bot_id") and not m["is_deleted"]]
    ours = [str(message["text"]) for message in messages if is_ours(message)]
    return Tally(
        messages=len(people),
        answers=len(answers),
        lost=sum(not found.get(message["ts"]) for message in people),
        doubled=sum(len(answered) > 1 for answered in found.values()),
        unasked=sum(answer["ts"] not in asked_for for answer in answers),
        notices=sum(sentences.HELD[:30] in text for text in ours),
        is_collected=_has_shared_answer(found),
        is_refusal_explained=any("run_bash" in text and "Refused" in text for text in ours),
        effects=sum(effect["state"] == "committed" for effect in effects),
        effects_open=sum(effect["state"] in {"prepared", "uncertain"} for effect in effects),
        refused_calls=refused_calls,
    )


def _has_shared_answer(found: Mapping[str, Sequence[str]]) -> bool:
    single = [answered[0] for answered in found.values() if len(answered) == 1]
    return len(single) - len(set(single)) == 1


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
