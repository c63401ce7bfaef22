"""Request middleware rewrites calls within the plan, and never into a lesser one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.gate_room import Counted, GateRoom, call, make_tool, open_room, plan_of

from geode.gate.admit import RequestMiddleware
from geode.gate.executor import CallOutcome, ToolExecutor
from geode.messages import ToolCall
from geode.steps import DataClass, Effect, ToolContext


def rename(new: str) -> RequestMiddleware:
    def change(proposed: ToolCall, context: ToolContext) -> ToolCall:
        del context
        return replace(proposed, name=new)

    return change


def shout(proposed: ToolCall, context: ToolContext) -> ToolCall:
    del context
    assert proposed.arguments is not None
    return replace(proposed, arguments={"text": str(proposed.arguments["text"]).upper()})


async def run(
    room: GateRoom, tools: tuple[Counted, ...], change: RequestMiddleware, name: str = "write"
) -> CallOutcome:
    executor = ToolExecutor(replace(room.parts, middleware=(change,)))
    return await executor.aexecute(call(name), plan_of(*tools), room.context())


async def test_rewritten_arguments_are_what_runs(tmp_path: Path) -> None:
    write = make_tool("write", Effect.MUTATE)
    async with open_room(tmp_path) as room:
        outcome = await run(room, (write,), shout)

    assert outcome.result is not None
    assert not outcome.result.is_error
    assert write.entered == [{"text": "X"}]


@pytest.mark.parametrize(
    ("effect", "data_class"),
    [(Effect.READ, DataClass.PUBLIC), (Effect.MUTATE, DataClass.PUBLIC)],
    ids=["effect", "data class"],
)
async def test_rewrite_into_a_lesser_call_is_refused(
    tmp_path: Path, effect: Effect, data_class: DataClass
) -> None:
    write = make_tool("write", Effect.MUTATE)
    policy = replace(write.tool.policy, data_class=DataClass.PERSONAL)
    write = Counted(replace(write.tool, policy=policy), write.entered)
    other = make_tool("other", effect)
    lesser = Counted(
        replace(other.tool, policy=replace(other.tool.policy, data_class=data_class)),
        other.entered,
    )
    async with open_room(tmp_path) as room:
        outcome = await run(room, (write, lesser), rename("other"))
        timeline = await room.timeline()

    assert outcome.result is not None
    assert outcome.result.text.startswith("Refused (middleware.downgrade)")
    assert (write.entered, lesser.entered, timeline) == ([], [], [])


async def test_rewrite_to_what_is_not_granted_is_refused_like_a_proposal(tmp_path: Path) -> None:
    write = make_tool("write", Effect.MUTATE)
    async with open_room(tmp_path) as room:
        outcome = await run(room, (write,), rename("run_bash"))

    assert outcome.result is not None
    assert outcome.result.text.startswith("Refused (scope.unknown_tool)")
    assert write.entered == []
