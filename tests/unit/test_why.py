"""/why and `geode sessions why`: the steps of one call in words, for whoever may know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.commanding import give, told
from fakes.family_room import TASK, family_worker, find_child, open_family_room, say_attended
from fakes.scripted_model import call, say
from fakes.spine_room import SpineRoom, open_room, place_thread

from geode.cli.why import report_why
from geode.errors import ControlError
from geode.gate.policy import Allow, Ask, Deny, Verdict
from geode.gate.trace import TraceStep
from geode.gate.why import place_of, tell_call
from geode.intake.desk import Desk
from geode.intake.inbox import Inbox
from geode.messages import JsonObject, JsonValue, Mode, SessionId
from geode.reply import command_sentences as said
from geode.serve.control import Control
from geode.serve.why import WhyGround
from geode.session.redeciding import decide_now
from geode.settings import Settings
from geode.store.calls import StoredCall, TracedStep, find_call
from geode.store.tables import receipts, timeline
from geode.store.timeline import TimelineEntry, append_entries

SECRET_ARGUMENT = "the plan of Ada"


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


async def note(room: SpineRoom, session_id: SessionId, kind: str, body: JsonObject) -> int:
    """Put an entry on the timeline, and return its number."""
    entry = TimelineEntry(kind, body, "t1")
    await room.store.write("note", lambda tx: append_entries(tx, session_id, [entry], 1_000_000))
    return (await room.rows(timeline.c.seq, order=timeline.c.seq, session_id=session_id))[-1]


def trace_to_json(steps: Sequence[TraceStep]) -> list[JsonValue]:
    """As a timeline row keeps it."""
    return [[step.stage, step.answer, step.rule, step.note] for step in steps]


def refusal(*trace: TraceStep, operation: str = "rabc", rule: str = "") -> JsonObject:
    return {
        "operation": operation,
        "call_id": "toolu_1",
        "tool": "write_file",
        "rule": rule or trace[-1].rule,
        "reason": "write_file is not granted in a chat thread.",
        "trace": trace_to_json(trace),
    }


NOT_GRANTED = refusal(TraceStep("scope", "refuse", "profile.not_granted"))
WRITTEN: JsonObject = {
    "operation": "rdef",
    "call_id": "toolu_2",
    "tool": "write_file",
    "effect": "mutate",
    "rule": "profile.granted",
    "arguments": f'{{"path":"a","content":"{SECRET_ARGUMENT}"}}',
    "trace": trace_to_json(
        [
            TraceStep("scope", "pass", "profile.granted"),
            TraceStep("policy", "ask", "policy.ask", "by <@U9> *now*"),
        ]
    ),
}


async def say_hello(room: SpineRoom, thread: int = 1) -> SessionId:
    await room.say("hello", thread=place_thread(thread))
    return await room.session_id(place_thread(thread))


async def test_why_of_a_refusal_tells_its_steps_and_the_grant_that_is_missing(
    room: SpineRoom,
) -> None:
    number = await note(room, await say_hello(room), "tool_refused", NOT_GRANTED)

    answer = await told(room, "why", "U2", argument=f"c{number}")

    lines = answer.splitlines()
    assert lines[0].startswith(f"`c{number}` write\\_file was refused, ")
    assert lines[1] == (
        "1. scope: refused, `profile.not_granted`: the profile does not name the tool"
    )
    assert 'adds "write_file" to `[profiles.spine] tools`' in answer
    assert "names `approvers` in the binding `loop:T1/C1`" in answer


@pytest.mark.parametrize("word", ["rabc", "toolu_1", "c{number}", "{number}", "C{number}"])
async def test_why_finds_a_call_by_each_of_its_ids(room: SpineRoom, word: str) -> None:
    number = await note(room, await say_hello(room), "tool_refused", NOT_GRANTED)

    answer = await told(room, "why", argument=word.format(number=number))

    assert answer.startswith(f"`c{number}`")


@pytest.mark.parametrize("word", ["rother", "toolu_other", "c{number}", "r%", '"', "x" * 300])
async def test_why_says_the_same_of_another_threads_call_as_of_none(
    room: SpineRoom, word: str
) -> None:
    elsewhere = await say_hello(room, 2)
    body = refusal(TraceStep("scope", "refuse", "mode.removed"), operation="rother")
    for _ in range(9):
        number = await note(room, elsewhere, "tool_refused", body | {"call_id": "toolu_other"})
    await say_hello(room)
    word = word.format(number=number)

    answer = await told(room, "why", argument=word)

    assert answer == said.describe_unknown_call(word)


async def test_why_shows_arguments_to_operators_in_private_only(room: SpineRoom) -> None:
    number = await note(room, await say_hello(room), "tool_call", WRITTEN)
    word = f"c{number}"

    for_operator = await told(room, "why", "U1", argument=word)
    for_person = await told(room, "why", "U2", argument=word)
    await give(room, "why", "U1", argument=word, dedupe_key="public")
    (public,) = await room.said("command")

    assert SECRET_ARGUMENT in for_operator
    assert "allowed" in for_person
    for answer in (for_person, public):
        assert SECRET_ARGUMENT not in answer
    assert "geode sessions why" in public


async def test_why_shows_notes_as_words_and_tells_how_it_ended(room: SpineRoom) -> None:
    session_id = await say_hello(room)
    number = await note(room, session_id, "tool_call", WRITTEN)
    hook = [["post_tool_use", "refuse", "hook.withheld", "guard"]]
    ended: JsonObject = {"operation": "rdef", "ending": "applied_with_error", "trace": [*hook]}
    await note(room, session_id, "tool_outcome", ended)

    answer = await told(room, "why", argument=f"c{number}")

    assert "It ended: applied with error." in answer
    assert "(by \\<@U9\\> \\*now\\*)" in answer
    assert "3. post tool use: refused, `hook.withheld`" in answer


async def test_why_of_a_record_without_steps_tells_its_rule(room: SpineRoom) -> None:
    body = {name: value for name, value in NOT_GRANTED.items() if name != "trace"}
    number = await note(room, await say_hello(room), "tool_refused", body)

    answer = await told(room, "why", argument=f"c{number}")

    assert "1. refused, `profile.not_granted`: the profile does not name the tool" in answer


async def test_why_says_what_the_settings_of_now_would_decide_otherwise(room: SpineRoom) -> None:
    asked: list[tuple[str, Mode, str]] = []

    def allow(tool: str, mode: Mode, binding: str) -> Verdict:
        asked.append((tool, mode, binding))
        return Allow("profile.granted")

    room.door = Inbox(
        room.store, room.clock, room.settings, room.wakes, Desk("m", decide_now=allow)
    )
    number = await note(room, await say_hello(room), "tool_refused", NOT_GRANTED)

    answer = await told(room, "why", argument=f"c{number}")

    assert "Decided again with the present settings, for comparison: it would be allowed" in answer
    assert asked == [("write_file", Mode.DAEMON, "loop:T1/C1")]


def stored(rule: str, trace: Sequence[TracedStep] = (), *, is_refused: bool = True) -> StoredCall:
    return StoredCall(
        SessionId("s"), 1, 0, "r1", "write_file", is_refused, rule, "", "", tuple(trace)
    )


GRANTED = TracedStep("scope", "pass", "scope.in_plan", "")
ASKS = TracedStep("policy", "ask", "policy.ask", "")


@pytest.mark.parametrize(
    ("call_then", "verdict", "differs"),
    [
        (stored("profile.not_granted"), Deny("profile.not_granted", ""), False),
        (stored("profile.not_granted"), Deny("mode.removed", ""), True),
        (stored("profile.not_granted"), Ask("policy.ask"), True),
        (stored("schema.mismatch"), Allow("profile.granted"), False),
        (stored("schema.mismatch"), Deny("profile.not_granted", ""), True),
        (stored("approval.denied", [GRANTED, ASKS]), Ask("policy.ask"), False),
        (stored("ask.no_approver", [GRANTED, ASKS]), Deny("ask.no_approver", ""), False),
        (stored("ask.no_approver", [GRANTED, ASKS]), Ask("policy.ask"), True),
        (stored("profile.granted", [GRANTED], is_refused=False), Allow("x.y"), False),
        (stored("profile.granted", is_refused=False), Deny("mode.removed", ""), True),
    ],
)
def test_decision_of_now_is_told_only_when_it_differs(
    call_then: StoredCall, verdict: Verdict, differs: bool
) -> None:
    place = place_of(Settings(), "gone", Mode.DAEMON, is_child=False)

    assert bool(tell_call(call_then, place, lambda *_: verdict).now) is differs


def test_call_of_a_child_is_not_decided_again() -> None:
    place = place_of(Settings(), "b", Mode.HEADLESS, is_child=True)

    assert not tell_call(stored("mode.removed"), place, lambda *_: Allow("profile.granted")).now


async def test_present_decision_follows_profile_and_mode(room: SpineRoom) -> None:
    services = room.worker().runner._services
    key = "loop:T1/C1"

    answers = {
        tool: decide_now(services, tool, Mode.DAEMON, key).rule
        for tool in ("read_file", "memory_save", "run_bash", "no_such_tool")
    }

    assert answers["read_file"] == "profile.granted"
    assert answers["memory_save"] == "profile.not_granted"
    assert answers["run_bash"] == "mode.removed"
    assert answers["no_such_tool"] == "scope.unknown_tool"
    assert decide_now(services, "read_file", Mode.DAEMON, "gone").rule == "policy.missing"


async def test_call_of_a_child_is_found_by_its_id_in_the_parents_thread(tmp_path: Path) -> None:
    async with open_family_room(tmp_path) as room:
        parent = await say_attended(room)
        listing = call(("list_files", {"path": "."}), TASK)
        worker = family_worker(room, replies=[call(TASK), listing, say("a"), say("b")])
        await worker.runner.run_session(parent)
        child = await find_child(room, parent)
        rows = await room.rows(timeline.c.kind, timeline.c.body, order=timeline.c.seq)
        (refused,) = [body for kind, body in rows if kind == "tool_refused"]

        found = await room.store.read(lambda tx: find_call(tx, parent, _operation_of(refused)))

        assert found is not None
        assert (found.session_id, found.tool, found.is_refused) == (child, TASK[0], True)


def _operation_of(body: str) -> str:
    return body.partition('"operation":"')[2].partition('"')[0]


def control_of(room: SpineRoom, **ground: Any) -> Control:
    view: Any = None
    return Control(view, room.store, room.clock, WhyGround(lambda: room.settings, **ground))


async def test_terminal_lists_a_sessions_calls_and_tells_all_of_one(room: SpineRoom) -> None:
    session_id = await say_hello(room)
    first = await note(room, session_id, "tool_refused", NOT_GRANTED)
    second = await note(room, session_id, "tool_call", WRITTEN)
    verb = control_of(room, decide_now=lambda *_: Deny("mode.removed", "")).verbs["sessions.why"]

    listed = report_why(await verb({"id": session_id}))  # type: ignore[arg-type]
    one = report_why(await verb({"id": session_id, "call": f"c{second}"}))  # type: ignore[arg-type]

    lines = listed.splitlines()
    assert lines[1].split()[:3] == [f"c{second}", "allowed", "write_file"]
    assert lines[2].split()[:4] == [f"c{first}", "refused", "write_file", "profile.not_granted"]
    assert SECRET_ARGUMENT in one
    assert "Decided again with the present settings, for comparison: it would be refused" in one
    assert "each call of the tool needs a person's approval (by <@U9> *now*)" in one


async def test_terminal_says_which_session_or_call_there_is_none_of(room: SpineRoom) -> None:
    session_id = await say_hello(room)
    verb = control_of(room).verbs["sessions.why"]

    with pytest.raises(ControlError, match="There is no session 'nope'"):
        await verb({"id": "nope"})
    with pytest.raises(ControlError, match="has no call 'c9'"):
        await verb({"id": session_id, "call": "c9"})
    assert report_why(await verb({"id": session_id})) == "No tool call yet."  # type: ignore[arg-type]


async def test_call_that_ran_is_told_with_its_ending(room: SpineRoom) -> None:
    session_id = await say_hello(room)
    writing = call(("write_file", {"path": "a.txt", "content": "x"}))
    worker = room.worker(replies=[writing, say("done")])
    await worker.runner.run_session(session_id)
    (operation,) = await room.rows(receipts.c.id)

    answer = await told(room, "why", argument=operation)

    assert "write\\_file was allowed" in answer
    assert "It ended: done." in answer
    steps = [line for line in answer.splitlines() if line[:1].isdigit()]
    stages = [line.partition(". ")[2].partition(":")[0] for line in steps]
    assert stages == ["scope", "policy", "schema", "locks", "receipt"]
    assert "`profile.granted`: the profile grants the tool" in answer


def test_words_of_a_call_do_not_depend_on_who_looks() -> None:
    place = place_of(Settings(), "b", Mode.DAEMON, is_child=False)
    one = stored("profile.not_granted")

    assert tell_call(one, place, None).change == tell_call(replace(one, seq=2), place, None).change
