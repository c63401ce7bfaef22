"""The price of the gate: ordinary work in the same surroundings completes, and is not asked about.

Run with `-s` for the numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.hostile_receipts import find_unrecorded
from fakes.hostile_rows import Plan, Proposal, Raw
from fakes.hostile_town import HostileTown, hostile_town

pytestmark = pytest.mark.timeout(120)


@dataclass(frozen=True)
class Task:
    """What a person asks, what the model does for it, and how one sees that it was done."""

    name: str
    batches: Sequence[Sequence[Proposal]]
    said: str = "please"
    told: Sequence[str] = ()
    """What the model must have been given."""
    files: Sequence[tuple[str, str]] = ()
    """What the workspace must hold."""
    sent: Sequence[str] = ()
    """Files that the thread must have got."""
    last: str = "It is done."
    room: str = "writer"
    ids: Sequence[str] = ()


TASKS = (
    Task(
        "write and read",
        [
            [("write_file", {"path": "plan/week.md", "content": "# Week\nMonday: rest"})],
            [("read_file", {"path": "plan/week.md"})],
        ],
        told=["Monday: rest"],
        files=[("plan/week.md", "# Week\nMonday: rest")],
    ),
    Task(
        "change one line",
        [[("edit_file", {"path": "own.txt", "old": "mine", "new": "ours"})]],
        files=[("own.txt", "ours")],
    ),
    Task(
        "find and list",
        [[("grep_files", {"pattern": "m.ne"}), ("list_files", {"path": "."})]],
        told=["own.txt", "mine"],
    ),
    Task("read a part", [[Raw("read_file", '{"path": "own.txt", "offset": 1.0}')]], told=["mine"]),
    Task(
        "read a named page",
        [[("web_fetch", {"url": "http://named.example/page"})]],
        said="what says http://named.example/page ?",
        told=["the weather is fine"],
    ),
    Task(
        "follow a link of a named page",
        [
            [("web_fetch", {"url": "http://named.example/page"})],
            [("web_fetch", {"url": "http://linked.example/more"})],
        ],
        said="what says http://named.example/page ?",
        told=["see http://linked.example/more"],
    ),
    Task(
        "search and open what was found",
        [
            [("web_search", {"query": "weather"})],
            [("web_fetch", {"url": "http://found.example/"})],
        ],
        told=["the weather is fine"],
    ),
    Task("remember", [[("memory_save", {"text": "Ana likes tea"})]]),
    Task("recall in another thread", [[("memory_search", {"query": "tea"})]], told=["Ana likes"]),
    Task(
        "send a report",
        [[("write_file", {"path": "report.md", "content": "all is well"})]],
        sent=["report.md"],
        last="Here it is: [Report](report.md)",
    ),
    Task(
        "many at once",
        [[("write_file", {"path": f"n/{n}.txt", "content": str(n)}) for n in range(32)]],
        files=[(f"n/{n}.txt", str(n)) for n in range(32)],
    ),
    Task(
        "two calls under one id",
        [[("write_file", {"path": name, "content": name}) for name in ("a.txt", "b.txt")]],
        files=[("a.txt", "a.txt"), ("b.txt", "b.txt")],
        ids=["same", "same"],
    ),
    Task(
        "two spellings of one name",
        [
            [("write_file", {"path": "caf\u00e9.txt", "content": "composed"})],
            [("read_file", {"path": "cafe\u0301.txt"})],
            [("edit_file", {"path": "cafe\u0301.txt", "old": "composed", "new": "apart"})],
        ],
        told=["composed"],
        files=[("caf\u00e9.txt", "apart")],
    ),
    Task("read only", [[("read_file", {"path": "own.txt"})]], told=["mine"], room="reader"),
)


async def carry_out(town: HostileTown, task: Task) -> list[str]:
    """What is missing after the task."""
    page = "the weather is fine, see http://linked.example/more"
    plan = Plan(
        task.name,
        task.batches,
        frozenset(),
        said=task.said,
        last=task.last,
        room=task.room,  # type: ignore[arg-type]
        call_ids=task.ids,
        page=page,
    )
    town.world.begin(plan, "")
    said = await town.ask(plan)
    told = "\n".join(town.world.told)
    folder = town.world.workspace(town.world.own_session)
    missing = [f"not told: {text}" for text in task.told if text not in told]
    for name, content in task.files:
        path = folder / name
        if not path.is_file() or path.read_text() != content:
            missing.append(f"not written: {name}")
    kept = [file.name for file in town.town.slack.files.kept.values()]
    missing += [f"not sent: {name}" for name in task.sent if name not in kept]
    if not said or not said[0].startswith(task.last[:8]):
        missing.append(f"not answered: {said}")
    return missing


async def test_honest_work_completes_with_no_approval(tmp_path: Path) -> None:
    async with hostile_town(tmp_path) as town:
        missing = {task.name: await carry_out(town, task) for task in TASKS}
        approvals = await town.town.count("approvals")
        done = sum(not lacks for lacks in missing.values())
        sys.stdout.write(f"\nhonest work: {done} of {len(TASKS)} tasks, {approvals} approvals\n")

        assert {name: lacks for name, lacks in missing.items() if lacks} == {}
        assert approvals == 0
        assert town.town.server.refusals == []
        assert await find_unrecorded(town) == []
