"""The judge that is a model: what it asks, whom it does not ask, and how an outage is told."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from fakes.loop_fakes import HandClock
from fakes.scripted_judge import ScriptedJudge
from fakes.scripted_model import Scripted, ScriptedModel, say, write_verdict
from structlog.testing import capture_logs

from geode.llm.errors import BadRequest, Overloaded, ProviderError, Refused, Unavailable
from geode.llm.routes import ModelRoute
from geode.messages import Mode, SessionId, TerminationReason, TurnId
from geode.ports import Clock, SystemClock
from geode.steps import Spend, StepSnapshot
from geode.verify.judge import Judge, JudgeOutcome, JudgeTerms
from geode.verify.llm_judge import LlmJudge
from geode.verify.rubric import RUBRIC, VERDICT_SCHEMA
from geode.verify.structure import Candidate, CandidateTurn, Observation
from geode.verify.watch import FAIR_S, WatchedJudge

R = TerminationReason
CANDIDATE = Candidate(
    "what is up",
    "the draft",
    R.NATURAL,
    turn=CandidateTurn(SessionId("s1"), TurnId("t1"), Mode.DAEMON),
)
PERSONAL = replace(CANDIDATE, observations=(Observation("memory", "x", is_personal=True),))
TERMS = JudgeTerms(2000.0)


def bind(model: ScriptedModel, *, answering: str = "scripted", clock: Clock | None = None):
    route = ModelRoute(model, "scripted/judge", "judge", 100_000, 8_000)
    return LlmJudge(route, answering, clock or HandClock())


async def test_judge_asks_once_without_tools_by_its_own_model_and_schema() -> None:
    model = ScriptedModel()

    judgement = await bind(model).judge(CANDIDATE, TERMS)

    (step,) = model.judged
    assert judgement.outcome is JudgeOutcome.PASSED
    assert (step.model, step.system, step.answer_schema) == ("judge", RUBRIC, VERDICT_SCHEMA)
    assert (step.plan.tools, step.may_call_tools) == ((), False)
    assert (step.session_id, step.turn_id) == ("s1", "t1")
    assert step.deadline < TERMS.deadline
    (message,) = step.messages
    assert "the draft" in message.text


async def test_personal_candidate_goes_to_no_other_provider() -> None:
    model = ScriptedModel()

    judgement = await bind(model, answering="another").judge(PERSONAL, TERMS)

    assert model.judged == []
    assert judgement.outcome is JudgeOutcome.VERIFICATION_ERROR
    assert judgement.misses == ("personal_data_omitted",)
    assert judgement.spend == Spend()


async def test_personal_candidate_is_judged_by_the_provider_that_answered() -> None:
    assert (await bind(ScriptedModel()).judge(PERSONAL, TERMS)).outcome is JudgeOutcome.PASSED


async def test_judge_is_not_asked_without_time() -> None:
    model = ScriptedModel()

    judgement = await bind(model).judge(CANDIDATE, JudgeTerms(1000.0))

    assert (judgement.misses, model.judged) == (("no_time_left",), [])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Overloaded(), "judge_unreachable"),
        (Unavailable(), "judge_unreachable"),
        (BadRequest(detail="quotes the draft"), "judge_unreachable"),
        (Refused(), "judge_refused"),
    ],
)
async def test_failed_call_is_no_verdict_and_the_provider_is_not_quoted(
    error: ProviderError, code: str
) -> None:
    model = ScriptedModel()
    model.verdicts = [error]

    judgement = await bind(model).judge(CANDIDATE, TERMS)

    assert judgement.outcome is JudgeOutcome.VERIFICATION_ERROR
    assert (judgement.misses, judgement.spend.calls) == ((code,), 1)
    assert "draft" not in judgement.reflection


async def test_judge_that_never_answers_ends_before_its_caller_gives_up() -> None:
    clock = SystemClock()
    model = ScriptedModel()

    async def hang(_step: StepSnapshot):
        await asyncio.Event().wait()
        raise AssertionError

    model.verdicts = [hang]
    async with asyncio.timeout(0.2):
        judgement = await bind(model, clock=clock).judge(
            CANDIDATE, JudgeTerms(clock.monotonic() + 0.1)
        )

    assert judgement.misses == ("judge_timed_out",)


async def test_call_that_used_up_its_time_timed_out_whatever_it_says() -> None:
    clock = HandClock()
    model = ScriptedModel()

    def use_up(_step: StepSnapshot):
        clock.now_s = 1999.5
        raise Unavailable(detail="no whole answer within the time that was left")

    model.verdicts = [use_up]

    assert (await bind(model, clock=clock).judge(CANDIDATE, TERMS)).misses == ("judge_timed_out",)


async def watch(judge: Judge, *, granted_s: float = 60.0) -> WatchedJudge:
    watched = WatchedJudge(judge, "scripted/judge", HandClock())
    await watched.judge(CANDIDATE, JudgeTerms(1000.0 + granted_s))
    return watched


async def ask(watched: WatchedJudge) -> None:
    await watched.judge(CANDIDATE, TERMS)


async def test_outage_is_told_once_and_comes_off_with_the_next_verdict() -> None:
    model = ScriptedModel()
    model.verdicts = [Overloaded(detail="the draft"), Overloaded(), write_verdict("miss")]
    with capture_logs() as logs:
        watched = await watch(bind(model))
        first = watched.degraded
        await ask(watched)
        second = watched.degraded
        await ask(watched)

    assert "scripted/judge does not answer since 1970-01-01 00:16 UTC; 1 answer " in first[0]
    assert "2 answers" in second[0]
    assert watched.degraded == []
    assert [line["event"] for line in logs] == ["judge_out", "judge_back"]
    assert "draft" not in str([logs, first, second])


@pytest.mark.parametrize("verdict", [say("garbage"), Unavailable()], ids=["garbage", "down"])
async def test_judge_without_a_verdict_is_out(verdict: Scripted) -> None:
    model = ScriptedModel()
    model.verdicts = [verdict]

    assert (await watch(bind(model))).missed == 1


async def test_judge_that_declines_one_answer_is_not_out() -> None:
    model = ScriptedModel()
    model.verdicts = [Overloaded(), Refused()]
    watched = await watch(bind(model))

    await ask(watched)

    assert watched.degraded == []


async def test_judge_that_may_not_be_asked_says_nothing_of_its_health() -> None:
    model = ScriptedModel()
    watched = WatchedJudge(bind(model, answering="another"), "scripted/judge", HandClock())

    await watched.judge(PERSONAL, TERMS)

    assert watched.degraded == []


@pytest.mark.parametrize(("granted_s", "missed"), [(FAIR_S - 1, 0), (FAIR_S + 1, 1)])
async def test_only_a_fair_time_makes_lateness_an_outage(granted_s: float, missed: int) -> None:
    clock = HandClock()
    model = ScriptedModel()

    def use_up(_step: StepSnapshot):
        clock.now_s += granted_s
        raise Unavailable

    model.verdicts = [use_up]
    watched = WatchedJudge(bind(model, clock=clock), "scripted/judge", clock)

    await watched.judge(CANDIDATE, JudgeTerms(clock.now_s + granted_s))

    assert watched.missed == missed


async def test_error_of_any_judge_becomes_no_verdict() -> None:
    watched = WatchedJudge(ScriptedJudge([Overloaded()]), "scripted/judge", HandClock())

    judgement = await watched.judge(CANDIDATE, TERMS)

    assert judgement.misses == ("judge_unreachable",)
    assert watched.missed == 1
