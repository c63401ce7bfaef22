"""Receipts survive crashes, settle once, and close an orphan batch to the same bytes each time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from fakes.gate_room import Counted, GateRoom, call, make_tool, open_room, plan_of

from geode.errors import ControlError, StaleEpochError, StorageFullError
from geode.messages import JsonObject, ToolCall
from geode.records.outcomes import BatchOutcome
from geode.records.reconcile import read_back
from geode.steps import Applied, Done, Effect, Ending, NotApplied, Tool, ToolContext
from geode.store.receipts import ReceiptState, Settlement


class Killed(BaseException):
    """Stands for the end of the process at a named point."""


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[GateRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


def kill() -> None:
    raise Killed


async def crash_at(room: GateRoom, point: str, tool: Counted, context: ToolContext) -> None:
    room.points.actions[point] = kill
    with pytest.raises(Killed):
        await room.executor.aexecute(call(tool.tool.name, "a"), plan_of(tool), context)


async def recover(
    room: GateRoom, tools: list[Counted], *contexts: ToolContext, name: str = "write"
) -> BatchOutcome:
    """What a restarted worker does with the batch, under the epoch it claimed."""
    batch = [
        (ToolCall(f"c{n}", name, {"text": "a"}), room.context(c.position, epoch=2))
        for n, c in enumerate(contexts)
    ]
    return await room.receipts.recover_batch(batch, {t.tool.name: t.tool for t in tools})


@pytest.mark.parametrize("point", ["effect.before:write", "effect.after:write"])
@pytest.mark.parametrize(
    ("answer", "state", "is_error"),
    [
        (True, ReceiptState.RECONCILED, False),
        (False, ReceiptState.RECONCILED, True),
        (None, ReceiptState.UNCERTAIN, True),
        ("nonsense", ReceiptState.UNCERTAIN, True),
        (OSError("gone"), ReceiptState.UNCERTAIN, True),
    ],
    ids=["happened", "did not", "cannot tell", "nonsense", "raises"],
)
async def test_prepared_receipt_is_read_back_by_the_successor(
    room: GateRoom, point: str, answer: object, state: ReceiptState, *, is_error: bool
) -> None:
    async def reconcile(_context: ToolContext, arguments: JsonObject) -> bool | None:
        assert arguments == {"text": "a"}
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]

    tool = make_tool("write", Effect.MUTATE, reconcile=reconcile)
    context = room.context()
    await crash_at(room, point, tool, context)
    entered = len(tool.entered)
    room.take_over_now()

    outcome = await recover(room, [tool], context)

    receipt = await room.receipts.get(context.operation_id)
    assert receipt is not None
    assert receipt.state is state
    assert [result.is_error for result in outcome.results] == [is_error]
    assert outcome.uncertain == ((receipt.id,) if state is ReceiptState.UNCERTAIN else ())
    assert len(tool.entered) == entered
    assert [kind for kind, _ in await room.timeline()] == ["tool_call", "tool_outcome"]


async def test_prepared_receipt_of_a_tool_that_is_gone_becomes_uncertain(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)
    await crash_at(room, "effect.after:write", tool, room.context())
    room.take_over_now()

    outcome = await recover(room, [], room.context())

    assert f"geode effects settle {room.context().operation_id}" in outcome.results[0].text


async def done(_context: ToolContext, _arguments: JsonObject) -> Ending:
    return Done("it is done")


async def applied(_context: ToolContext, _arguments: JsonObject) -> Ending:
    return Applied("done with a scratch")


async def not_applied(_context: ToolContext, _arguments: JsonObject) -> Ending:
    return NotApplied("nothing to do")


async def failed(_context: ToolContext, _arguments: JsonObject) -> Ending:
    raise OSError("no answer")


@pytest.mark.parametrize("body", [done, applied, not_applied, failed])
async def test_settled_receipt_gives_the_live_result_again(room: GateRoom, body: object) -> None:
    """Crash after the settlement and before the batch was saved: the same bytes."""
    tool = make_tool("write", Effect.MUTATE, body)  # type: ignore[arg-type]
    context = room.context()
    live = await room.executor.aexecute(call("write", "a", "c0"), plan_of(tool), context)
    room.take_over_now()

    outcome = await recover(room, [tool], context)

    assert outcome.results == (live.result,)
    assert len(tool.entered) == 1


async def test_orphan_batch_is_closed_in_call_order_to_the_same_bytes_each_time(
    room: GateRoom,
) -> None:
    """LM-01: two restarts give the same results, and no call runs again."""
    tool = make_tool("write", Effect.MUTATE)
    contexts = [room.context(position) for position in range(4)]
    await room.executor.aexecute(call("write", "z"), plan_of(tool), contexts[0])
    await crash_at(room, "effect.before:write", tool, contexts[2])
    room.take_over_now()

    first = await recover(room, [tool], *contexts)
    commits = room.store.writer.commits
    second = await recover(room, [tool], *contexts)

    assert second == first
    assert room.store.writer.commits == commits
    assert [result.call_id for result in first.results] == ["c0", "c1", "c2", "c3"]
    assert [result.is_error for result in first.results] == [False, True, True, True]
    assert "nterrupted before it began" in first.results[1].text
    assert "unknown" in first.results[2].text
    assert [entry.body["ending"] for entry in first.entries] == ["interrupted", "interrupted"]
    assert [arguments["text"] for arguments in tool.entered] == ["z"]


async def test_fenced_worker_cannot_close_a_batch(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)
    context = room.context()
    await crash_at(room, "effect.before:write", tool, context)
    room.take_over_now()
    room.take_over_now()

    with pytest.raises(StaleEpochError):
        await recover(room, [tool], context)

    receipt = await room.receipts.get(context.operation_id)
    assert receipt is not None
    assert receipt.state is ReceiptState.PREPARED


async def uncertain_receipt(room: GateRoom) -> str:
    tool = make_tool("write", Effect.MUTATE, failed)
    await room.executor.aexecute(call("write", "a"), plan_of(tool), room.context())
    return room.context().operation_id


@pytest.mark.parametrize("happened", [True, False])
async def test_operator_settles_an_uncertain_effect_once(room: GateRoom, *, happened: bool) -> None:
    receipt_id = await uncertain_receipt(room)

    settled = await room.receipts.settle_by_operator(receipt_id, happened=happened, who="ops")

    assert settled.state is ReceiptState.RECONCILED
    assert settled.result == ("happened" if happened else "did_not")
    assert settled.settled_by == "operator:ops"
    assert await room.receipts.list_open() == []
    kind, body = (await room.timeline())[-1]
    assert kind == "effect_settled"
    assert orjson.loads(body)["by"] == "operator:ops"
    with pytest.raises(ControlError, match="is reconciled, not uncertain"):
        await room.receipts.settle_by_operator(receipt_id, happened=True, who="ops")


async def test_operator_cannot_settle_what_is_not_there(room: GateRoom) -> None:
    with pytest.raises(ControlError, match="There is no effect 'r00'"):
        await room.receipts.settle_by_operator("r00", happened=True, who="ops")


async def test_operator_cannot_settle_an_effect_that_may_be_running(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)
    await crash_at(room, "effect.before:write", tool, room.context())

    with pytest.raises(ControlError, match="is prepared, not uncertain"):
        await room.receipts.settle_by_operator(
            room.context().operation_id, happened=True, who="ops"
        )


async def test_two_operators_at_once_settle_exactly_once(room: GateRoom) -> None:
    receipt_id = await uncertain_receipt(room)

    answers = await asyncio.gather(
        room.receipts.settle_by_operator(receipt_id, happened=True, who="a"),
        room.receipts.settle_by_operator(receipt_id, happened=False, who="b"),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, ControlError) for answer in answers) == 1


async def test_settled_receipt_is_not_settled_again(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)
    context = room.context()
    await room.executor.aexecute(call("write", "a"), plan_of(tool), context)

    moved = await room.receipts.settle(context, Settlement(ReceiptState.UNCERTAIN), [])

    assert not moved
    receipt = await room.receipts.get(context.operation_id)
    assert receipt is not None
    assert receipt.state is ReceiptState.COMMITTED


async def test_receipt_that_cannot_be_written_stops_the_effect(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)

    def refuse() -> None:
        raise StorageFullError("The disk refused the write.")

    room.points.actions["commit.before:receipt.prepare"] = refuse
    outcome = await room.executor.aexecute(call("write", "a"), plan_of(tool), room.context())
    again = await room.executor.aexecute(call("write", "a"), plan_of(tool), room.context(1))

    assert "could not be recorded" in outcome.result.text
    assert not again.result.is_error
    assert len(tool.entered) == 1


async def test_outcome_that_cannot_be_written_leaves_the_receipt_to_the_recovery(
    room: GateRoom,
) -> None:
    tool = make_tool("write", Effect.MUTATE)

    def refuse() -> None:
        raise StorageFullError("The disk refused the write.")

    room.points.actions["commit.before:receipt.settle"] = refuse
    with pytest.raises(StorageFullError):
        await room.executor.aexecute(call("write", "a"), plan_of(tool), room.context())
    room.take_over_now()

    outcome = await recover(room, [tool], room.context())

    assert outcome.uncertain == (room.context().operation_id,)
    assert len(tool.entered) == 1


async def test_tool_without_a_way_to_read_back_cannot_tell(room: GateRoom) -> None:
    tool: Tool = make_tool("write", Effect.MUTATE).tool

    assert await read_back(tool, room.context(), {}) is None
    assert await read_back(None, room.context(), {}) is None
