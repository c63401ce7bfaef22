"""Answers that wait for a person, as an operator has them at a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.geode_command import Ended, run_geode
from fakes.scripted_judge import BROKEN, FAILED, PASSED
from fakes.scripted_model import call, say
from fakes.terminal_person import TerminalPerson, sit
from fakes.terminal_world import TerminalWorld, has_answer, open_terminal
from sqlalchemy import update

from geode.store.review_tables import reviews
from geode.store.tables import outbox, sessions, threads

pytestmark = pytest.mark.timeout(90)
DRAFT = "The draft\x1b]0;owned\x07 of\n| an answer\u202e"
QUIET = ("seen by nobody", "held back")


async def geode(folder: Path, *arguments: str) -> Ended:
    return await run_geode({"GEODE_HOME": str(folder)}, *arguments)


async def escalate(world: TerminalWorld) -> str:
    """Ask something whose answer fails its check; the id of its review."""
    said = await world.say("Tell me")
    return str((await world.settle(said["id"]))["review"])


async def test_verbs_without_any_state_answer_and_make_nothing(tmp_path: Path) -> None:
    home = tmp_path / "state"
    environ = {"GEODE_HOME": str(home)}

    listed = await run_geode(environ, "reviews", "list", cwd=tmp_path)
    as_json = await run_geode(environ, "reviews", "list", "--json", cwd=tmp_path)
    shown = await run_geode(environ, "reviews", "show", "v1", cwd=tmp_path)
    decided = await run_geode(environ, "reviews", "decide", "v1", "--release", cwd=tmp_path)

    assert listed.out == "No answer waits for a review.\n"
    assert json.loads(as_json.out) == {"reviews": []}
    assert (shown.code, shown.sentences) == (1, ["geode: There is no review 'v1'."])
    assert (decided.code, decided.sentences) == (1, ["geode: There is no review 'v1'."])
    assert not home.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--release", "--reject", "no"],
        ["--release", "--judge-again"],
        ["--revise", "a", "--reject", "b"],
        ["--revise"],
    ],
    ids=" ".join,
)
async def test_decision_is_exactly_one(tmp_path: Path, arguments: list[str]) -> None:
    ended = await geode(tmp_path, "reviews", "decide", "v1", *arguments)

    assert ended.code == 2
    assert "Traceback" not in ended.err


async def test_review_is_listed_shown_whole_and_decided_through_the_daemon(tmp_path: Path) -> None:
    script = [call(("look", {})), say(DRAFT)]
    async with open_terminal(tmp_path, script, verdicts=[FAILED]) as world:
        review_id = await escalate(world)
        listed = await geode(tmp_path, "reviews", "list")
        shown = await geode(tmp_path, "reviews", "show", review_id)
        as_json = await geode(tmp_path, "reviews", "show", review_id, "--json")
        decided = await geode(
            tmp_path, "reviews", "decide", review_id, "--release", "--name", "Ada Lovelace"
        )
        await world.watch(has_answer("an answer"))
        again = await geode(tmp_path, "reviews", "decide", review_id, "--release")
        shown_after = await geode(tmp_path, "reviews", "show", review_id)

    (row,) = [line for line in listed.out.splitlines() if line.startswith(review_id)]
    assert "names no source" in row
    assert "terminal/local/" in row
    assert "draft" not in listed.out
    assert "| The draft\\u001b]0;owned\\u0007 of\n| | an answer\\u202e" in shown.out
    assert "Why: names no source" in shown.out
    assert "| Name it." in shown.out
    assert "The agent saw (look, an error):" in shown.out
    assert not {"\x1b", "\x07", "\u202e"} & set(shown.out + as_json.out)
    assert json.loads(as_json.out)["candidate"] == DRAFT
    assert json.loads(as_json.out)["candidate_hash"] in shown.out
    assert decided.out == (
        f"{review_id}: The answer was released. By operator:Ada Lovelace. "
        "Read on: geode chat --name main\n"
    )
    assert (again.code, len(again.sentences)) == (1, 1)
    assert "is decided already, by operator:Ada Lovelace" in again.err
    assert "by operator:Ada Lovelace" in shown_after.out
    assert "Decide:" not in shown_after.out


async def test_decision_without_a_daemon_goes_on_with_the_next_one(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("first")], verdicts=[BROKEN]) as world:
        review_id = await escalate(world)

    shown = await geode(tmp_path, "reviews", "show", review_id)
    decided = await geode(tmp_path, "reviews", "decide", review_id, "--revise", "shorter")
    listed = await geode(tmp_path, "reviews", "list")

    assert "--judge-again" in shown.out
    assert "Another version was asked for. By operator:" in decided.out
    assert listed.out == "No answer waits for a review.\n"
    async with open_terminal(tmp_path, [say("second")], verdicts=[PASSED]) as world:
        await world.watch(has_answer("second"))
        assert "shorter" in world.model.steps[0].messages[-1].text


async def test_answer_of_a_chat_that_may_be_personal_is_shown_on_request_only(
    tmp_path: Path,
) -> None:
    async with open_terminal(tmp_path, [say("Her address")], verdicts=[FAILED]) as world:
        review_id = await escalate(world)
        store = world.daemon.store
        await store.write("p", lambda tx: tx.execute(update(reviews).values(is_personal=1)))
        own = await geode(tmp_path, "reviews", "show", review_id)
        await store.write("q", lambda tx: tx.execute(update(threads).values(platform="slack")))
        other = await geode(tmp_path, "reviews", "show", review_id)
        asked = await geode(tmp_path, "reviews", "show", review_id, "--personal")

    assert "Her address" in own.out
    assert "Her address" not in other.out
    assert "--personal" in other.out
    assert "Her address" in asked.out


async def test_question_whose_answer_is_withheld_prints_nothing_and_has_its_own_code(
    tmp_path: Path,
) -> None:
    async with open_terminal(tmp_path, [say("held"), say("held")], verdicts=[FAILED] * 2) as world:
        asked = await geode(tmp_path, "ask", "Hi", "--name", "one")
        as_json = await geode(tmp_path, "ask", "Hi", "--name", "two", "--json")
        known = set(await world.column(reviews.c.id))

    assert (asked.code, asked.out) == (3, "")
    said = json.loads(as_json.out)
    (first,) = known - {said["review"]}
    assert asked.sentences == [
        "geode: The answer did not pass its check and waits for an operator; "
        f"look at it with: geode reviews show {first}"
    ]
    assert as_json.code == 3
    assert (said["answer"], said["state"]) == ("", "awaiting_review")
    assert said["termination"] == "EXTERNAL_VERIFICATION_REQUIRED"


async def test_person_in_the_chat_looks_at_the_answer_and_releases_it(tmp_path: Path) -> None:
    def play(person: TerminalPerson) -> None:
        person.is_asked()
        person.types("Tell me")
        before = person.reads("5) Judge again")
        assert QUIET[0] not in before
        person.is_asked()
        person.types("1")
        person.reads(f"| {QUIET[0]}")
        person.reads("2) Release")
        person.is_asked()
        person.types("2")
        person.reads("The answer was released.")
        person.reads(QUIET[0])
        person.is_asked()
        person.types("And?")
        person.reads("2) Release")
        person.is_asked()
        person.types("4")
        person.reads("The person who asked is told.")
        person.types("Not now")
        person.reads("did not release it")
        person.is_asked()
        person.presses("d")
        assert person.ends() == 0
        assert QUIET[1] not in person.raw

    script = [say(text) for text in QUIET]
    async with open_terminal(tmp_path, script, verdicts=[BROKEN, FAILED]) as world:
        await sit(tmp_path, play)
        assert sorted(await world.column(reviews.c.state)) == ["rejected", "released"]
        assert await world.column(sessions.c.state) == ["idle"]
        assert "card" not in await world.column(outbox.c.kind)
