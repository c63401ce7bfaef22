"""A batch gives one result per call, in call order, and no call harms another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.gate_room import GateRoom, call, make_tool, open_room, plan_of

from geode.errors import StaleEpochError
from geode.llm.arguments import parse_call
from geode.messages import JsonObject, ToolCall
from geode.steps import Done, Effect, Ending, ToolContext
from geode.store.receipts import ReceiptState


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[GateRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


BROKEN = ['{"text": "San Fra', "", "null", "[1]", '{"text":1,}', "x" * 2_000_000]


async def test_broken_arguments_are_error_results_and_the_good_call_runs(room: GateRoom) -> None:
    """LM-02: every broken form in one batch with one good call."""
    tool = make_tool("write", Effect.MUTATE)
    broken = [parse_call(f"bad{n}", "write", text) for n, text in enumerate(BROKEN)]
    calls = [*broken[:3], call("write", "good", "ok"), *broken[3:]]

    outcome = await room.processor.process(calls, plan_of(tool), room.context)

    assert [result.call_id for result in outcome.results] == [c.call_id for c in calls]
    assert [result.is_error for result in outcome.results] == [True] * 3 + [False] + [True] * 3
    assert tool.entered == [{"text": "good"}]
    for proposal, result in zip(calls, outcome.results, strict=True):
        assert len(result.text) <= 900
        assert proposal.fault in result.text
    assert len(await room.receipts.list_recent()) == 1


async def test_empty_arguments_run_a_tool_that_needs_none(room: GateRoom) -> None:
    tool = make_tool("list", schema={"type": "object", "properties": {}})

    outcome = await room.processor.process(
        [parse_call("c1", "list", "")], plan_of(tool), room.context
    )

    assert not outcome.results[0].is_error
    assert tool.entered == [{}]


async def test_results_are_in_call_order_whatever_ends_first(room: GateRoom) -> None:
    second_done = asyncio.Event()

    async def body(_context: ToolContext, arguments: JsonObject) -> Ending:
        if arguments["text"] == "first":
            await second_done.wait()
        else:
            second_done.set()
        return Done(str(arguments["text"]))

    calls = [call("look", "first", "c1"), call("look", "second", "c2")]

    outcome = await room.processor.process(
        calls, plan_of(make_tool("look", body=body)), room.context
    )

    assert [result.text for result in outcome.results] == ["first", "second"]
    operations = [entry.body["operation"] for entry in outcome.entries]
    assert operations == [room.context(position).operation_id for position in (0, 0, 1, 1)]


async def test_calls_on_one_resource_run_in_call_order_and_never_together(room: GateRoom) -> None:
    running = 0
    order: list[str] = []

    async def body(_context: ToolContext, arguments: JsonObject) -> Ending:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0)
        order.append(str(arguments["text"]))
        running -= 1
        return Done("ok")

    tool = make_tool("write", Effect.MUTATE, body, resources=lambda *_: ("file:a",))
    calls = [call("write", str(n), f"c{n}") for n in range(12)]

    outcome = await room.processor.process(calls, plan_of(tool), room.context)

    assert order == [str(n) for n in range(12)]
    assert not any(result.is_error for result in outcome.results)


async def test_failing_and_uncertain_calls_leave_the_others_alone(room: GateRoom) -> None:
    async def body(_context: ToolContext, arguments: JsonObject) -> Ending:
        if arguments["text"] == "bad":
            raise ValueError("no")
        return Done("ok")

    tool = make_tool("write", Effect.MUTATE, body)
    calls = [call("write", "a", "c1"), call("write", "bad", "c1"), call("gone", "x", "c1")]

    outcome = await room.processor.process(calls, plan_of(tool), room.context)

    assert [result.is_error for result in outcome.results] == [False, True, True]
    assert outcome.uncertain == (room.context(1).operation_id,)
    assert [entry.kind for entry in outcome.entries] == ["tool_refused"]


async def test_identical_messages_in_one_batch_are_sent_once(room: GateRoom) -> None:
    tool = make_tool("send", Effect.COMMUNICATE)
    calls = [ToolCall(f"c{n}", "send", {"text": "hi"}) for n in range(3)]

    outcome = await room.processor.process(calls, plan_of(tool), room.context)

    assert len(tool.entered) == 1
    assert {result.text for result in outcome.results} == {"done hi"}


async def test_lost_lease_ends_the_batch_only_after_every_call_has_ended(room: GateRoom) -> None:
    ended: list[str] = []

    async def body(_context: ToolContext, arguments: JsonObject) -> Ending:
        room.take_over_now()
        await asyncio.sleep(0.01)
        ended.append(str(arguments["text"]))
        return Done("ok")

    tool = make_tool("write", Effect.MUTATE, body)
    calls = [call("write", "a"), call("write", "b")]

    with pytest.raises(StaleEpochError):
        await room.processor.process(calls, plan_of(tool), room.context)

    assert set(ended) in ({"a"}, {"b"}, {"a", "b"})
    left = await room.receipts.list_recent()
    assert left
    assert {receipt.state for receipt in left} == {ReceiptState.PREPARED}
    assert room.parts.locks.keys_held == 0


async def test_more_calls_than_may_run_together_all_get_a_result(room: GateRoom) -> None:
    calls = [call("look", str(n), f"c{n}") for n in range(40)]

    outcome = await room.processor.process(calls, plan_of(make_tool("look")), room.context)

    assert [result.text for result in outcome.results] == [f"done {n}" for n in range(40)]


async def test_empty_batch_comes_to_nothing(room: GateRoom) -> None:
    outcome = await room.processor.process([], plan_of(make_tool("look")), room.context)

    assert outcome.results == ()
