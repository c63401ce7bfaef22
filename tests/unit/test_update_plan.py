"""update_plan: a session's TaskGraph, shown as progress, bounded, lost without harm."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from fakes.loop_fakes import read_tool
from fakes.scripted_model import call as model_call
from fakes.scripted_model import say
from fakes.spine_room import THREAD, open_room, until
from fakes.tool_room import call, context, reason_of, text_of

from geode.messages import JsonObject, ProgressStep, SessionId, TurnId
from geode.ports import SystemClock
from geode.session.plan import SESSIONS_MAX, SHOWN_MAX, TaskGraph, TaskGraphs
from geode.steps import DataClass, Done, Effect, Ending, ToolContext
from geode.tools import update_plan
from geode.tools.update_plan import TITLE_SHOWN_CHARS_MAX, PlanStep

SESSION, TURN = SessionId("s1"), TurnId("t1")


def test_policy_is_a_personal_read() -> None:
    policy = update_plan.build(TaskGraphs()).policy

    assert (policy.effect, policy.data_class) == (Effect.READ, DataClass.PERSONAL)


async def test_a_plan_is_kept_and_shown_in_its_turn() -> None:
    graphs, shown = TaskGraphs(), list[tuple[ProgressStep, ...]]()
    graphs.open_turn(SESSION, TURN, shown.append)
    steps = [
        {"title": "read the file", "state": "done"},
        {"title": "compare", "state": "running"},
        {"title": "an idea", "state": "dropped"},
        "write it down",
    ]

    text = text_of(await call(update_plan.build(graphs), steps=steps))

    assert text == "The plan has 4 steps: 1 pending, 1 running, 1 done, 1 dropped."
    assert shown == [
        (
            ProgressStep("read the file", "done"),
            ProgressStep("compare", "running"),
            ProgressStep("write it down", "pending"),
        )
    ]
    graph = graphs.find(SESSION)
    assert graph is not None
    assert [step.title for step in graph.steps][-1] == "write it down"


async def test_an_empty_plan_takes_the_old_one_away() -> None:
    graphs, shown = TaskGraphs(), list[tuple[ProgressStep, ...]]()
    graphs.open_turn(SESSION, TURN, shown.append)
    tool = update_plan.build(graphs)

    await call(tool, steps=["one"])

    assert text_of(await call(tool, steps=[])) == "The plan is empty."
    assert shown[-1] == ()


async def test_a_call_of_an_earlier_turn_shows_nothing_in_the_present_one() -> None:
    graphs, shown = TaskGraphs(), list[tuple[ProgressStep, ...]]()
    graphs.open_turn(SESSION, TurnId("t2"), shown.append)

    await call(update_plan.build(graphs), steps=["one"])

    assert shown == []


def test_of_a_long_plan_the_part_under_way_is_shown() -> None:
    steps = [PlanStep(f"{n}", "done" if n < 12 else "pending") for n in range(20)]

    shown = TaskGraph(tuple(steps)).shown()

    assert len(shown) == SHOWN_MAX
    assert [step.title for step in shown][:3] == ["10", "11", "12"]


async def test_plans_of_the_sessions_idle_longest_are_forgotten() -> None:
    graphs = TaskGraphs()
    tool = update_plan.build(graphs)
    for number in range(SESSIONS_MAX + 5):
        await tool.handler(context(f"s{number}"), {"steps": ["x"]})

    assert graphs.find(SessionId("s0")) is None
    assert graphs.find(SessionId(f"s{SESSIONS_MAX + 4}")) is not None


HOSTILE = ["\x1b[31mred\u202e", "https://evil.example/?d=canary", "a\nb\n# c", "x" * 200, "\ud800"]


@pytest.mark.parametrize("title", HOSTILE)
async def test_a_title_is_one_short_plain_line(title: str) -> None:
    graphs, shown = TaskGraphs(), list[tuple[ProgressStep, ...]]()
    graphs.open_turn(SESSION, TURN, shown.append)

    await call(update_plan.build(graphs), steps=[title])

    said = shown[0][0].title
    assert len(said) <= TITLE_SHOWN_CHARS_MAX
    assert said.isprintable()
    assert "://" not in said


async def test_a_step_without_a_visible_title_changes_nothing() -> None:
    graphs = TaskGraphs()
    tool = update_plan.build(graphs)
    await call(tool, steps=["kept"])

    assert "no title" in reason_of(await call(tool, steps=["\u200b \u202e"]))
    graph = graphs.find(SESSION)
    assert graph is not None
    assert graph.steps[0].title == "kept"


@pytest.mark.parametrize(
    "steps",
    [
        "one",
        None,
        [""],
        [7],
        [{}],
        [{"title": "x", "state": "failed"}],
        [{"title": "x", "more": 1}],
        ["x"] * 21,
        ["x" * 201],
        [["x"]],
    ],
)
def test_schema_refuses_what_is_no_plan(steps: object) -> None:
    schema = update_plan.build(TaskGraphs()).schema

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"steps": steps}, schema)


async def test_a_thread_sees_the_plan_above_the_tools(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def wait(context: ToolContext, arguments: JsonObject) -> Ending:
        async with asyncio.timeout(15):
            await release.wait()
        return Done("done")

    tool = replace(read_tool("slow_read"), handler=wait)
    plan = model_call(("update_plan", {"steps": ["find @everyone", "tell"]}))
    async with open_room(tmp_path, clock=SystemClock(), tools=(tool,)) as room:
        await room.say("begin")
        session_id = await room.session_id()
        worker = room.worker(replies=[plan, model_call(("slow_read", {})), say("the answer")])
        shown = room.platform
        running = asyncio.create_task(worker.runner.run_session(session_id))
        await until(lambda: room.said("progress"))
        await worker.deliver(session_id)
        await until(lambda: shown.steps, timeout_s=10)
        release.set()
        await running
        await worker.deliver(session_id)

        assert shown.steps[0] == (
            ProgressStep("find @everyone", "pending"),
            ProgressStep("tell", "pending"),
            ProgressStep("update_plan", "done"),
            ProgressStep("slow_read"),
        )
        assert shown.texts(THREAD) == ["the answer"]
