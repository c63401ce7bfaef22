"""A proposal passes every step in order, or nothing of it has begun."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from fakes.gate_room import Counted, GateRoom, call, make_tool, open_room, plan_of, until

from geode.errors import FileRefusedError, StaleEpochError
from geode.gate.executor import CallOutcome
from geode.gate.policy import project_plan
from geode.messages import JsonObject, Mode, ReceiptId, ToolCall
from geode.settings import Profile
from geode.steps import Applied, Done, Effect, Ending, NotApplied, ToolContext
from geode.store.receipts import Receipt, ReceiptState
from geode.tools.blocking import run_to_end


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[GateRoom]:
    async with open_room(tmp_path) as opened:
        yield opened


async def receipt_of(room: GateRoom, context: ToolContext) -> Receipt:
    receipt = await room.receipts.get(context.operation_id)
    assert receipt is not None
    return receipt


def refused_by(outcome: CallOutcome) -> str:
    """The rule of a refusal, which the result and the timeline both name."""
    assert outcome.result.is_error
    (entry,) = outcome.entries
    assert entry.kind == "tool_refused"
    rule = str(entry.body["rule"])
    assert outcome.result.text.startswith(f"Refused ({rule}): ")
    return rule


async def test_read_runs_and_writes_nothing_by_itself(room: GateRoom) -> None:
    tool = make_tool("look")
    commits = room.store.writer.commits

    outcome = await room.executor.aexecute(call("look", "hi"), plan_of(tool), room.context())

    assert outcome.result.text == "done hi"
    assert not outcome.result.is_error
    assert [entry.kind for entry in outcome.entries] == ["tool_call", "tool_outcome"]
    assert room.store.writer.commits == commits
    assert await room.receipts.list_recent() == []


async def test_result_says_whether_it_names_outside_urls(room: GateRoom) -> None:
    async def body(_context: ToolContext, _arguments: JsonObject) -> Ending:
        return Done("see https://example.org/", names_urls=True)

    for effect in (Effect.READ, Effect.COMMUNICATE):
        tool = make_tool("t", effect, body)
        context = room.context(step=len(effect))
        outcome = await room.executor.aexecute(call("t"), plan_of(tool), context)
        assert outcome.result.names_urls


@pytest.mark.parametrize(
    ("proposal", "rule"),
    [
        (call("gone"), "scope.unknown_tool"),
        (call("WRITE"), "scope.unknown_tool"),
        (call("run_bash"), "mode.removed"),
        (call("ungranted"), "profile.not_granted"),
        (call("asking"), "ask.no_approver"),
        (ToolCall("c1", "write", {"text": 1}), "schema.mismatch"),
        (ToolCall("c1", "write", {"text": "x", "more": 1}), "schema.unknown_argument"),
        (ToolCall("c1", "write", None, raw="{", fault="It is cut."), "schema.unreadable"),
        (ToolCall("c1", "write", {"text": "\ud800"}), "schema.not_json"),
        (ToolCall("c1", "wide", {"text": 2**60}), "schema.not_canonical"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
async def test_refused_call_has_not_begun(room: GateRoom, proposal: ToolCall, rule: str) -> None:
    wide: JsonObject = {"type": "object", "properties": {"text": {}}}
    tools = {
        name: make_tool(name, Effect.MUTATE)
        for name in ("write", "run_bash", "ungranted", "asking")
    } | {"wide": make_tool("wide", Effect.MUTATE, schema=wide)}
    grants = Profile("p", frozenset({"write", "run_bash", "wide"}), frozenset({"asking"}))
    plan = project_plan([t.tool for t in tools.values()], Mode.DAEMON, grants)

    outcome = await room.executor.aexecute(proposal, plan, room.context())

    assert refused_by(outcome) == rule
    assert [t.entered for t in tools.values()] == [[], [], [], [], []]
    assert await room.receipts.list_recent() == []
    assert room.parts.locks.keys_held == 0
    assert orjson.dumps(outcome.entries[0].body)


async def test_refused_bash_says_why_in_words_for_people(room: GateRoom) -> None:
    plan = plan_of(make_tool("run_bash", Effect.EXECUTE))

    outcome = await room.executor.aexecute(call("run_bash", "ls"), plan, room.context())

    assert "run_bash is not available in a chat thread" in outcome.result.text


async def test_terminal_effect_is_refused_until_somebody_can_approve(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)
    everything = Profile("terminal", frozenset(), grants_all=True)
    plan = project_plan([tool.tool], Mode.REPL, everything)

    outcome = await room.executor.aexecute(call("write"), plan, room.context(mode=Mode.REPL))

    assert refused_by(outcome) == "ask.no_approver"
    assert tool.entered == []


async def test_effect_has_its_receipt_committed_before_the_body_is_entered(room: GateRoom) -> None:
    seen: list[ReceiptState] = []

    async def body(context: ToolContext, _arguments: JsonObject) -> Ending:
        seen.append((await receipt_of(room, context)).state)
        assert room.parts.locks.keys_held == 1
        return Done("ok")

    tool = make_tool("write", Effect.MUTATE, body)
    context = room.context()

    outcome = await room.executor.aexecute(call("write", "a"), plan_of(tool), context)

    assert seen == [ReceiptState.PREPARED]
    assert outcome == CallOutcome(outcome.result)
    receipt = await receipt_of(room, context)
    assert (receipt.state, receipt.result) == (ReceiptState.COMMITTED, "ok")
    assert receipt.arguments == '{"text":"a"}'
    assert [kind for kind, _ in await room.timeline()] == ["tool_call", "tool_outcome"]
    assert room.parts.locks.keys_held == 0


async def test_points_around_an_effect_are_hit_in_order(room: GateRoom) -> None:
    await room.executor.aexecute(
        call("write"), plan_of(make_tool("write", Effect.MUTATE)), room.context()
    )

    points = [name for name in room.points.names if "receipt" in name or "effect" in name]
    assert points == [
        "commit.before:receipt.prepare",
        "commit.after:receipt.prepare",
        "effect.before:write",
        "effect.window:write",
        "effect.after:write",
        "commit.before:receipt.settle",
        "commit.after:receipt.settle",
    ]


async def fail(_context: ToolContext, _arguments: JsonObject) -> Ending:
    raise OSError("the disk went away")


async def refuse(_context: ToolContext, _arguments: JsonObject) -> Ending:
    raise FileRefusedError("There is no such file.")


async def mumble(_context: ToolContext, _arguments: JsonObject) -> Ending:
    return "done"  # type: ignore[return-value]


async def half(_context: ToolContext, _arguments: JsonObject) -> Ending:
    return Applied("sent, but the copy was not kept")


async def nothing(_context: ToolContext, _arguments: JsonObject) -> Ending:
    return NotApplied("there was nothing to do")


async def cancel_itself(_context: ToolContext, _arguments: JsonObject) -> Ending:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("body", "state", "said"),
    [
        (half, ReceiptState.COMMITTED, "the copy was not kept"),
        (nothing, ReceiptState.NOT_APPLIED, "nothing to do"),
        (refuse, ReceiptState.NOT_APPLIED, "no such file"),
        (fail, ReceiptState.UNCERTAIN, "OSError: the disk went away"),
        (mumble, ReceiptState.UNCERTAIN, "not a result"),
        (cancel_itself, ReceiptState.UNCERTAIN, "was stopped"),
    ],
)
async def test_ending_of_an_effect_decides_its_receipt(
    room: GateRoom, body: object, state: ReceiptState, said: str
) -> None:
    tool = make_tool("write", Effect.MUTATE, body)  # type: ignore[arg-type]
    context = room.context()

    outcome = await room.executor.aexecute(call("write"), plan_of(tool), context)

    receipt = await receipt_of(room, context)
    assert receipt.state is state
    assert outcome.result.is_error
    assert said in outcome.result.text
    is_uncertain = state is ReceiptState.UNCERTAIN
    assert (outcome.uncertain == receipt.id) is is_uncertain
    assert (f"geode effects settle {receipt.id}" in outcome.result.text) is is_uncertain


@pytest.mark.parametrize("body", [half, nothing, refuse, fail, mumble, cancel_itself])
async def test_read_that_fails_is_an_error_result_and_blocks_nothing(
    room: GateRoom, body: object
) -> None:
    tool = make_tool("look", Effect.READ, body)  # type: ignore[arg-type]

    outcome = await room.executor.aexecute(call("look"), plan_of(tool), room.context())

    assert outcome.result.is_error
    assert outcome.uncertain is None
    assert await room.receipts.list_recent() == []


async def test_empty_and_unprintable_results_become_text_that_can_be_stored(room: GateRoom) -> None:
    for text, said in (("", "(no text)"), ("  \n", "(no text)"), ("a\0b\ud800", "a\ufffdb?")):

        async def body(_c: ToolContext, _a: JsonObject, text: str = text) -> Ending:
            return Done(text)

        outcome = await room.executor.aexecute(
            call("look"), plan_of(make_tool("look", body=body)), room.context()
        )
        assert outcome.result.text == said


async def test_huge_result_is_cut_to_its_head_and_tail(room: GateRoom) -> None:
    async def body(_context: ToolContext, _arguments: JsonObject) -> Ending:
        return Done("head" + "語" * 50_000 + "tail")

    outcome = await room.executor.aexecute(
        call("look"), plan_of(make_tool("look", body=body)), room.context()
    )

    assert len(outcome.result.text.encode()) <= 48_000
    assert outcome.result.text.startswith("head")
    assert outcome.result.text.endswith("tail")
    assert "150,008 bytes" in outcome.result.text


async def test_uncertain_effect_blocks_its_own_keys_and_no_others(room: GateRoom) -> None:
    failing = make_tool("fail", Effect.MUTATE, fail)
    writing = make_tool("write", Effect.MUTATE)
    looking = make_tool("look")
    plan = plan_of(failing, writing, looking)
    await room.executor.aexecute(call("fail", "a"), plan, room.context(0))

    same = await room.executor.aexecute(call("write", "a"), plan, room.context(1))
    other = await room.executor.aexecute(call("write", "b"), plan, room.context(2))
    read = await room.executor.aexecute(call("look", "a"), plan, room.context(3))

    assert refused_by(same) == "receipt.blocked"
    assert "geode effects settle" in same.result.text
    assert other.result.text == "done b"
    assert read.result.text == "done a"
    assert [arguments["text"] for arguments in writing.entered] == ["b"]


async def test_settled_by_an_operator_the_key_is_free_again(room: GateRoom) -> None:
    failing = make_tool("fail", Effect.MUTATE, fail)
    writing = make_tool("write", Effect.MUTATE)
    plan = plan_of(failing, writing)
    context = room.context(0)
    await room.executor.aexecute(call("fail", "a"), plan, context)

    await room.receipts.settle_by_operator(context.operation_id, happened=False, who="ops")
    outcome = await room.executor.aexecute(call("write", "a"), plan, room.context(1))

    assert not outcome.result.is_error


async def test_receipt_of_a_dead_worker_blocks_its_keys(room: GateRoom) -> None:
    await room.add_session("s2")

    def die() -> None:
        raise SystemExit

    room.points.actions["effect.before:write"] = die
    tool = make_tool("write", Effect.MUTATE)
    with pytest.raises(SystemExit):
        await room.executor.aexecute(call("write"), plan_of(tool), room.context(session="s2"))

    outcome = await room.executor.aexecute(call("write"), plan_of(tool), room.context())

    assert refused_by(outcome) == "receipt.blocked"
    assert "interrupted" in outcome.result.text
    assert tool.entered == []


async def test_identical_communication_in_one_turn_is_sent_once(room: GateRoom) -> None:
    tool = make_tool("send", Effect.COMMUNICATE)
    plan = plan_of(tool)
    proposal = ToolCall("c1", "send", {"text": "hi"})

    first = await room.executor.aexecute(proposal, plan, room.context(0))
    again = await room.executor.aexecute(
        replace(proposal, call_id="c2"), plan, room.context(0, step=2)
    )
    next_turn = await room.executor.aexecute(proposal, plan, room.context(0, turn="t2"))

    assert again.result == replace(first.result, call_id="c2")
    assert [entry.body.get("ending") for entry in again.entries] == [None, "repeated"]
    assert not next_turn.result.is_error
    assert len(tool.entered) == 2


async def test_identical_mutation_runs_each_time(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)

    for step in (1, 2):
        await room.executor.aexecute(call("write"), plan_of(tool), room.context(step=step))

    assert len(tool.entered) == 2


async def test_same_place_of_the_same_batch_never_runs_twice(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)

    first = await room.executor.aexecute(call("write"), plan_of(tool), room.context())
    again = await room.executor.aexecute(call("write"), plan_of(tool), room.context())

    assert again.result == first.result
    assert len(tool.entered) == 1


async def test_stale_epoch_begins_no_effect_and_writes_nothing(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)
    room.take_over_now()

    with pytest.raises(StaleEpochError):
        await room.executor.aexecute(call("write"), plan_of(tool), room.context())

    assert tool.entered == []
    assert await room.receipts.list_recent() == []
    assert room.parts.locks.keys_held == 0


async def test_lease_lost_after_the_receipt_begins_no_effect(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)
    room.points.actions["effect.before:write"] = room.take_over_now

    with pytest.raises(StaleEpochError):
        await room.executor.aexecute(call("write"), plan_of(tool), room.context())

    assert tool.entered == []
    assert (await receipt_of(room, room.context())).state is ReceiptState.PREPARED


async def test_lease_lost_while_an_effect_works_leaves_its_receipt_to_the_successor(
    room: GateRoom,
) -> None:
    tool = make_tool("write", Effect.MUTATE)
    room.points.actions["effect.after:write"] = room.take_over_now

    with pytest.raises(StaleEpochError):
        await room.executor.aexecute(call("write"), plan_of(tool), room.context())

    assert len(tool.entered) == 1
    assert (await receipt_of(room, room.context())).state is ReceiptState.PREPARED
    assert [kind for kind, _ in await room.timeline()] == ["tool_call"]


async def test_lost_lease_in_memory_begins_no_read(room: GateRoom) -> None:
    tool = make_tool("look")
    room.is_lease_held = False

    with pytest.raises(StaleEpochError):
        await room.executor.aexecute(call("look"), plan_of(tool), room.context())

    assert tool.entered == []


async def test_call_after_the_deadline_does_not_begin(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)

    outcome = await room.executor.aexecute(
        call("write"), plan_of(tool), room.context(deadline_s=-1)
    )

    assert refused_by(outcome) == "time.expired"
    assert tool.entered == []


async def test_resource_strategy_that_fails_refuses_the_call(room: GateRoom) -> None:
    def keys(_context: ToolContext, _arguments: JsonObject) -> tuple[str, ...]:
        raise FileRefusedError("The path is absolute.")

    for strategy, rule in ((keys, "resources.failed"), (lambda *_: (), "resources.none")):
        tool = make_tool("write", Effect.MUTATE, resources=strategy)
        outcome = await room.executor.aexecute(call("write"), plan_of(tool), room.context())
        assert refused_by(outcome) == rule
        assert tool.entered == []


async def test_effect_that_runs_out_of_time_is_uncertain(room: GateRoom) -> None:
    async def body(_context: ToolContext, _arguments: JsonObject) -> Ending:
        await asyncio.Event().wait()
        return Done("never")

    tool = make_tool("write", Effect.MUTATE, body, timeout_s=0.02)
    context = room.context()

    outcome = await room.executor.aexecute(call("write"), plan_of(tool), context)

    assert "did not end within 0.02 s" in outcome.result.text
    assert (await receipt_of(room, context)).state is ReceiptState.UNCERTAIN
    assert room.parts.locks.keys_held == 0


async def test_answer_given_while_being_stopped_still_counts(room: GateRoom) -> None:
    async def body(_context: ToolContext, _arguments: JsonObject) -> Ending:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return NotApplied("stopped in time")
        return Done("never")

    tool = make_tool("write", Effect.MUTATE, body, timeout_s=0.02)
    context = room.context()

    await room.executor.aexecute(call("write"), plan_of(tool), context)

    assert (await receipt_of(room, context)).state is ReceiptState.NOT_APPLIED


@pytest.mark.parametrize("happened", [True, False])
async def test_effect_without_an_answer_is_read_back_at_once(
    room: GateRoom, *, happened: bool
) -> None:
    async def reconcile(_context: ToolContext, _arguments: JsonObject) -> bool | None:
        return happened

    tool = make_tool("write", Effect.MUTATE, fail, reconcile=reconcile)
    context = room.context()

    outcome = await room.executor.aexecute(call("write"), plan_of(tool), context)

    receipt = await receipt_of(room, context)
    assert receipt.state is ReceiptState.RECONCILED
    assert receipt.settled_by == "runtime"
    assert outcome.result.is_error is not happened
    assert outcome.uncertain is None


def stubborn(work: threading.Event, entered: threading.Event) -> Counted:
    """A tool whose thread does not hear a cancellation."""

    def block() -> None:
        entered.set()
        work.wait(10)

    async def body(_context: ToolContext, _arguments: JsonObject) -> Ending:
        await run_to_end(block)
        return Done("at last")

    return make_tool("block", Effect.MUTATE, body, timeout_s=0.02)


async def test_abandoned_handler_keeps_its_key_until_its_thread_has_ended(room: GateRoom) -> None:
    work, entered = threading.Event(), threading.Event()
    blocking = stubborn(work, entered)
    looking = make_tool("look", timeout_s=0.05)
    plan = plan_of(blocking, looking)

    first = await room.executor.aexecute(call("block", "a"), plan, room.context(0))
    meanwhile = await room.executor.aexecute(call("look", "a"), plan, room.context(1))
    elsewhere = await room.executor.aexecute(call("look", "b"), plan, room.context(2))
    work.set()
    await until(lambda: room.parts.locks.keys_held == 0)
    afterwards = await room.executor.aexecute(call("look", "a"), plan, room.context(3))

    assert "still at work" in first.result.text
    assert refused_by(meanwhile) == "locks.busy"
    assert elsewhere.result.text == "done b"
    assert afterwards.result.text == "done a"


async def test_cancelled_effect_is_uncertain_and_keeps_its_key_while_it_works(
    room: GateRoom,
) -> None:
    work, entered = threading.Event(), threading.Event()
    blocking = replace(stubborn(work, entered).tool, timeout_s=5.0)
    context = room.context()
    running = asyncio.create_task(
        room.executor.aexecute(call("block", "a"), plan_of(Counted(blocking)), context)
    )
    await until(entered.is_set)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (await receipt_of(room, context)).state is ReceiptState.UNCERTAIN
    assert room.parts.locks.keys_held == 1
    work.set()
    await until(lambda: room.parts.locks.keys_held == 0)


async def test_effect_cancelled_before_it_began_is_not_applied(room: GateRoom) -> None:
    tool = make_tool("write", Effect.MUTATE)
    context = room.context()
    loop = asyncio.get_running_loop()

    def cancel() -> None:
        loop.call_soon_threadsafe(running.cancel)

    room.points.actions["commit.before:receipt.prepare"] = cancel
    running = asyncio.create_task(room.executor.aexecute(call("write"), plan_of(tool), context))
    with pytest.raises(asyncio.CancelledError):
        await running

    assert tool.entered == []
    assert (await receipt_of(room, context)).state is ReceiptState.NOT_APPLIED
    assert room.parts.locks.keys_held == 0


async def test_operation_id_is_known_to_the_receipt_list(room: GateRoom) -> None:
    failing = make_tool("fail", Effect.MUTATE, fail)
    context = room.context()

    await room.executor.aexecute(call("fail"), plan_of(failing), context)

    assert [r.id for r in await room.receipts.list_open()] == [ReceiptId(context.operation_id)]
    assert await room.receipts.has_open(context.session_id, context.turn_id)
