"""What counts as a verdict, and that nothing else does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from fakes.scripted_model import USAGE, call, say, write_verdict

from geode.steps import ModelReply, Spend, StopCause
from geode.verify.judge import JudgeOutcome
from geode.verify.reading import MISS_CHARS_MAX, MISSES_MAX, REFLECTION_CHARS_MAX, read_verdict

BODY = {"rubric_misses": ["no source"], "passed": False, "reflection": "", "retry_worthwhile": True}


def reply(**changes: Any) -> ModelReply:
    body = BODY | changes
    return say(orjson.dumps({key: body[key] for key in body if body[key] is not ...}).decode())


def test_pass_is_read_with_what_it_cost() -> None:
    judgement = read_verdict(replace(write_verdict(passed=True), cost_micro_usd=9))

    assert judgement.outcome is JudgeOutcome.PASSED
    assert judgement.misses == ()
    assert judgement.spend == Spend(1, USAGE, 9)


def test_failure_is_read_with_misses_reflection_and_whether_to_retry() -> None:
    judgement = read_verdict(reply(reflection="Name it."))

    assert judgement.outcome is JudgeOutcome.FAILED
    assert (judgement.misses, judgement.reflection) == (("no source",), "Name it.")
    assert judgement.is_retry_worthwhile


def test_failure_without_misses_takes_its_reflection_as_the_miss() -> None:
    judgement = read_verdict(reply(rubric_misses=["", " "], reflection="Name it."))

    assert (judgement.outcome, judgement.misses) == (JudgeOutcome.FAILED, ("Name it.",))


def test_texts_of_a_verdict_are_bounded() -> None:
    judgement = read_verdict(reply(rubric_misses=["x" * 5_000] * 50, reflection="y" * 50_000))

    assert len(judgement.misses) == MISSES_MAX
    assert {len(miss) for miss in judgement.misses} == {MISS_CHARS_MAX}
    assert len(judgement.reflection) == REFLECTION_CHARS_MAX


GARBAGE: dict[str, ModelReply] = {
    "no text": say(""),
    "words": say("The answer is fine. passed: true"),
    "text before": say('Here it is: {"passed": true}'),
    "text around": say("```json\n" + reply().message.text + "\n```"),
    "two objects": say(reply().message.text * 2),
    "a list": say("[" + reply().message.text + "]"),
    "true": say("true"),
    "an empty object": say("{}"),
    "no verdict": reply(passed=...),
    "no misses": reply(rubric_misses=...),
    "no retry": reply(retry_worthwhile=...),
    "a further key": reply(score=10),
    "word for a truth": reply(passed="true"),
    "number for a truth": reply(passed=1),
    "null for a truth": reply(passed=None),
    "text for a list": reply(rubric_misses="none"),
    "numbers in the list": reply(rubric_misses=[1]),
    "object for a text": reply(reflection={}),
    "a key twice": say(reply().message.text.replace("{", '{"passed":true,', 1)),
    "cut in the middle": say(reply().message.text[:-8]),
    "endless nesting": say("[" * 100_000),
    "not a number": say('{"passed": NaN}'),
    "passed with misses": reply(passed=True),
    "failed for no reason": reply(rubric_misses=[]),
    "a tool call": call(("list_files", {}), text=write_verdict(passed=True).message.text),
    "a call that stops as an end": call(
        ("list_files", {}), text=write_verdict(passed=True).message.text, stop=StopCause.END
    ),
    **{
        f"stopped by {stop}": say(write_verdict(passed=True).message.text, stop)
        for stop in StopCause
        if stop not in (StopCause.END, StopCause.REFUSAL)
    },
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_anything_else_is_no_verdict_and_its_cost_is_kept(garbage: ModelReply) -> None:
    judgement = read_verdict(replace(garbage, cost_micro_usd=9))

    assert judgement.outcome is JudgeOutcome.VERIFICATION_ERROR
    assert judgement.misses == ("judge_malformed",)
    assert judgement.spend == Spend(1, USAGE, 9)
    assert not judgement.is_retry_worthwhile


def test_refusal_has_a_code_of_its_own_even_with_a_pass_in_it() -> None:
    refused = say(write_verdict(passed=True).message.text, StopCause.REFUSAL)

    assert read_verdict(refused).misses == ("judge_refused",)


def test_words_of_what_is_no_verdict_are_not_repeated() -> None:
    judgement = read_verdict(say("the secret draft says passed"))

    assert "draft" not in judgement.reflection
