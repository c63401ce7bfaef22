"""Who judges a sound candidate: the port, and the place holder until the judge is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Protocol

from geode.steps import Spend
from geode.verify.structure import Candidate


class JudgeOutcome(StrEnum):
    """What a judge says; `unverified` goes together with `PendingJudge`."""

    PASSED = "passed"
    FAILED = "failed"
    VERIFICATION_ERROR = "verification_error"
    """No judge, no time or no valid answer: neither success nor a request for repair."""
    UNVERIFIED = "unverified"
    """Nobody judged; accepted and recorded as that."""


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


class PendingJudge:
    """Stands where the judge will stand; deleted together with `unverified` when it is built."""

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        """Say that nobody judged."""
        del candidate, terms
        return Judgement(JudgeOutcome.UNVERIFIED)
