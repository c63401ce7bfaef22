"""A judge that says what it is told, in order: for tests of what follows from a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from geode.errors import ModelError
from geode.steps import Spend, Usage
from geode.verify.judge import (
    JudgeFault,
    Judgement,
    JudgeOutcome,
    JudgeTerms,
    find_no_verdict,
)
from geode.verify.structure import Candidate

SPEND = Spend(1, Usage(input_tokens=100, output_tokens=10), 7)
PASSED = Judgement(JudgeOutcome.PASSED, spend=SPEND)
FAILED = Judgement(JudgeOutcome.FAILED, ("names no source",), "Name it.", spend=SPEND)
RETRY = Judgement(JudgeOutcome.FAILED, ("names no source",), "Name it.", True, SPEND)
BROKEN = Judgement(JudgeOutcome.VERIFICATION_ERROR, ("judge_malformed",), "No verdict.")
PERSONAL = find_no_verdict(JudgeFault.PERSONAL)

Verdict = Judgement | ModelError


@dataclass
class ScriptedJudge:
    """Gives its verdicts one by one, then passes everything."""

    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    seen: list[Candidate] = field(default_factory=list[Candidate])
    name: str = "scripted/judge"

    def add(self, verdicts: Sequence[Verdict]) -> None:
        """Say these next."""
        self.verdicts += verdicts

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        """The next verdict."""
        del terms
        self.seen.append(candidate)
        verdict = self.verdicts.pop(0) if self.verdicts else PASSED
        if isinstance(verdict, ModelError):
            raise verdict
        return verdict
