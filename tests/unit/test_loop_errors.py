"""Model failures become ends of a turn, each with a sentence for the person."""

from __future__ import annotations

import pytest
from fakes.loop_fakes import LoopRoom, user
from fakes.scripted_model import say

from geode.errors import ModelError
from geode.llm.errors import (
    BadRequest,
    Billing,
    ContextOverflow,
    Overloaded,
    RateLimited,
    Refused,
    Unauthorised,
    Unavailable,
)
from geode.loop.state import TurnStart
from geode.loop.termination import describe_end, is_deliverable
from geode.messages import DELIVERABLE, TerminationReason

R = TerminationReason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RateLimited(240.0), R.PROVIDER_ERROR),
        (Overloaded(), R.PROVIDER_ERROR),
        (Unavailable(), R.PROVIDER_ERROR),
        (Unauthorised(), R.PROVIDER_ERROR),
        (BadRequest(), R.PROVIDER_ERROR),
        (Billing(), R.BILLING_ERROR),
        (Refused(), R.MODEL_REFUSAL),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ModelError) else "",
)
async def test_model_error_ends_the_turn_with_its_own_sentence(
    error: ModelError, reason: TerminationReason
) -> None:
    room = LoopRoom([error])

    end = await room.run()

    assert end.reason is reason
    assert end.detail == str(error)
    assert end.text == ""
    assert [e.kind for e in end.entries] == ["model_error"]


async def test_adapter_timeout_of_its_own_is_a_provider_error() -> None:
    room = LoopRoom([TimeoutError()])

    end = await room.run()

    assert end.reason is R.PROVIDER_ERROR


async def test_overflow_is_answered_by_one_compaction() -> None:
    history = tuple(user(f"message {n} " + "words " * 200) for n in range(8))
    room = LoopRoom([ContextOverflow(), say("a summary"), say("answer")])

    end = await room.run(TurnStart(history))

    assert end.text == "answer"
    assert end.state.summary == "a summary"
    assert len(room.model.steps[2].messages) < len(room.model.steps[0].messages)


async def test_second_overflow_is_exhaustion_with_the_way_out() -> None:
    history = tuple(user(f"message {n} " + "words " * 200) for n in range(8))
    room = LoopRoom([ContextOverflow(), say("a summary"), ContextOverflow()])

    end = await room.run(TurnStart(history))

    assert end.reason is R.CONTEXT_EXHAUSTED
    assert "/new" in describe_end(end.reason, end.detail)
    assert len(room.model.steps) == 3


@pytest.mark.parametrize("reason", list(TerminationReason))
def test_every_reason_is_described_in_whole_sentences(reason: TerminationReason) -> None:
    told = describe_end(reason)

    assert told.endswith(".")
    assert told[0].isupper()
    assert len(told.split(". ")) >= 2 or told.count(".") >= 2
    assert "_" not in told
    assert is_deliverable(reason) == (reason in DELIVERABLE)


def test_detail_stands_between_what_happened_and_what_to_do() -> None:
    told = describe_end(R.PROVIDER_ERROR, "The key was refused.")

    assert "answer. The key was refused. Try again" in told


def test_detail_that_says_what_to_do_is_not_said_twice() -> None:
    told = describe_end(R.PROVIDER_ERROR, "The key was refused; an operator must check it.")

    assert told == "I have no answer. The key was refused; an operator must check it."
