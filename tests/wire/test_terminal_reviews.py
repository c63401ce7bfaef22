"""At the terminal a withheld answer is a mark over the wire, until its owner decides."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from fakes.scripted_judge import BROKEN, FAILED, PASSED
from fakes.scripted_model import say
from fakes.terminal_world import TerminalWorld, has_answer, open_terminal

from geode.cli.chat_local import open_line
from geode.cli.chat_talk import Lines, Talk
from geode.errors import ControlError
from geode.messages import Mode
from geode.reply.sentences import HELD_FOR_REVIEW
from geode.store.review_tables import reviews
from geode.store.tables import cards, messages, sessions, turns

DRAFT = "the unreviewed words"
MARK = "EXTERNAL_VERIFICATION_REQUIRED"


async def escalate(world: TerminalWorld) -> dict[str, str]:
    """Ask something whose answer fails its check; what the caller is told of it."""
    said = await world.say("Tell me")
    return await world.settle(said["id"])


async def hear_all(world: TerminalWorld) -> str:
    """Everything that a client of the socket is told without asking for the answer itself."""
    (session,) = await world.column(sessions.c.id)
    heard = [
        await world.ask("open", name="main"),
        await world.ask("listen", name="main", wait_s=0),
        await world.ask_control("status"),
        await world.ask_control("sessions.list"),
        await world.ask_control("sessions.show", id=session),
        await world.ask_control("effects.list"),
        await world.ask_control("reviews.list"),
    ]
    return json.dumps(heard)


async def test_withheld_answer_is_an_empty_one_with_a_mark(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say(DRAFT)], verdicts=[FAILED]) as world:
        asking = await escalate(world)

        (review_id,) = await world.column(reviews.c.id)
        assert asking == {
            "state": "awaiting",
            "reason": "external_verification_required",
            "termination": MARK,
            "verification": "",
            "review": review_id,
            "message_ids": [],
        }
        assert await world.column(sessions.c.state) == ["awaiting_review"]
        assert await world.column(cards.c.id) == []


async def test_nothing_of_a_withheld_answer_leaves_before_it_is_asked_for(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say(DRAFT)], verdicts=[FAILED]) as world:
        await escalate(world)

        heard = await hear_all(world)
        (review_id,) = await world.column(reviews.c.id)
        shown = await world.ask_control("reviews.show", id=review_id)

        assert any(DRAFT in text for text in await world.column(messages.c.body))
        assert DRAFT not in heard
        assert review_id in heard
        assert shown["candidate"] == DRAFT


async def test_person_is_told_how_to_look_and_to_decide(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say(DRAFT)], verdicts=[FAILED]) as world:
        await escalate(world)

        rows = await world.watch(lambda rows: any(r["kind"] == "notice" for r in rows))
        (told,) = [row["markdown"] for row in rows if row["kind"] == "notice"]
        (review_id,) = await world.column(reviews.c.id)
        assert f"geode reviews show {review_id}" in told
        assert f"geode reviews decide {review_id}" in told


async def test_released_answer_goes_on_in_the_conversation(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say(DRAFT), say("More")], verdicts=[FAILED]) as world:
        said = await world.say("Tell me")
        asking = await world.settle(said["id"])

        decided = await world.ask_control(
            "reviews.decide", id=asking["review"], decision="release", name="Ada"
        )
        await world.watch(has_answer(DRAFT))
        asking = await world.settle(said["id"])

        assert (decided["state"], decided["decided_by"]) == ("released", "operator:Ada")
        assert (asking["termination"], asking["verification"]) == ("NATURAL", "released")
        await world.say("And?")
        await world.watch(has_answer("More"))
        assert await world.column(sessions.c.state) == ["idle"]


async def test_revision_is_written_by_the_agent(tmp_path: Path) -> None:
    script = [say(DRAFT), say("Sourced words")]
    async with open_terminal(tmp_path, script, verdicts=[FAILED, PASSED]) as world:
        asking = await escalate(world)

        await world.ask_control(
            "reviews.decide", id=asking["review"], decision="revise", words="Name the source."
        )
        await world.watch(has_answer("Sourced words"))

        assert "Name the source." in world.model.steps[-1].messages[-1].text


async def test_message_meanwhile_waits_for_the_same_review(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say(DRAFT), say("More")], verdicts=[FAILED]) as world:
        first = await escalate(world)

        held = await world.say("Something else")
        asking = await world.settle(held["id"])
        assert (asking["state"], asking["review"]) == ("awaiting", first["review"])
        await world.watch(lambda rows: any(r["markdown"] == HELD_FOR_REVIEW for r in rows))

        await world.ask_control(
            "reviews.decide", id=first["review"], decision="reject", words="No."
        )
        await world.watch(has_answer("More"))
        assert await world.column(turns.c.reason) == ["external_verification_required", "natural"]


REFUSED = [
    pytest.param({"decision": "release"}, "needs the argument 'id'", id="no id"),
    pytest.param({"id": "v0", "decision": "release"}, "no review 'v0'", id="unknown id"),
    pytest.param({"id": "v0", "decision": "burn"}, "is decided by release,", id="unknown word"),
    pytest.param({"id": "v0", "decision": "revise"}, "needs words", id="no words"),
    pytest.param({"id": "v0", "decision": "reject", "words": " "}, "needs a reason", id="blank"),
    pytest.param(
        {"id": "v0", "decision": "reject", "words": "x" * 4_001}, "at most 4,000", id="long"
    ),
    pytest.param({"id": "v0", "decision": "release", "name": "a\nb"}, "one line", id="name"),
    pytest.param({"id": "v0", "decision": "release", "hash": "x"}, "no argument", id="more"),
]


@pytest.mark.parametrize(("arguments", "part"), REFUSED)
async def test_decision_that_is_none_is_refused_in_a_sentence(
    tmp_path: Path, arguments: dict[str, str], part: str
) -> None:
    async with open_terminal(tmp_path) as world:
        with pytest.raises(ControlError, match=part):
            await world.ask_control("reviews.decide", **arguments)


async def test_chat_without_a_daemon_decides_over_its_own_line(tmp_path: Path) -> None:
    script = [say(DRAFT)]
    async with open_terminal(tmp_path, script, mode=Mode.REPL, verdicts=[FAILED]) as world:
        line = open_line(world.daemon)
        talk = Talk(Lines(line, line), "main", str)
        await talk.open(0)
        await talk.say("Tell me")
        async with asyncio.timeout(10):
            review = await anext(news.review async for news in talk.listen() if news.review)
            shown = await talk.show_review(review["id"])
            await talk.decide_review(review["id"], "release", "")
            await anext(news async for news in talk.listen() if not news.review)

        assert set(review) == {"id", "outcome"}
        assert shown["candidate"] == DRAFT
        await world.watch(has_answer(DRAFT))


async def test_of_two_decisions_at_once_one_counts(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say(DRAFT)], verdicts=[FAILED]) as world:
        review_id = (await escalate(world))["review"]
        both = [
            world.ask_control("reviews.decide", id=review_id, decision="release", name=name)
            for name in ("Ada", "Bob")
        ]
        ends = await asyncio.gather(*both, return_exceptions=True)

        assert sorted(type(end).__name__ for end in ends) == ["ControlError", "dict"]
        await world.watch(has_answer(DRAFT))
        assert await world.column(turns.c.verification) == ["released"]


async def test_review_is_decided_once_and_judged_again_only_after_a_failed_check(
    tmp_path: Path,
) -> None:
    script = [say(DRAFT), say("Fine")]
    async with open_terminal(tmp_path, script, verdicts=[FAILED, BROKEN, PASSED]) as world:
        first = (await escalate(world))["review"]
        with pytest.raises(ControlError, match="only an answer whose check failed"):
            await world.ask_control("reviews.decide", id=first, decision="judge_again")
        await world.ask_control("reviews.decide", id=first, decision="reject", words="No.")
        with pytest.raises(ControlError, match=r"decided already, by operator:.*was rejected"):
            await world.ask_control("reviews.decide", id=first, decision="release")

        second = (await escalate(world))["review"]
        await world.ask_control("reviews.decide", id=second, decision="judge_again")
        await world.watch(has_answer("Fine"))
