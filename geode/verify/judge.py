"""Who judges a sound candidate: the port, what it says, and every way to say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Protocol

from geode.steps import Spend
from geode.verify.structure import Candidate


class JudgeOutcome(StrEnum):
    """What a judge says."""

    PASSED = "passed"
    FAILED = "failed"
    VERIFICATION_ERROR = "verification_error"
    """No judge, no time or no valid answer: neither success nor a request for repair."""


class JudgeFault(StrEnum):
    """Why there is no verdict; the one miss of a `VERIFICATION_ERROR`."""

    MALFORMED = "judge_malformed"
    REFUSED = "judge_refused"
    UNREACHABLE = "judge_unreachable"
    TIMED_OUT = "judge_timed_out"
    NO_TIME = "no_time_left"
    PERSONAL = "personal_data_omitted"


FAULT_SENTENCES: Mapping[JudgeFault, str] = {
    JudgeFault.MALFORMED: "The judge's answer was not a verdict.",
    JudgeFault.REFUSED: "The judge declined to judge this answer.",
    JudgeFault.UNREACHABLE: "The judge could not be asked.",
    JudgeFault.TIMED_OUT: "The judge did not answer in time.",
    JudgeFault.NO_TIME: "No time was left to judge the answer.",
    JudgeFault.PERSONAL: (
        "The answer may carry personal data, which only the provider that wrote it may see, and "
        "the judge is another one."
    ),
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict about one candidate."""

    outcome: JudgeOutcome
    misses: tuple[str, ...] = ()
    """What the candidate lacks, by the rubric; of an error, its one code word."""
    reflection: str = ""
    """For the next attempt; of an error, a sentence about it."""
    is_retry_worthwhile: bool = False
    spend: Spend = field(default_factory=Spend)
    """What it used, also when it came to nothing."""


def find_no_verdict(fault: JudgeFault, reason: str = "", spend: Spend | None = None) -> Judgement:
    """The judgement that there is none, with a sentence for whoever reviews instead."""
    return Judgement(
        JudgeOutcome.VERIFICATION_ERROR,
        (fault.value,),
        f"{FAULT_SENTENCES[fault]} {reason}".strip(),
        spend=spend or Spend(),
    )


@dataclass(frozen=True, slots=True)
class JudgeTerms:
    """What one judgement may use."""

    deadline: float = inf
    """Monotonic seconds; the caller cancels what takes longer."""


class Judge(Protocol):
    """Judges a candidate once, without tools."""

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        """A verdict; the caller bounds the time. Raises `ModelError` when there is none."""
        ...
