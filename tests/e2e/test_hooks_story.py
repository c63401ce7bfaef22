"""Hooks in a thread: real commands beside a real daemon, judged by what happened and was told."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from fakes.hook_room import HookRoom
from fakes.model_town import scripted_town
from fakes.scripted_model import call, say

from geode.messages import JsonObject, ToolResult

pytestmark = pytest.mark.timeout(60)
WRITE = ("write_file", {"path": "notes.txt", "content": "first words"})
WITHHOLD = '{"decision": "withhold", "reason": "Private."}'
PROCEED = '{"decision": "proceed"}'


@pytest.fixture
def room(tmp_path: Path) -> HookRoom:
    folder = tmp_path / "hooks"
    folder.mkdir()
    return HookRoom(folder)


async def tell(
    room: HookRoom, *calls: tuple[str, JsonObject], binding: str = ""
) -> tuple[list[ToolResult], dict[str, str], list[tuple[str, str]]]:
    """One turn with these calls: what the model was told, the files, and the receipts."""
    home = room.folder.parent / "home"
    replies = [call(*calls), say("ok")]
    async with scripted_town(home, replies, more=room.text, binding=binding) as town:
        await town.ask("<@UBOT> hello")
        results = list(town.model.steps[1].messages[-1].results)
        receipts = await town.rows("receipts", "tool", "state")
        return results, _read_files(home), receipts


def _read_files(home: Path) -> dict[str, str]:
    found = [path for path in (home / "files").rglob("*") if path.is_file()]
    return {path.name: path.read_text(encoding="utf-8") for path in found}


async def test_blocked_call_leaves_nothing_and_the_model_is_told_why(room: HookRoom) -> None:
    room.configure(
        "PreToolUse", room.answering('{"decision": "block", "reason": "Not on a Sunday."}')
    )

    (result,), files, receipts = await tell(room, WRITE)

    assert result.is_error
    assert "hook.blocked" in result.text
    assert "PreToolUse[1]" in result.text
    assert "Not on a Sunday." in result.text
    assert (files, receipts) == ({}, [])


async def test_hook_about_another_tool_is_not_asked(room: HookRoom) -> None:
    room.configure(
        "PreToolUse", f'{room.answering("nonsense")}, tools = ["web_fetch", "memory_save"]'
    )

    (result,), files, receipts = await tell(room, WRITE)

    assert not result.is_error
    assert files == {"notes.txt": "first words"}
    assert receipts == [("write_file", "committed")]


@pytest.mark.parametrize(
    "entry",
    ['command = ["false"]', 'command = ["true"]', 'command = ["sleep", "60"], timeout_s = 1'],
)
async def test_broken_hook_denies(room: HookRoom, entry: str) -> None:
    room.configure("PreToolUse", entry)

    (result,), files, receipts = await tell(room, WRITE)

    assert "hook.failed" in result.text
    assert (files, receipts) == ({}, [])


async def test_rewritten_call_runs_as_it_was_rewritten(room: HookRoom) -> None:
    arguments = {"path": "other.txt", "content": "other words"}
    answer = {"decision": "rewrite", "arguments": arguments}
    room.configure("PreToolUse", room.answering(orjson.dumps(answer).decode()))

    (result,), files, receipts = await tell(room, WRITE)

    assert not result.is_error
    assert files == {"other.txt": "other words"}
    assert receipts == [("write_file", "committed")]


REWRITES: dict[str, tuple[JsonObject, str]] = {
    "schema": ({"path": "notes.txt"}, "schema."),
    "more": ({"path": "a", "content": "b", "mode": "x"}, "schema."),
    "type": ({"path": 3, "content": "b"}, "schema."),
    "outside": ({"path": "../geode.toml", "content": "b"}, ""),
    "absolute": ({"path": "/etc/hostname", "content": "b"}, ""),
}


@pytest.mark.parametrize(("arguments", "rule"), REWRITES.values(), ids=REWRITES)
async def test_rewrite_passes_every_check_again(
    room: HookRoom, arguments: JsonObject, rule: str
) -> None:
    answer = {"decision": "rewrite", "arguments": arguments}
    room.configure("PreToolUse", room.answering(orjson.dumps(answer).decode()))

    (result,), files, receipts = await tell(room, WRITE)

    assert result.is_error
    assert rule in result.text
    assert files == {}
    assert [state for _, state in receipts if state == "committed"] == []


async def test_request_for_a_person_is_a_denial_where_nobody_approves(room: HookRoom) -> None:
    room.configure("PreToolUse", room.answering('{"decision": "ask", "reason": "Sure?"}'))

    (result,), files, receipts = await tell(room, WRITE)

    assert result.is_error
    assert (files, receipts) == ({}, [])


async def test_withheld_result_stays_from_the_model_and_the_effect_on_record(
    room: HookRoom,
) -> None:
    reading = ("read_file", {"path": "notes.txt"})
    room.configure("PostToolUse", room.answering(WITHHOLD))

    results, files, receipts = await tell(room, WRITE, reading)

    assert files == {"notes.txt": "first words"}
    assert receipts == [("write_file", "committed")]
    assert all("withheld by the hook PostToolUse[1]" in result.text for result in results)
    assert all("first words" not in result.text for result in results)


async def test_broken_hook_behind_a_call_withholds(room: HookRoom) -> None:
    room.configure("PostToolUse", 'command = ["false"]')

    (result,), files, receipts = await tell(room, WRITE)

    assert "withheld" in result.text
    assert files == {"notes.txt": "first words"}
    assert receipts == [("write_file", "committed")]


async def test_added_text_stands_beside_the_result_as_data(room: HookRoom) -> None:
    answer = '{"decision": "add_context", "text": "Files are kept for a day."}'
    room.configure("PostToolUse", room.answering(answer))

    (result,), _, _ = await tell(room, WRITE)

    assert not result.is_error
    assert "Files are kept for a day." in result.text
    assert "PostToolUse[1]" in result.text


async def test_hook_behind_a_call_sees_errors_too(room: HookRoom) -> None:
    path = room.folder / "seen"
    source = (
        f"import sys\nopen({str(path)!r}, 'a').write(sys.stdin.read())\n"
        'print(\'{"decision": "keep"}\')\n'
    )
    room.configure("PostToolUse", room.python(source))
    edit = ("edit_file", {"path": "none.txt", "old": "a", "new": "b"})

    results, _, _ = await tell(room, ("read_file", {"path": "none.txt"}), edit, WRITE)

    seen = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert sorted((row["tool"], row["ending"], row["is_error"]) for row in seen) == [
        ("edit_file", "not_applied", True),
        ("read_file", "not_applied", True),
        ("write_file", "done", False),
    ]
    assert {row["text"] for row in seen} == {result.text for result in results}


async def test_refused_call_reaches_no_hook_behind_it(room: HookRoom) -> None:
    path = room.folder / "seen"
    note = f"open({str(path)!r}, 'a').write('x')\n"
    room.configure("PreToolUse", room.python(f"{note}print({PROCEED!r})"))
    room.configure("PostToolUse", room.python(f'{note}print(\'{{"decision": "keep"}}\')'))

    results, _, _ = await tell(
        room, ("run_bash", {"command": "id"}), ("nobody", {}), ("write_file", {"path": "a"})
    )

    assert all(result.text.startswith("Refused (") for result in results)
    assert not path.exists()


ASKING = 'approvers = ["U0ANA"]'


@pytest.mark.parametrize(
    ("answer", "is_asked"),
    [(PROCEED, True), ('{"decision": "block", "reason": "Never."}', False), ("ok", False)],
    ids=["proceeds", "blocks", "nonsense"],
)
async def test_person_is_asked_only_when_no_hook_says_no_in_their_place(
    room: HookRoom, answer: str, *, is_asked: bool
) -> None:
    ask = '{"decision": "ask", "reason": "Sure?"}'
    room.configure("PreToolUse", room.answering(ask))
    room.configure("PermissionRequest", room.answering(answer))
    home = room.folder.parent / "home"

    replies = [call(WRITE), say("ok")]
    async with scripted_town(home, replies, more=room.text, binding=ASKING) as town:
        await town.slack.say("<@UBOT> hello")
        await town.wait_for(lambda: len(town.model.steps) == (1 if is_asked else 2))
        await town.wait_idle()
        cards = await town.rows("cards", "kind", "state")
        states = await town.rows("approvals", "state")
        results = [each for step in town.model.steps[1:] for each in step.messages[-1].results]

    assert _read_files(home) == {}
    assert cards == ([("approval", "open")] if is_asked else [])
    assert states == (["pending"] if is_asked else [])
    assert [("hook.denied" in each.text or "hook.failed" in each.text) for each in results] == (
        [] if is_asked else [True]
    )
