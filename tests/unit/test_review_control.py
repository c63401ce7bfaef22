"""A review of a chat thread that is decided on the command line ends its card and goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from fakes.commanding import make_command
from fakes.review_room import OPERATOR, RELEASE, ReviewRoom, open_review_room
from fakes.scripted_judge import FAILED
from fakes.scripted_model import say

from geode.errors import ControlError
from geode.messages import SessionId
from geode.serve.review_control import ReviewControl
from geode.store.review_tables import reviews
from geode.store.timeline import read_last

SECRET = "hunter2hunter2"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[ReviewRoom]:
    async with open_review_room(tmp_path) as opened:
        await opened.judge_answers([FAILED], say("the draft"))
        yield opened


async def decide(place: ReviewRoom, woken: list[SessionId] | None = None, **told: str) -> Any:
    """What `geode reviews decide` is answered for the one review there is."""
    (review_id,) = await place.room.rows(reviews.c.id)
    go_on = (woken if woken is not None else []).append
    control = ReviewControl(place.room.store, lambda text: text.replace(SECRET, "…"), go_on)
    return await control.verbs["reviews.decide"]({"id": review_id, **told})


async def test_release_ends_the_card_tells_the_asker_and_wakes_the_session(
    place: ReviewRoom,
) -> None:
    seen, woken = deepcopy(place.open_cards()[0]), list[SessionId]()

    told = await decide(place, woken, decision="release", name="Ada")
    await place.go_on()

    assert (told["state"], told["place"]) == ("released", "loop/T1/C1/0000000001")
    assert set(woken) == {await place.room.session_id()}
    assert place.open_cards() == []
    assert await place.room.said("answer") == ["the draft"]
    (said,) = await place.room.said("review_decided")
    assert "Ada on the command line" in said
    late = await place.decide(RELEASE, post=seen)
    assert (late.outcome, late.reason) == ("refused", "card.decided")


async def test_words_reach_the_agent_without_secrets_and_stand_in_the_timeline(
    place: ReviewRoom,
) -> None:
    place.worker.model.replies.append(say("the second draft"))

    await decide(place, decision="revise", words=f"Leave {SECRET} out.", name="Ada")
    await place.go_on()

    assert "Leave … out." in place.worker.model.steps[-1].messages[-1].text
    session_id = await place.room.session_id()
    (entry,) = await place.room.store.read(
        lambda tx: read_last(tx, session_id, "review_decided", 5)
    )
    assert (entry.body["by"], entry.body["words"]) == ("operator:Ada", "Leave … out.")
    assert await place.room.said("answer") == ["the second draft"]


async def test_review_whose_turn_was_stopped_cannot_be_decided(place: ReviewRoom) -> None:
    await place.room.door.accept(make_command("stop", OPERATOR))
    await place.go_on()

    with pytest.raises(ControlError, match=r"decided already, by runtime.*was dropped"):
        await decide(place, decision="release")
    assert "the draft" not in "".join(post.text for post in place.room.platform.posted)


async def test_words_of_a_release_are_nobodys(place: ReviewRoom) -> None:
    await decide(place, decision="release", words="psst")
    await place.go_on()

    assert await place.room.rows(reviews.c.words) == [""]
