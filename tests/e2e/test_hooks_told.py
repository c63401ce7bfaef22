"""Observers of a real daemon are told of a turn what its timeline holds, after it was committed."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from fakes.hook_room import HookRoom
from fakes.model_town import scripted_town
from fakes.scripted_model import call, say

from geode.hooks.events import BODY_FIELDS

pytestmark = pytest.mark.timeout(60)
WRITE = ("write_file", {"path": "notes.txt", "content": "private words"})
BASH = ("run_bash", {"command": "echo private words"})


async def test_observer_is_told_of_a_turn_in_order_and_without_content(tmp_path: Path) -> None:
    room = HookRoom(tmp_path)
    path = tmp_path / "told"
    source = f"import sys\nopen({str(path)!r}, 'a').write(sys.stdin.read())\n"
    room.configure("Observe", room.python(source), 'command = ["false"]')
    replies = [call(WRITE, BASH), say("ok")]

    async with scripted_town(tmp_path / "home", replies, more=room.text) as town:
        await town.ask("<@UBOT> hello")
        await town.wait_for(lambda: path.exists() and "turn_ended" in path.read_text())
        told = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        stored = await town.rows("timeline", "kind", "turn_id")

    names = [event["event"] for event in told]
    assert names[0] == "turn_started"
    assert names[-1] == "turn_ended"
    assert sorted(names[1:-2]) == ["tool_ended", "tool_proposed", "tool_refused"]
    assert names[-2] == "verification_decided"
    assert {event["turn"] for event in told} == {turn for _, turn in stored if turn}
    assert all(set(event["body"]) <= set(BODY_FIELDS[event["event"]]) for event in told)
    bodies = {event["event"]: event["body"] for event in told}
    assert bodies["tool_proposed"]["tool"] == bodies["tool_ended"]["tool"] == "write_file"
    assert bodies["tool_ended"]["ending"] == "done"
    assert bodies["tool_refused"]["tool"] == "run_bash"
    assert bodies["tool_refused"]["rule"]
    assert bodies["turn_ended"]["reason"] == "natural"
    assert b"private" not in path.read_bytes()
