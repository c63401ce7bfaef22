"""An answer that fails its check is delivered only once a person released exactly it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.commanding import make_command
from fakes.review_room import (
    AGAIN,
    OPERATOR,
    REJECT,
    RELEASE,
    REVISE,
    SHOW,
    ReviewRoom,
    open_review_room,
)
from fakes.scripted_judge import BROKEN, FAILED, PASSED, RETRY
from fakes.scripted_model import call, say
from sqlalchemy import update

from geode.store.review_tables import reviews
from geode.store.tables import inbox, turns


class Died(BaseException):
    """No part of the service catches it, as none catches a kill."""


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[ReviewRoom]:
    async with open_review_room(tmp_path) as opened:
        yield opened


def texts(place: ReviewRoom) -> str:
    """All that the thread was shown, card texts included."""
    return "\n".join(post.text for post in place.room.platform.posted)


async def test_failed_candidate_waits_and_nothing_of_it_is_shown(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], say("the secret draft"))

    assert await place.state() == "awaiting_review"
    assert await place.review_states() == ["open"]
    assert "secret draft" not in texts(place)
    assert "names no source" in texts(place)
    (told,) = await place.room.said("review_waits")
    assert "waits for an operator" in told
    assert list(place.open_cards()[0].buttons) == [RELEASE, REVISE, REJECT, SHOW]


async def test_released_answer_is_delivered_once_without_another_model_call(
    place: ReviewRoom,
) -> None:
    await place.judge_answers([FAILED], say("the draft"))

    accepted = await place.decide(RELEASE)

    assert accepted.answer == "Recorded. The answer was released."
    await place.go_on()
    assert await place.state() == "idle"
    assert await place.room.said("answer") == ["the draft"]
    assert len(place.worker.model.steps) == 1
    assert await place.room.rows(turns.c.reason, turns.c.verification) == [("natural", "released")]
    assert await place.room.rows(inbox.c.state) == ["done"]
    (told,) = await place.room.said("review_decided")
    assert "`U9`" in told


async def test_rejected_answer_is_told_with_its_reason(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], say("the draft"))

    await place.decide(REJECT, words="too vague")
    await place.go_on()

    (answer,) = await place.room.said("answer")
    assert "did not release it" in answer
    assert "too vague" in answer
    assert "draft" not in answer
    assert await place.room.rows(turns.c.reason, turns.c.verification) == [
        ("external_verification_required", "rejected")
    ]
    assert await place.state() == "idle"


async def test_next_turn_is_told_that_the_answer_was_rejected(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], say("the draft"))
    await place.decide(REJECT, words="too <runtime-note> vague")
    await place.go_on()

    await place.judge_answers([PASSED], say("better"))

    told = "\n".join(each.text for each in place.worker.model.steps[-1].messages)
    assert "did not release it. too &lt;runtime-note> vague" in told
    assert "waits for a person" not in told


async def test_words_of_the_operator_become_the_next_attempt(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED, PASSED], say("first draft"), say("second draft"))

    await place.decide(REVISE, words="name <runtime-note> the source")
    await place.go_on()

    note = place.worker.model.steps[-1].messages[-1].text
    assert "name &lt;runtime-note> the source" in note
    assert await place.room.said("answer") == ["second draft"]
    assert await place.review_states() == ["revising"]


async def test_revision_that_fails_again_waits_again_without_automatic_repair(
    place: ReviewRoom,
) -> None:
    await place.judge_answers([FAILED, RETRY], say("first"), say("second"))

    await place.decide(REVISE, words="better")
    await place.go_on()

    assert await place.state() == "awaiting_review"
    assert await place.review_states() == ["revising", "open"]
    await place.decide(RELEASE)
    await place.go_on()
    assert await place.room.said("answer") == ["second"]


async def test_failed_judge_offers_another_judgement(place: ReviewRoom) -> None:
    await place.judge_answers([BROKEN], say("fine"))
    assert list(place.open_cards()[0].buttons) == [RELEASE, REVISE, REJECT, AGAIN, SHOW]

    await place.decide(AGAIN)
    await place.go_on()

    assert await place.room.said("answer") == ["fine"]
    assert len(place.worker.model.steps) == 1
    assert [each.text for each in place.judge.seen] == ["fine", "fine"]
    assert await place.room.rows(turns.c.verification) == ["passed"]


async def test_repairs_are_bounded_and_charged(place: ReviewRoom) -> None:
    await place.judge_answers([RETRY, RETRY, RETRY], say("one"), say("two"), say("three"))

    assert await place.state() == "awaiting_review"
    assert [each.text for each in place.judge.seen] == ["one", "two", "three"]
    await place.decide(RELEASE)
    await place.go_on()
    assert await place.room.said("answer") == ["three"]
    assert await place.room.rows(
        turns.c.repairs,
        turns.c.judge_calls,
        turns.c.judge_input_tokens,
        turns.c.judge_cost_micro_usd,
    ) == [(2, 3, 300, 21)]


async def test_attempts_survive_a_crash_between_them(place: ReviewRoom) -> None:
    async def die(step: object) -> object:
        raise Died

    with pytest.raises(Died):
        await place.judge_answers([RETRY], say("one"), die)  # type: ignore[arg-type]
    await place.room.clock.sleep(120)
    place.worker.model.replies = [say("two")]
    await place.go_on()

    assert await place.room.said("answer") == ["two"]
    assert await place.room.rows(turns.c.repairs) == [1]


async def test_only_an_operator_decides_and_only_once(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], say("the draft"))

    refused = await place.decide(RELEASE, who="U2")
    post = place.open_cards()[0]
    decided = await place.decide(REJECT, words="no", post=post)
    late = await place.decide(RELEASE, post=post)

    assert (refused.outcome, decided.outcome, late.outcome) == ("refused", "decided", "refused")
    assert "is decided already" in late.answer


async def test_stop_of_an_operator_drops_the_answer(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], say("the draft"))

    stopped = await place.room.door.accept(make_command("stop", OPERATOR))
    await place.go_on()

    assert stopped.outcome == "answered"
    assert await place.review_states() == ["withdrawn"]
    assert await place.state() == "idle"
    assert "draft" not in texts(place)


async def test_candidate_that_was_changed_in_the_store_is_never_released(
    place: ReviewRoom,
) -> None:
    await place.judge_answers([FAILED], say("the draft"))
    await place.room.store.write(
        "forge", lambda tx: tx.execute(update(reviews).values(pending_text="forged"))
    )

    await place.decide(RELEASE)
    await place.go_on()

    (answer,) = await place.room.said("answer")
    assert "not the answer that was reviewed" in answer
    assert "forged" not in texts(place)


async def test_tool_results_are_evidence(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], call(("look", {"text": "1"})), say("so it is"))

    (candidate,) = place.judge.seen
    assert [(each.tool, each.is_error) for each in candidate.observations] == [("look", False)]
    assert candidate.request.endswith("</message>")
