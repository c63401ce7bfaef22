"""The judge in a whole daemon over the real client: it repairs, escalates, and sees no secret."""

from __future__ import annotations

from pathlib import Path

import orjson
from fakes.model_town import Town, http_town

from channels.rehearsal.model_answers import Answer, Failure, text
from geode.store.reviews import OPEN

SOUND = {"rubric_misses": [], "passed": True, "reflection": "", "retry_worthwhile": False}
MENDABLE = {
    "rubric_misses": ["It names no source."],
    "passed": False,
    "reflection": "Name the source.",
    "retry_worthwhile": True,
}
BROKEN = Failure(400, "invalid_request_error", "no such field")


def verdict(body: dict[str, object]) -> Answer:
    return Answer([text(orjson.dumps(body).decode())])


async def wait_review(town: Town) -> None:
    """Wait until the thread is told that its answer waits."""
    await town.wait_for(
        lambda: any("waits for an operator" in post.text for post in town.slack.bot_posts())
    )


async def test_failed_verdict_is_repaired_and_only_the_second_answer_is_said(
    tmp_path: Path,
) -> None:
    async with http_town(
        tmp_path, Answer([text("first draft")]), Answer([text("second draft")])
    ) as town:
        town.server.verdicts = [verdict(MENDABLE), verdict(SOUND)]

        post = await town.ask("<@UBOT> write it")

        assert await town.wait_answers(post.ts, 1) == ["second draft"]
        assert "Name the source." in orjson.dumps(town.server.requests[-1].body).decode()
        assert await town.rows("turns", "repairs", "judge_calls") == [(1, 2)]
        assert await town.rows("turns", "verification") == ["passed"]


async def test_broken_judge_escalates_and_its_outage_is_told_until_it_answers(
    tmp_path: Path,
) -> None:
    async with http_town(
        tmp_path, Answer([text("the hidden draft")]), Answer([text("the next answer")])
    ) as town:
        town.server.verdicts = [BROKEN]

        await town.slack.say("<@UBOT> write it")
        await wait_review(town)

        assert await town.rows("reviews", "state", "outcome") == [(OPEN, "verification_error")]
        assert not any("hidden draft" in post.text for post in town.slack.bot_posts())
        (told,) = [each for each in town.daemon.degraded if "judge" in each]
        assert told.startswith("The judge anthropic/")
        assert "1 answer went unjudged" in told
        await town.ask("<@UBOT> and this")
        assert [each for each in town.daemon.degraded if "judge" in each] == []


async def test_judge_is_given_no_secret_of_the_service(tmp_path: Path) -> None:
    async with http_town(tmp_path, fallback=Answer([text("unset")])) as town:
        secret = town.slack.bot_token
        town.server.script = [Answer([text(f"The token is {secret}, as asked.")])]

        await town.ask("<@UBOT> which token?")

        (asked,) = town.server.judged
        assert secret not in asked.raw.decode()
        assert "The token is [redacted], as asked." in asked.raw.decode()
