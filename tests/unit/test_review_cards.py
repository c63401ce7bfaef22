"""Who sees an answer that waits: reviewers, where the operator wants it, and nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.card_room import HAPPENED, open_card_room, post_card, read_card
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
from fakes.scripted_judge import FAILED, PERSONAL
from fakes.scripted_model import call, say
from fakes.spine_room import BINDING, THREAD

from geode.messages import Thread
from geode.reply import sentences
from geode.reply.review_cards import DAY_US, SHOWN_CHARS_MAX, fence
from geode.session.reminders import Reminders
from geode.settings import Binding
from geode.store.tables import timeline

DESK = Thread("loop", "T1", "REVIEWS", "")
DRAFT = "the quiet `draft`\u202e"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[ReviewRoom]:
    """Reviews are shown in a channel of their own, which nothing serves."""
    async with open_review_room(tmp_path, review_where="T1/REVIEWS") as opened:
        yield opened


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[ReviewRoom]:
    async with open_review_room(tmp_path) as opened:
        yield opened


async def deliver_desk(room: ReviewRoom) -> None:
    session_id = await room.room.session_id(DESK)
    await room.worker.deliver(session_id)


def shown(room: ReviewRoom, thread: Thread) -> str:
    return "\n".join(room.room.platform.texts(thread))


async def test_card_with_the_answer_stands_where_reviewers_read(desk: ReviewRoom) -> None:
    await desk.judge_answers([FAILED], say(DRAFT))
    await deliver_desk(desk)

    (card,) = desk.open_cards()
    assert card.place.thread == DESK
    assert list(card.buttons) == [RELEASE, REVISE, REJECT]
    assert "the quiet `draft`\\u202e" in card.text
    assert "`T1/C1/0000000001`" in card.text
    assert "quiet" not in shown(desk, THREAD)
    assert "waits for an operator" in shown(desk, THREAD)


async def test_operator_decides_there_though_nothing_serves_the_place(desk: ReviewRoom) -> None:
    await desk.judge_answers([FAILED], say("the draft"))
    await deliver_desk(desk)

    stranger = await desk.decide(RELEASE, who="U2")
    decided = await desk.decide(RELEASE)
    await desk.go_on()

    assert (stranger.outcome, stranger.reason) == ("ignored", "access.unbound")
    assert decided.answer == "Recorded. The answer was released."
    assert await desk.room.said("answer") == ["the draft"]


async def test_press_in_a_message_of_its_own_thread_counts_too(desk: ReviewRoom) -> None:
    await desk.judge_answers([FAILED], say("the draft"))
    await deliver_desk(desk)
    (card,) = desk.open_cards()
    press = desk.room.platform.press(card, RELEASE, OPERATOR)

    there = await desk.room.door.accept(replace(press, thread=replace(DESK, thread=card.id)))

    assert there.outcome == "decided"


async def test_long_answer_goes_whole_as_a_file(desk: ReviewRoom) -> None:
    text = "a long answer. " * 400
    await desk.judge_answers([FAILED], call(("look", {"text": "1"})), say(text))
    await deliver_desk(desk)

    (file,) = [post for post in desk.room.platform.posted if post.content]
    assert file.place.thread == DESK
    assert text.strip() in file.content.decode()
    assert "**Evidence 1**: `look`" in file.content.decode()


async def test_show_decides_nothing_and_is_recorded(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], call(("look", {"text": "1"})), say(DRAFT))

    told = await place.decide(SHOW)
    refused = await place.decide(SHOW, who="U2")
    again = await place.decide(SHOW)

    assert told.is_confidential
    assert "the quiet `draft`\\u202e" in told.answer
    assert "done 1" in told.answer
    assert (again.answer, again.is_confidential) == (told.answer, True)
    assert refused.answer == sentences.ONLY_OPERATORS
    assert await place.review_states() == ["open"]
    kinds = await place.room.rows(timeline.c.kind, order=timeline.c.seq)
    assert kinds.count("review_shown") == 2
    assert "quiet" not in shown(place, THREAD)


async def test_personal_answer_is_shown_to_nobody_else(desk: ReviewRoom) -> None:
    await desk.judge_answers([PERSONAL], call(("nothing_known", {})), say("her diary"))
    await deliver_desk(desk)

    (card,) = desk.open_cards()
    told = await desk.decide(SHOW)

    assert list(card.buttons) == [RELEASE, REVISE, REJECT, AGAIN, SHOW]
    for text in (card.text, told.answer, shown(desk, THREAD)):
        assert "diary" not in text
    assert "private chat" in told.answer


async def test_failed_answer_about_personal_data_is_shown_to_its_reviewers(
    desk: ReviewRoom,
) -> None:
    await desk.judge_answers([FAILED], call(("nothing_known", {})), say("the summary"))
    await deliver_desk(desk)

    (card,) = desk.open_cards()
    assert "the summary" in card.text
    assert list(card.buttons) == [RELEASE, REVISE, REJECT]


async def test_very_long_answer_says_where_the_whole_is(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], say("x" * 9_000))

    told = await place.decide(SHOW)

    assert len(told.answer) < 8_000
    assert "2,008 characters of it are left out" in told.answer
    assert "`geode reviews show v" in told.answer


@pytest.mark.parametrize("text", ["\u202e" * 6_900, "`" * 6_990])
async def test_shown_answer_is_bounded_as_it_is_written_out(place: ReviewRoom, text: str) -> None:
    await place.judge_answers([FAILED], say(text))

    told = await place.decide(SHOW)

    assert len(told.answer) < SHOWN_CHARS_MAX + 400
    assert "characters of it are left out" in told.answer


async def test_open_review_is_reminded_once_a_day_and_never_decided(place: ReviewRoom) -> None:
    await place.judge_answers([FAILED], say("the draft"))
    told: list[str] = []
    look = Reminders(place.room.store, place.room.clock, told.append).look

    await look()
    assert told == []
    for day in (1, 2):
        await place.room.clock.sleep(DAY_US / 1_000_000)
        await look()
        await look()
        assert len(told) == day

    words = await place.room.said("review_reminder")
    assert [text.split(" (")[0] for text in words] == [
        "An answer has waited for an operator for 1 day",
        "An answer has waited for an operator for 2 days",
    ]
    assert await place.review_states() == ["open"]


async def test_answer_is_not_shown_where_its_askers_read(tmp_path: Path) -> None:
    # The binding names the category above the channel in which its answers are reviewed.
    async with open_review_room(tmp_path, where="T1/CATEGORY", review_where="T1/C1") as room:
        room.worker.model.replies = [say("the draft")]
        room.judge.add([FAILED])
        await room.room.say("do it", sender="U2", category="CATEGORY")
        await room.go_on()

        (card,) = room.open_cards()
        assert card.place.thread == THREAD
        assert list(card.buttons) == [RELEASE, REVISE, REJECT, SHOW]
        assert not any("the draft" in post.text for post in room.room.platform.posted)


async def test_operator_of_the_reviews_decides_no_other_card_of_their_place(
    tmp_path: Path,
) -> None:
    async with open_card_room(tmp_path) as room:
        post = await post_card(room)
        elsewhere = {**BINDING, "where": "T1/C7", "operators": ["U7"], "review_where": "T1/C1"}
        bindings = tuple(Binding.model_validate(each) for each in (BINDING, elsewhere))
        room.door.follow(room.settings.model_copy(update={"bindings": bindings}))

        press = room.platform.press(post, HAPPENED, "U7")
        told = await room.door.accept(press)
        again = await room.door.accept(press)

        assert (told.outcome, told.reason) == ("refused", "card.unknown")
        assert again.reason == "card.unknown"
        assert (await read_card(room))[0] == "open"


async def test_place_of_reviews_is_one_channel() -> None:
    for where in ("T1/dm", "no place", "@someone", "T1/C1", "T1/C1/1700000000.000100"):
        with pytest.raises(ValueError, match="review_where"):
            Binding.model_validate(
                {
                    "channel": "slack",
                    "where": "T1/C1",
                    "operators": ["U1"],
                    "review_where": where,
                }
            )


def test_reviews_on_the_page_need_a_conversation_of_their_own() -> None:
    room = {"channel": "web", "where": "local/room", "operators": ["ana"]}

    with pytest.raises(ValueError, match="shows conversations only"):
        Binding.model_validate({**room, "review_where": "local/desk"})
    kept = Binding.model_validate({**room, "review_where": "local/desk/reviews"})
    assert kept.review_where == "local/desk/reviews"


@pytest.mark.parametrize("text", ["plain", "``` closes ```", "````", "`a`"])
def test_fence_cannot_be_closed_by_its_text(text: str) -> None:
    bar, *inner, last = fence(text).split("\n")

    assert bar == last
    assert not any(line.startswith(bar) for line in inner)
