"""The judge that is a model: one call without tools, whose answer is a verdict or nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from math import isinf

from geode.errors import ModelError
from geode.llm.errors import ProviderError, Refused
from geode.llm.routes import ModelRoute
from geode.messages import Message, SessionId, Text, TurnId
from geode.ports import Clock
from geode.steps import BoundToolPlan, ModelReply, Spend, StepSnapshot
from geode.verify.judge import JudgeFault, Judgement, JudgeTerms, find_no_verdict
from geode.verify.reading import read_verdict
from geode.verify.rubric import RUBRIC, VERDICT_SCHEMA, TakeOut, write_case
from geode.verify.structure import Candidate

VERDICT_TOKENS_MAX = 4_096
"""Enough for the longest verdict that is read, and for thought before it."""
MARGIN_S_MAX = 1.0
"""The call ends so long before the caller's own limit, so that its end has a name."""
_NO_TOOLS = BoundToolPlan(())


@dataclass(frozen=True, slots=True)
class LlmJudge:
    """Asks a bound model; the adapter repeats 429 and 5xx by its own rules within the deadline.

    A garbled, refused or cut answer is not asked for again: it is no verdict.
    """

    route: ModelRoute
    answering: str
    """The provider of the model that answers: nobody else sees personal data."""
    clock: Clock
    take_out: TakeOut = str

    async def judge(self, candidate: Candidate, terms: JudgeTerms) -> Judgement:
        """A verdict, or a verification error that says which; raises nothing of the provider's."""
        if candidate.is_personal and self.route.adapter.provider != self.answering:
            return find_no_verdict(JudgeFault.PERSONAL)
        left_s = terms.deadline - self.clock.monotonic()
        if left_s <= 0:
            return find_no_verdict(JudgeFault.NO_TIME)
        step = self._write_step(candidate, terms.deadline - min(MARGIN_S_MAX, left_s * 0.1))
        try:
            return read_verdict(await self._call(step))
        except TimeoutError:
            return find_no_verdict(JudgeFault.TIMED_OUT, spend=Spend(1))
        except ModelError as error:
            return self._explain(error, step)

    async def _call(self, step: StepSnapshot) -> ModelReply:
        left_s = step.deadline - self.clock.monotonic()
        async with asyncio.timeout(None if isinf(left_s) else left_s):
            return await self.route.adapter.acomplete(step)

    def _explain(self, error: ModelError, step: StepSnapshot) -> Judgement:
        is_late = self.clock.monotonic() >= step.deadline - 0.01
        fault = JudgeFault.TIMED_OUT if is_late else JudgeFault.UNREACHABLE
        if isinstance(error, Refused):
            fault = JudgeFault.REFUSED
        plain = error.plain if isinstance(error, ProviderError) else str(error)
        return find_no_verdict(fault, plain, Spend(1))

    def _write_step(self, candidate: Candidate, deadline: float) -> StepSnapshot:
        turn = candidate.turn
        return StepSnapshot(
            model=self.route.model,
            adapter=self.route.adapter,
            plan=_NO_TOOLS,
            system=RUBRIC,
            messages=(Message("user", (Text(write_case(candidate, self.take_out)),)),),
            session_id=turn.session_id if turn is not None else SessionId(""),
            turn_id=turn.turn_id if turn is not None else TurnId(""),
            step=0,
            deadline=deadline,
            output_tokens_max=min(VERDICT_TOKENS_MAX, self.route.output_tokens_max),
            may_call_tools=False,
            answer_schema=VERDICT_SCHEMA,
        )
