"""A configured model answers in the thread, and its failures are one plain sentence there."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from fakes.town import answers, running_daemon

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Answer, Failure, redacted_thinking, text, tool_use
from channels.rehearsal.slack import RehearsalSlack

pytestmark = pytest.mark.timeout(60)
MODEL = """
[agent]
model = "anthropic/claude-opus-5-5"

[providers.anthropic]
api_key = "env:ANTHROPIC_API_KEY"
base_url = "{url}"
"""


async def test_anthropic_model_works_with_tools_and_answers_in_the_thread(tmp_path: Path) -> None:
    look = Answer([redacted_thinking("x9"), tool_use("list_files", {"path": "."})], "tool_use")
    done = Answer([text("There is **nothing** yet.")])
    async with RehearsalModel(look, done) as model, RehearsalSlack() as slack:
        async with running_daemon(slack, tmp_path, more=MODEL.format(url=model.url)):
            post = await slack.say("<@UBOT> what is here?")
            await slack.wait_for(lambda: answers(slack, post.ts))

        assert answers(slack, post.ts) == ["There is *nothing* yet."]
        assert len(model.requests) == 2
        assert model.refusals == []
        assert slack.counters()["refused"] == {}


@pytest.mark.parametrize(
    ("failure", "part"),
    [
        pytest.param(Failure(401, "authentication_error", "invalid x-api-key"), "key", id="key"),
        pytest.param(Failure(402, "billing_error", "no credit"), "billing", id="billing"),
        pytest.param(Failure(404, "not_found_error", "model: no such model"), "model", id="model"),
    ],
)
async def test_model_that_refuses_us_is_one_sentence_in_the_thread(
    failure: Failure, part: str, tmp_path: Path
) -> None:
    async with RehearsalModel(fallback=failure) as model, RehearsalSlack() as slack:
        async with running_daemon(slack, tmp_path, more=MODEL.format(url=model.url)):
            post = await slack.say("<@UBOT> hello")
            await slack.wait_for(lambda: answers(slack, post.ts))

        assert len(answers(slack, post.ts)) == 1
        assert part in answers(slack, post.ts)[0]
        assert len(model.requests) == 1


async def test_unreachable_model_is_one_sentence_in_the_thread(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    async with RehearsalSlack() as slack:
        async with running_daemon(slack, tmp_path, more=MODEL.format(url=url)):
            post = await slack.say("<@UBOT> hello")
            await slack.wait_for(lambda: answers(slack, post.ts), timeout_s=40)

        assert len(answers(slack, post.ts)) == 1
        assert "could not be reached" in answers(slack, post.ts)[0]


async def test_day_limit_of_a_profile_ends_work_with_a_sentence(tmp_path: Path) -> None:
    dear = Answer([text("done")], usage={"input_tokens": 100_000, "output_tokens": 100_000})
    more = MODEL + "[profiles.capped]\ntools = []\ncost_usd_per_day = 2.0\n"
    async with RehearsalModel(fallback=dear) as model, RehearsalSlack() as slack:
        settings = more.format(url=model.url)
        async with running_daemon(slack, tmp_path, more=settings, profile="capped"):
            first = await slack.say("<@UBOT> hello")
            await slack.wait_for(lambda: answers(slack, first.ts))
            second = await slack.say("<@UBOT> hello again")
            await slack.wait_for(lambda: answers(slack, second.ts))

        assert answers(slack, first.ts) == ["done"]
        assert "cost limit" in answers(slack, second.ts)[0]
        assert len(model.requests) == 1
