"""Two presses of one card in two processes on one database: exactly one decides."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest
from fakes.approval_room import APPROVER, DENY, LASTING, ONCE, ApprovalRoom, open_approval_room
from fakes.forked import run_module
from fakes.scripted_model import call, say
from fakes.spine_room import THREAD

from geode.store.tables import receipts

pytestmark = pytest.mark.timeout(60)
NOTE = ("note", {"text": "buy milk"})


async def press_in_processes(place: ApprovalRoom, folder: Path, *labels: str) -> list[list[str]]:
    """Each press in a process of its own, all at one word; what each was told."""
    post = place.open_cards()[0]
    ends = [folder / f"{number}.end" for number in range(len(labels))]
    told = [
        {
            "thread": THREAD.thread,
            "message": post.id,
            "who": APPROVER,
            "nonce": post.buttons[label],
            "key": f"press:{number}",
            "end": str(end),
            "go": str(folder / "go"),
        }
        for number, (label, end) in enumerate(zip(labels, ends, strict=True))
    ]
    database = str(place.room.store.path)
    running = [
        asyncio.create_task(run_module("fakes.press_at_once", database, orjson.dumps(one).decode()))
        for one in told
    ]
    async with asyncio.timeout(30):
        while not all(end.with_suffix(".ready").exists() for end in ends):
            assert not any(one.done() for one in running)
            await asyncio.sleep(0.01)
        (folder / "go").touch()
        assert await asyncio.gather(*running) == [0] * len(labels)
    return [orjson.loads(end.read_bytes()) for end in ends]


@pytest.mark.parametrize(
    "labels",
    [(ONCE, ONCE), (ONCE, DENY), (ONCE, LASTING, DENY, ONCE)],
    ids=["twice yes", "yes and no", "four"],
)
async def test_of_presses_in_several_processes_one_decides(
    tmp_path: Path, labels: tuple[str, ...]
) -> None:
    async with open_approval_room(tmp_path) as place:
        await place.ask(call(NOTE), say("over"))

        told = await press_in_processes(place, tmp_path, *labels)

        assert sorted(outcome for outcome, _ in told) == sorted(
            ["decided", *["refused"] * (len(labels) - 1)]
        )
        winner = labels[[outcome for outcome, _ in told].index("decided")]
        assert {why for outcome, why in told if outcome == "refused"} <= {"card.decided"}
        await place.go_on()
        allowed = winner != DENY
        assert place.entered("note") == allowed
        assert await place.ends() == ["approved" if allowed else "denied"]
        assert await place.room.rows(receipts.c.state) == ["committed"] * allowed
        assert await place.state() == "idle"
