"""Jev over a real socket: `supported` passes, and nothing else ever does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from fakes.jev_server import KEY, JevServer, answer, serve_jev

from geode.errors import ConfigError
from geode.llm.jev import JevRoute, open_jev
from geode.llm.routes import open_models
from geode.messages import TerminationReason
from geode.ports import SystemClock
from geode.reply.redaction import Redactor
from geode.settings import Settings
from geode.verify.engines import open_judge
from geode.verify.jev_judge import CRITERIA, JevJudge
from geode.verify.judge import Judgement, JudgeOutcome, JudgeTerms
from geode.verify.structure import Candidate, Observation

SECRET = "swordfish-of-the-service"
CANDIDATE = Candidate(
    "Is the report written?",
    f"Yes, it stands in report.md. {'x' * 30_000} The end.",
    TerminationReason.NATURAL,
    (Observation("write_file", f"wrote report.md with {SECRET}"),),
    requirements=("Name the file.",),
)
JEV = {"judgment_engine": "jev"}


def settings_of(url: str, agent: dict[str, Any] | None = None, **more: Any) -> Settings:
    provider = "openrouter" if "openrouter" in str(agent) else "jev"
    providers = {provider: {"api_key": "env:K", "base_url": url}}
    return Settings.model_validate({"agent": agent or JEV, "providers": providers, **more})


def route_to(jev: JevServer, **agent: str) -> JevRoute:
    return open_jev(settings_of(jev.url, {**JEV, **agent}), {"K": KEY})


async def ask(route: JevRoute, candidate: Candidate = CANDIDATE, seconds: float = 5) -> Judgement:
    clock = SystemClock()
    judge = JevJudge(route, clock, Redactor([SECRET]).take_out)
    return await judge.judge(candidate, JudgeTerms(clock.monotonic() + seconds))


@pytest.mark.parametrize("model", ["", "jev/jev-1.13.0", "openrouter/typesafe/jev-1.13"])
async def test_supported_passes_by_either_way(model: str) -> None:
    async with serve_jev() as jev:
        found = await ask(route_to(jev, judge_model=model))

    (asked,) = jev.asked
    assert found.outcome is JudgeOutcome.PASSED
    assert asked["model"] == (model.partition("/")[2] or "jev-1.13.0")
    assert asked["questions"]["verdict"]["criteria"] == dict(CRITERIA)
    assert asked["state"]["answer"] == CANDIDATE.text
    assert asked["state"]["requirements"] == ["Name the file."]
    assert asked["state"]["results"] == [
        {"tool": "write_file", "outcome": "done", "text": "wrote report.md with [redacted]"}
    ]
    assert (found.spend.calls, found.spend.usage.input_tokens) == (1, 120)
    assert found.spend.cost_micro_usd is None, "an unknown price is unknown"


@pytest.mark.parametrize("choice", ["contradicted", "insufficient_evidence"])
async def test_other_words_fail_and_can_be_mended(choice: str) -> None:
    async with serve_jev() as jev:
        jev.replies = [{**answer(choice), "usage": {"input_tokens": 9, "cost": 0.0000123}}]
        found = await ask(route_to(jev))

    assert (found.outcome, found.is_retry_worthwhile) == (JudgeOutcome.FAILED, True)
    assert len(found.misses) == 1
    assert found.reflection
    assert found.spend.cost_micro_usd == 13


UNUSABLE: dict[str, dict[str, Any] | Callable[[], web.StreamResponse]] = {
    "no answers": {"usage": {}},
    "no JSON": lambda: web.Response(text="supported"),
    "a list": lambda: web.json_response([1]),
    "another type": answer(type="text"),
    "another word": answer(choice="supported_mostly"),
    "an option is missing": answer(probabilities={"supported": 1.0}),
    "one more option": answer(
        probabilities={
            "supported": 0.9,
            "contradicted": 0.05,
            "insufficient_evidence": 0.05,
            "other": 0.0,
        }
    ),
    "they sum to more": answer(
        probabilities={"supported": 0.9, "contradicted": 0.9, "insufficient_evidence": 0.0}
    ),
    "not the likeliest": answer(
        probabilities={"supported": 0.1, "contradicted": 0.8, "insufficient_evidence": 0.1}
    ),
    "no number": answer(
        probabilities={"supported": "1", "contradicted": 0, "insufficient_evidence": 0}
    ),
    "a truth value": answer(
        probabilities={"supported": True, "contradicted": False, "insufficient_evidence": False}
    ),
    "confidence beyond one": answer(confidence=1.2),
    "too long": lambda: web.Response(body=b" " * 300_000),
}


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_what_is_no_verdict_never_passes(reply: Any) -> None:
    async with serve_jev() as jev:
        jev.replies = [reply]
        found = await ask(route_to(jev))

        assert found.outcome is JudgeOutcome.VERIFICATION_ERROR
        assert found.misses == ("judge_malformed",)
        assert len(jev.asked) == 1


@pytest.mark.parametrize("status", [301, 400, 401, 402, 404, 429, 500, 503])
async def test_refusals_are_no_verdict_and_name_no_address(status: int) -> None:
    async with serve_jev() as jev:
        jev.replies = [lambda: web.json_response({}, status=status, headers={"Location": "/v2"})]
        found = await ask(route_to(jev))

    assert found.misses == ("judge_unreachable",)
    assert jev.url not in found.reflection
    assert KEY not in found.reflection


async def test_late_and_gone_services_give_no_verdict() -> None:
    async with serve_jev() as jev:
        jev.wait_s = 3.0
        late = await ask(route_to(jev), seconds=0.3)
        route = route_to(jev)
    gone = await ask(route)

    assert (late.misses, gone.misses) == (("judge_timed_out",), ("judge_unreachable",))


async def test_personal_candidate_is_not_sent() -> None:
    private = Candidate("q", "a", TerminationReason.NATURAL, (Observation("x", "y", False, True),))
    async with serve_jev() as jev:
        found = await ask(route_to(jev), private)

    assert found.misses == ("personal_data_omitted",)
    assert jev.asked == []


async def test_settings_choose_it_beside_the_answering_model() -> None:
    async with serve_jev() as jev:
        settings = settings_of(jev.url)
        models = open_models(settings, {"K": KEY}, SystemClock())

    assert models.answering.name == "rehearsal"
    assert models.judge_name == "jev/jev-1.13.0"
    assert [key.reveal() for key in models.keys] == [KEY]
    assert isinstance(open_judge(models, SystemClock(), str), JevJudge)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"agent": {"judgment_engine": "jev", "judge_model": "anthropic/x"}}, "engine is jev"),
        ({"agent": {"judge_model": "jev/jev-1.13.0"}}, 'judgment_engine = "jev" only'),
        ({"agent": {"judge_model": "jev/jev-1.14"}}, "not built"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(ValueError, match=part):
        Settings.model_validate(changes)


def test_cost_limit_without_a_price_is_refused() -> None:
    capped = settings_of("http://127.0.0.1:1", limits={"cost_usd_per_turn": 1.0})

    with pytest.raises(ConfigError, match=r"no price of jev/jev-1\.13\.0 is known"):
        open_jev(capped, {"K": KEY})


def test_missing_key_is_named() -> None:
    with pytest.raises(ConfigError, match="JEV_API_KEY"):
        open_jev(Settings.model_validate({"agent": JEV}), {})
