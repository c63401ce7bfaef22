"""The judge over the real client and a strict server: one verdict, or none that could pass."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Answer, Failure, Scripted, text, thinking, tool_use
from channels.rehearsal.model_http import API_KEY
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.retry import RetryPolicy
from geode.llm.routes import ModelRoute
from geode.messages import TerminationReason
from geode.ports import SystemClock
from geode.reply.redaction import Redactor
from geode.verify.judge import Judgement, JudgeOutcome, JudgeTerms
from geode.verify.llm_judge import LlmJudge
from geode.verify.rubric import VERDICT_SCHEMA
from geode.verify.structure import Candidate, Observation

MODEL = "claude-sonnet-5"
SECRET = "swordfish-of-the-service"
CANDIDATE = Candidate(
    "Is the report written?",
    f"Yes, it stands in report.md. {'x' * 40_000} The end.",
    TerminationReason.NATURAL,
    (Observation("write_file", f"wrote report.md with {SECRET}"),),
)


def verdict(**changes: object) -> Answer:
    body = {"rubric_misses": [], "passed": True, "reflection": "", "retry_worthwhile": False}
    return Answer([text(orjson.dumps({**body, **changes}).decode())])


FAILED = verdict(
    passed=False, rubric_misses=["no source"], reflection="Name it.", retry_worthwhile=True
)
UNUSABLE = {
    "no JSON": (Answer([text("It passes.")]), "judge_malformed"),
    "text around it": (Answer([text('Sure: {"passed": true}')]), "judge_malformed"),
    "a key is missing": (Answer([text('{"passed": true}')]), "judge_malformed"),
    "a key twice": (
        Answer(
            [
                text(
                    '{"passed": false, "passed": true, "rubric_misses": [], "reflection": "", '
                    '"retry_worthwhile": false}'
                )
            ]
        ),
        "judge_malformed",
    ),
    "it contradicts itself": (verdict(rubric_misses=["but"]), "judge_malformed"),
    "nothing": (Answer([]), "judge_malformed"),
    "cut": (Answer([text('{"passed": tr')], stop_reason="max_tokens"), "judge_malformed"),
    "refused": (Answer([], stop_reason="refusal"), "judge_refused"),
    "a call": (
        Answer([tool_use("run_bash", {"command": "true"})], stop_reason="tool_use"),
        "judge_malformed",
    ),
    "overloaded": (Failure(529, "overloaded_error", "busy"), "judge_unreachable"),
    "broken": (Failure(500, "api_error", "oops"), "judge_unreachable"),
    "no key": (Failure(401, "authentication_error", "who"), "judge_unreachable"),
    "too slow": (Answer(wait_s=5.0), "judge_timed_out"),
    "dropped": (Answer([text("{}")], cut_after=1), "judge_unreachable"),
}


@asynccontextmanager
async def judging(*verdicts: Scripted) -> AsyncIterator[tuple[RehearsalModel, LlmJudge]]:
    async with RehearsalModel() as server:
        server.verdicts = list(verdicts)
        clock = SystemClock()
        settings = AnthropicSettings(API_KEY, server.url)
        adapter = AnthropicAdapter(settings, clock, RetryPolicy(attempts_max=1))
        route = ModelRoute(adapter, f"anthropic/{MODEL}", MODEL, 100_000, 8_000)
        try:
            yield server, LlmJudge(route, "anthropic", clock, Redactor([SECRET]).take_out)
        finally:
            await adapter.aclose()


async def ask(judge: LlmJudge, seconds: float = 20.0) -> Judgement:
    return await judge.judge(CANDIDATE, JudgeTerms(judge.clock.monotonic() + seconds))


async def test_request_has_the_schema_the_whole_answer_no_tool_and_no_secret() -> None:
    async with judging(verdict()) as (server, judge):
        found = await ask(judge)

    (asked,) = server.judged
    assert found.outcome is JudgeOutcome.PASSED
    assert asked.body["output_config"]["format"]["schema"] == VERDICT_SCHEMA
    assert asked.body["model"] == MODEL
    assert "tools" not in asked.body
    raw = asked.raw.decode()
    assert "x" * 40_000 in raw
    assert "The end." in raw
    assert SECRET not in raw
    assert server.refusals == []


async def test_tokens_and_cost_of_a_verdict_are_counted() -> None:
    async with judging(FAILED) as (_, judge):
        found = await ask(judge)

    assert (found.outcome, found.misses) == (JudgeOutcome.FAILED, ("no source",))
    assert (found.reflection, found.is_retry_worthwhile) == ("Name it.", True)
    assert (found.spend.calls, found.spend.usage.output_tokens) == (1, 5)
    assert found.spend.cost_micro_usd


async def test_thought_before_the_verdict_is_no_part_of_it() -> None:
    answer = verdict()
    thought = Answer([thinking("hm", "sig"), *answer.blocks])
    async with judging(thought) as (_, judge):
        assert (await ask(judge)).outcome is JudgeOutcome.PASSED


@pytest.mark.parametrize(("answer", "code"), UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_what_is_no_verdict_never_passes_and_has_a_name(answer: Scripted, code: str) -> None:
    async with judging(answer) as (server, judge):
        found = await ask(judge, seconds=1.0 if code == "judge_timed_out" else 20.0)

        assert found.outcome is JudgeOutcome.VERIFICATION_ERROR
        assert found.misses == (code,)
        assert found.reflection
        assert len(server.judged) == 1


async def test_server_that_is_gone_gives_no_verdict() -> None:
    async with judging() as (server, judge):
        await server.stop()
        found = await asyncio.wait_for(ask(judge), 15)

    assert found.misses == ("judge_unreachable",)
