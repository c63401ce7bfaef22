"""`run_bash` through the whole executor: a person's stop leaves no question and no block behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.gate_room import GateRoom, open_room, until
from fakes.sandbox_room import processes_with, require_sandbox

from geode.gate.policy import project_plan
from geode.messages import Mode, SessionId, ToolCall
from geode.ports import SystemClock
from geode.settings import Profile
from geode.steps import BoundToolPlan, Tool
from geode.store.receipts import ReceiptState
from geode.tools import run_bash, write_file
from geode.tools.workspace import Workspaces

GRANTED = Profile("p", frozenset({"run_bash", "write_file"}), frozenset())


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[GateRoom]:
    require_sandbox()
    async with open_room(tmp_path) as opened:
        yield opened


@pytest.fixture
def spaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "files")


def agreed(tool: Tool) -> Tool:
    """The same tool once a person said yes."""
    return replace(tool, policy=replace(tool.policy, approval="none"))


def plan_of(spaces: Workspaces) -> BoundToolPlan:
    shell = agreed(run_bash.build(spaces, SystemClock()))
    return project_plan([shell, write_file.build(spaces)], Mode.REPL, GRANTED)


def bash(command: str, call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, "run_bash", {"command": command})


async def test_command_runs_under_a_receipt(room: GateRoom, spaces: Workspaces) -> None:
    context = room.context(mode=Mode.REPL)

    outcome = await room.executor.aexecute(bash("echo hi"), plan_of(spaces), context)

    assert outcome.result.text == "hi\n[exit code 0]"
    receipt = await room.receipts.get(context.operation_id)
    assert receipt is not None
    assert receipt.state is ReceiptState.COMMITTED


async def test_stopped_command_is_read_back_and_the_next_one_runs(
    room: GateRoom, spaces: Workspaces, tmp_path: Path
) -> None:
    """AG-05: within two seconds nothing of it is alive, and nobody is asked what it did."""
    plan, context = plan_of(spaces), room.context(mode=Mode.REPL)
    call = bash(f"touch begun; sleep 601.{tmp_path.name[-1:]}01")
    running = asyncio.create_task(room.executor.aexecute(call, plan, context))
    await until((tmp_path / "files" / "s1" / "begun").exists)
    began = time.monotonic()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: room.parts.locks.keys_held == 0)

    assert time.monotonic() - began < 5
    assert processes_with("sleep\x00601.") == []
    batch = await room.receipts.recover_batch([(call, context)], {t.name: t for t in plan.tools})
    assert batch.uncertain == ()
    assert "cancelled" in batch.results[0].text
    assert "run_bash did happen" in batch.results[0].text
    again = room.context(1, mode=Mode.REPL)
    outcome = await room.executor.aexecute(bash("ls"), plan, again)
    assert outcome.result.text == "begun\n[exit code 0]"


async def test_command_stopped_before_it_began_did_not_happen(
    room: GateRoom, spaces: Workspaces
) -> None:
    plan, context = plan_of(spaces), room.context(mode=Mode.REPL)
    call = bash("touch made")
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(room.executor.aexecute(call, plan, context))
    room.points.actions["effect.window:run_bash"] = lambda: loop.call_soon(running.cancel) and None

    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: room.parts.locks.keys_held == 0)
    batch = await room.receipts.recover_batch([(call, context)], {t.name: t for t in plan.tools})

    assert "did not happen" in batch.results[0].text
    assert not spaces.has_session(SessionId("s1")) or "made" not in str(spaces)


async def test_writes_of_the_same_batch_wait_for_the_command(
    room: GateRoom, spaces: Workspaces, tmp_path: Path
) -> None:
    plan = plan_of(spaces)
    calls = [
        bash("sleep 0.5; [ -e a ] && echo mixed; echo command > a; sleep 0.3; cat a", "c1"),
        ToolCall("c2", "write_file", {"path": "a", "content": "written"}),
        bash("cat a", "c3"),
    ]

    batch = await room.processor.process(
        calls, plan, lambda position: room.context(position, mode=Mode.REPL)
    )

    assert [result.text for result in batch.results] == [
        "command\n[exit code 0]",
        "Replaced a (7 bytes).",
        "written\n[exit code 0]",
    ]
    assert (tmp_path / "files" / "s1" / "a").read_text() == "written"


async def test_command_past_the_turns_time_tells_what_it_printed(
    room: GateRoom, spaces: Workspaces
) -> None:
    context = room.context(mode=Mode.REPL, deadline_s=3.0)

    outcome = await room.executor.aexecute(bash("echo hi; sleep 60"), plan_of(spaces), context)

    assert outcome.uncertain is None
    assert outcome.result.is_error
    assert outcome.result.text.startswith("hi\n[timed out after")
    receipt = await room.receipts.get(context.operation_id)
    assert receipt is not None
    assert receipt.state is ReceiptState.COMMITTED
