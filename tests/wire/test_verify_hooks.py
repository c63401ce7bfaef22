"""The operator's own commands beside a running daemon add to the check, and are told of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fakes.scripted_judge import FAILED
from fakes.scripted_model import say
from fakes.spine_room import until
from fakes.terminal_world import has_answer, open_terminal

from geode.store.review_tables import reviews
from geode.store.tables import turns

WANTS_SOURCE = """
import json, sys
candidate = json.load(sys.stdin)
if "Source:" in candidate["text"]:
    print(json.dumps({"decision": "require", "requirements": ["The source says so."]}))
else:
    print(json.dumps({"decision": "require", "misses": ["no_source"], "reason": "Name it."}))
"""
WANTS_MORE = """
import json, sys
more = {"decision": "continue", "reason": "Look again."}
print(json.dumps({"decision": "stop"} if json.load(sys.stdin)["attempt"] else more))
"""
BROKEN = "raise SystemExit(1)"
KEEPING = """
import sys
with open("events", "a") as file:
    file.write(sys.stdin.read())
"""


def command(folder: Path, name: str, source: str) -> dict[str, object]:
    """A hook that runs this source."""
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    return {"command": [sys.executable, "-I", "-S", str(path)]}


def read_events(folder: Path) -> list[dict[str, object]]:
    """What an observer was told so far."""
    path = folder / "events"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def test_missed_requirement_is_mended_and_then_judged(tmp_path: Path) -> None:
    hooks = {
        "PreVerify": [command(tmp_path, "source", WANTS_SOURCE)],
        "Observe": [
            command(tmp_path, "keep", KEEPING) | {"events": ["verification_decided", "turn_ended"]}
        ],
    }
    replies = [say("It is 42."), say("It is 42. Source: a book.")]
    async with open_terminal(tmp_path, replies, hooks=hooks) as world:
        await world.say("What is it?")
        rows = await world.watch(has_answer("Source: a book."))

        assert [row["markdown"] for row in rows if row["kind"] == "answer"] == [
            "It is 42. Source: a book."
        ]
        assert [each.requirements for each in world.judge.seen] == [(), ("The source says so.",)]
        note = world.model.steps[-1].messages[-1].text
        assert "Your answer was not accepted: no_source. Name it." in note
        assert await world.column(turns.c.repairs) == [1]
        told = await until(lambda: len(found := read_events(tmp_path)) == 3 and found)

    bodies = [each["body"] for each in told]
    assert [(each.get("action"), each.get("rule")) for each in bodies] == [
        ("revise", "failed_retryable"),
        ("accept", "passed"),
        (None, None),
    ]
    assert bodies[-1] == {"reason": "natural", "verification": "passed", "completed": True}
    assert "42." not in (tmp_path / "events").read_text()


async def test_command_that_dies_hands_the_answer_to_a_person(tmp_path: Path) -> None:
    hooks = {"PreVerify": [command(tmp_path, "broken", BROKEN)]}
    async with open_terminal(tmp_path, [say("It is 42.")], hooks=hooks) as world:
        said = await world.say("What is it?")
        asking = await world.settle(said["id"])

        assert asking["state"] == "awaiting"
        assert "42." not in json.dumps(asking)
        assert await world.column(reviews.c.rule) == ["hook_failed"]
        (misses,) = await world.column(reviews.c.misses)
        assert json.loads(misses) == ["hook_failed"]


async def test_turn_goes_on_at_the_word_of_a_stop_hook(tmp_path: Path) -> None:
    hooks = {"Stop": [command(tmp_path, "more", WANTS_MORE)]}
    replies = [say("It is 42."), say("It is still 42.")]
    async with open_terminal(tmp_path, replies, hooks=hooks) as world:
        await world.say("What is it?")
        rows = await world.watch(has_answer("It is still 42."))

        assert [row["markdown"] for row in rows if row["kind"] == "answer"] == ["It is still 42."]
        assert "asks you to go on before you end: Look again." in (
            world.model.steps[-1].messages[-1].text
        )


async def test_observer_is_told_of_a_review(tmp_path: Path) -> None:
    events = ["review_asked", "review_decided"]
    hooks = {"Observe": [command(tmp_path, "keep", KEEPING) | {"events": events}]}
    async with open_terminal(tmp_path, [say("It is 42.")], hooks=hooks, verdicts=[FAILED]) as world:
        said = await world.say("What is it?")
        await world.settle(said["id"])
        (review,) = await world.column(reviews.c.id)
        await world.ask_control(
            "reviews.decide", id=review, decision="reject", words="secret words"
        )
        told = await until(lambda: len(found := read_events(tmp_path)) == 2 and found)

    asked, decided = (each["body"] for each in told)
    assert isinstance(asked, dict)
    assert isinstance(decided, dict)
    assert (asked["review"], asked["outcome"], asked["state"]) == (review, "failed", "open")
    assert (decided["review"], decided["state"]) == (review, "rejected")
    assert decided["by"]
    kept = (tmp_path / "events").read_text()
    assert "42." not in kept
    assert "secret words" not in kept
