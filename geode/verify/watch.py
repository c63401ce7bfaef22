"""Notices when the judge gives no verdicts: one sentence for operators, one line in the log."""

from __future__ import annotations

from geode.errors import ModelError
from geode.log import get_logger
from geode.ports import Clock
from geode.reply.effect_cards import show_time
from geode.verify.judge import (
    Judge,
    JudgeFault,
    Judgement,
    JudgeOutcome,
    JudgeTerms,
    find_no_verdict,
)
from geode.verify.structure import Candidate

log = get_logger(__name__)

FAIR_S = 15.0
"""A judge that was given less time and did not use it well is not out of order."""
_OUT = frozenset({JudgeFault.MALFORMED, JudgeFault.UNREACHABLE, JudgeFault.TIMED_OUT})


class WatchedJudge:
    """A judge whose outage is told once and ends with its next verdict; it raises no `ModelError`.

    Nothing of a candidate is in what it tells.
    """

    def __init__(self, judge: Judge, name: str, clock: Clock) -> None:
        self.name = name
        """As the operator writes it: `provider/model`."""
        self._judge = judge
        self._clock = clock
        self._since_us = 0
        self._reason = ""
        self.missed = 0
        """Candidates in a row that got no verdict because of the judge."""

    @property
    def degraded(self) -> list[str]:
        """The sentence about an outage that lasts; empty: none."""
        if not self.missed:
            return []
        answers = "1 answer" if self.missed == 1 else f"{self.missed} answers"
        return [
            f"The judge {self.name} does not answer since {show_time(self._since_us)}; "
            f"{answers} went unjudged to review. {self._reason}"
        ]

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        """What the judge says; its failures become the judgement that there is no verdict."""
        began = self._clock.monotonic()
        try:
            judgement = await self._judge.judge(candidate, terms)
        except ModelError:
            judgement = find_no_verdict(JudgeFault.UNREACHABLE)
        self._note(judgement, terms.deadline - began)
        return judgement

    def _note(self, judgement: Judgement, granted_s: float) -> None:
        if judgement.outcome is not JudgeOutcome.VERIFICATION_ERROR:
            self._end_outage()
            return
        (code,) = judgement.misses
        is_fair = code != JudgeFault.TIMED_OUT or granted_s >= FAIR_S
        if code in _OUT and is_fair:
            self._begin_outage(code, judgement.reflection)
        elif code == JudgeFault.REFUSED:
            self._end_outage()

    def _begin_outage(self, code: str, reason: str) -> None:
        if not self.missed:
            self._since_us = self._clock.now_us()
            log.warning("judge_out", judge=self.name, code=code, reason=reason)
        self.missed += 1
        self._reason = reason

    def _end_outage(self) -> None:
        if self.missed:
            log.info("judge_back", judge=self.name, missed=self.missed)
        self.missed = 0
