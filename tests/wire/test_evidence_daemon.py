"""A daemon leaves evidence of what it committed; the answer needs none of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fakes.gate_room import make_tool
from fakes.geode_command import run_geode
from fakes.scripted_judge import FAILED, RETRY
from fakes.scripted_model import call, say
from fakes.terminal_world import has_answer, open_terminal
from sqlalchemy import select

from geode.records.evidence_file import list_files
from geode.steps import Effect
from geode.store.tables import timeline


def read(folder: Path) -> list[dict[str, Any]]:
    files = list_files(folder / "evidence")
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


async def test_turn_leaves_its_rows_in_order_and_they_find_the_timeline(tmp_path: Path) -> None:
    tool = make_tool("look", Effect.READ).tool
    script = [call(("look", {"text": "x"})), say("first draft"), say("second draft")]
    async with open_terminal(tmp_path, script, (tool,), verdicts=[RETRY, FAILED]) as world:
        said = await world.say("Look at the private thing")
        asking = await world.settle(said["id"])
        decision = {"decision": "reject", "words": "too private"}
        await world.ask_control("reviews.decide", id=asking["review"], **decision)
        await world.watch(has_answer("did not release it"))
        stored = await world.daemon.store.read(
            lambda tx: dict(tx.execute(select(timeline.c.seq, timeline.c.hash)).all())
        )

    rows = read(tmp_path)
    kinds = [row["kind"] for row in rows]
    assert [kind for kind in kinds if not kind.startswith("tool_")] == [
        "turn_started",
        "verification_policy",
        "verification_policy",
        "review_asked",
        "review_decided",
        "turn_ended",
    ]
    assert {"tool_call", "tool_outcome"} <= set(kinds)
    assert [row["n"] for row in rows] == [*range(1, len(rows) + 1)]
    assert all(stored[row["timeline_seq"]] == row["timeline_hash"] for row in rows)
    revised, escalated = [row for row in rows if row["kind"] == "verification_policy"]
    assert (revised["action"], escalated["action"]) == ("revise", "escalate")
    assert (revised["judge_calls"], revised["judge_cost_micro_usd"]) == (1, 7)
    assert (revised["judge_model"], revised["judge_input_tokens"]) == ("scripted/model", 100)
    assert revised["elapsed_ms"] >= 0
    (asked,) = [row for row in rows if row["kind"] == "review_asked"]
    assert asked["candidate"] == escalated["candidate"] != revised["candidate"]
    assert revised["request_hash"] == escalated["request_hash"]
    whole = json.dumps(rows)
    for words in ("private", "draft", "names no source", "Name it"):
        assert words not in whole


async def test_rows_of_a_decision_without_a_daemon_go_on_counting(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("draft")], verdicts=[FAILED]) as world:
        said = await world.say("Hi")
        review = (await world.settle(said["id"]))["review"]
    before = read(tmp_path)

    await run_geode({"GEODE_HOME": str(tmp_path)}, "reviews", "decide", review, "--release")

    rows = read(tmp_path)
    assert [row["kind"] for row in rows[len(before) :]] == ["review_decided"]
    assert rows[-1]["n"] == len(rows)


async def test_answer_needs_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text("in the way")
    async with open_terminal(tmp_path, [say("Hello")]) as world:
        await world.say("Hi")
        await world.watch(has_answer("Hello"))

        assert world.daemon.evidence.lost > 0
