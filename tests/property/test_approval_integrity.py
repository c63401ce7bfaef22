"""What a person approved runs once; the same with anything changed does not run at all."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from fakes.empty_database import lay_database
from fakes.gate_room import Counted, GateRoom, make_tool, open_room
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from geode.gate.executor import CallOutcome, ToolExecutor
from geode.gate.policy import project_plan
from geode.llm.arguments import parse_call
from geode.messages import JsonObject, Mode, SessionId, TurnId
from geode.settings import Profile
from geode.steps import BoundToolPlan, DataClass, Effect, Tool, ToolContext
from geode.store.approvals import APPROVED, ONCE, Word, add_approval, decide_approval

OPEN: JsonObject = {
    "type": "object",
    "properties": {name: {} for name in ("text", "to", "more")},
    "additionalProperties": False,
}
NAME = "send"
scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8)
values = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
arguments = st.dictionaries(st.sampled_from(["text", "to", "more"]), values, min_size=1)
Asked: TypeAlias = "tuple[str, Tool, ToolContext]"
"""The argument text, the tool and the context of one call."""


def plan_with(tool: Tool) -> BoundToolPlan:
    """A plan in which the tool asks."""
    return project_plan([tool], Mode.DAEMON, Profile("p", frozenset(), frozenset({tool.name})))


class Desk:
    """A gate with one approver, over one store."""

    def __init__(self, room: GateRoom) -> None:
        self.room = room
        self.executor = ToolExecutor(room.parts, approvers=("U9",))

    async def run(self, asked: Asked, *, approves: bool = False) -> CallOutcome:
        """Execute the call as the loop does; the question, if it asks one, may be answered yes."""
        text, tool, context = asked
        call = parse_call("c1", tool.name, text)
        outcome = await self.executor.aexecute(call, plan_with(tool), context)
        new = outcome.asks
        if new is not None and approves:
            word = Word(APPROVED, "loop:U9", scope=ONCE)

            def decide(tx: Any) -> None:
                add_approval(tx, new, 1, expires_at_us=0)
                assert decide_approval(tx, new.id, word, 2)

            await self.room.store.write("approve", decide)
        return outcome


def context_of(room: GateRoom, **more: Any) -> ToolContext:
    """Ana's call."""
    return replace(room.context(), requesters=("U1",), **more)


def flip(text: str, where: int, bit: int) -> str:
    """The text with one bit of one byte changed."""
    raw = bytearray(text.encode())
    raw[where % len(raw)] ^= 1 << bit
    return raw.decode("utf-8", "replace")


CHANGES: dict[str, Callable[[Asked], Asked]] = {
    "session": lambda a: (a[0], a[1], replace(a[2], session_id=SessionId("s2"))),
    "turn": lambda a: (a[0], a[1], replace(a[2], turn_id=TurnId("t2"))),
    "step": lambda a: (a[0], a[1], replace(a[2], step=2)),
    "position": lambda a: (a[0], a[1], replace(a[2], position=1)),
    "requester": lambda a: (a[0], a[1], replace(a[2], requesters=("U2",))),
    "one more requester": lambda a: (a[0], a[1], replace(a[2], requesters=("U1", "U2"))),
    "no requester": lambda a: (a[0], a[1], replace(a[2], requesters=())),
    "binding": lambda a: (a[0], a[1], replace(a[2], binding="slack:T1/C2")),
    "description": lambda a: (a[0], replace(a[1], description="other"), a[2]),
    "schema": lambda a: (a[0], replace(a[1], schema={**OPEN, "title": "x"}), a[2]),
    "effect": lambda a: (a[0], _with_policy(a[1], effect=Effect.EXECUTE), a[2]),
    "data class": lambda a: (a[0], _with_policy(a[1], data_class=DataClass.PERSONAL), a[2]),
    "modes": lambda a: (a[0], _with_policy(a[1], modes=frozenset({Mode.DAEMON})), a[2]),
    "reach": lambda a: (a[0], replace(a[1], reaches_out=True), a[2]),
    "name": lambda a: (a[0], replace(a[1], name="sent"), a[2]),
}


def _with_policy(tool: Tool, **more: Any) -> Tool:
    return replace(tool, policy=replace(tool.policy, **more))


def in_room(story: Callable[[Desk, Counted], Any]) -> None:
    """Tell a story in a fresh room, with one tool that counts what it did."""

    async def tell(folder: Path) -> None:
        lay_database(folder / "geode.db")
        async with open_room(folder) as room:
            await room.add_session("s2")
            tool = make_tool(NAME, Effect.COMMUNICATE, schema=OPEN, resources=lambda _c, _a: ("k",))
            await story(Desk(room), tool)

    with TemporaryDirectory() as folder:
        asyncio.run(tell(Path(folder)))


@settings(max_examples=25)
@given(arguments, st.sampled_from([*CHANGES]))
def test_change_around_the_call_after_a_yes_dispatches_nothing(
    given_arguments: JsonObject, change: str
) -> None:
    async def story(desk: Desk, tool: Counted) -> None:
        asked = (json.dumps(given_arguments), tool.tool, context_of(desk.room))
        await desk.run(asked, approves=True)

        changed = await desk.run(CHANGES[change](asked))

        assert tool.entered == []
        assert changed.asks is not None or (changed.result is not None and changed.result.is_error)
        done = await desk.run(asked)
        assert done.result is not None
        assert not done.result.is_error
        assert tool.entered == [given_arguments]

    in_room(story)


@settings(max_examples=60)
@given(arguments, st.integers(0, 10_000), st.integers(0, 7))
def test_one_bit_of_the_arguments_changed_after_a_yes_dispatches_nothing(
    given_arguments: JsonObject, where: int, bit: int
) -> None:
    text = json.dumps(given_arguments, ensure_ascii=False)
    twisted = flip(text, where, bit)
    read = parse_call("c", NAME, twisted).arguments
    assume(read is None or canonical(read) != canonical(given_arguments))

    async def story(desk: Desk, tool: Counted) -> None:
        context = context_of(desk.room)
        await desk.run((text, tool.tool, context), approves=True)

        changed = await desk.run((twisted, tool.tool, context))

        assert tool.entered == []
        assert changed.result is not None
        assert changed.result.is_error

    in_room(story)


def canonical(value: Any) -> Any:
    """Equal for equal JSON, told apart as JSON tells it."""
    if isinstance(value, dict):
        return {key: canonical(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [canonical(inner) for inner in value]
    return (type(value) is bool, value)


@pytest.mark.parametrize(
    ("approved", "proposed", "runs"),
    [
        pytest.param('{"to": 1, "text": "a"}', '{"text":"a","to":1}', True, id="order of keys"),
        pytest.param('{"to": 1}', '{"to": 1.0}', True, id="1 and 1.0"),
        pytest.param('{"to": 0}', '{"to": -0.0}', True, id="0 and -0"),
        pytest.param('{"text": "\\u0061"}', '{"text": "a"}', True, id="escape"),
        pytest.param('{"to": 1}', '{"to": "1"}', False, id="number and text"),
        pytest.param('{"to": 1}', '{"to": true}', False, id="number and truth"),
        pytest.param('{"to": 1}', '{"to": 1.0000000000000002}', False, id="last place"),
        pytest.param('{"to": [1, 2]}', '{"to": [2, 1]}', False, id="order of items"),
        pytest.param('{"to": null}', "{}", False, id="null and nothing"),
        pytest.param('{"to": 1}', '{"to": 1, "to": 2}', False, id="key twice"),
        pytest.param('{"text": "a"}', '{"text": "a "}', False, id="space"),
        pytest.param('{"text": "a"}', '{"text": "a\\u200b"}', False, id="unseen"),
        pytest.param(
            f'{{"text": "{unicodedata.normalize("NFC", "é")}"}}',
            f'{{"text": "{unicodedata.normalize("NFD", "é")}"}}',
            False,
            id="composed and apart",
        ),
    ],
)
def test_equal_json_is_the_approved_call_and_all_else_is_not(
    approved: str, proposed: str, *, runs: bool
) -> None:
    async def story(desk: Desk, tool: Counted) -> None:
        context = context_of(desk.room)
        await desk.run((approved, tool.tool, context), approves=True)

        outcome = await desk.run((proposed, tool.tool, context))

        assert outcome.result is not None
        assert outcome.result.is_error is not runs
        assert len(tool.entered) == runs

    in_room(story)


@pytest.mark.parametrize("effect", [Effect.READ, Effect.MUTATE, Effect.COMMUNICATE])
def test_used_approval_begins_nothing_again_in_another_process(effect: Effect) -> None:
    async def story(folder: Path) -> list[str]:
        tool = make_tool(NAME, effect, schema=OPEN, resources=lambda _c, _a: ("k",))
        asked_text, ends = '{"text": "x"}', list[str]()
        for attempt in range(3):
            async with open_room(folder, f"s{attempt + 1}") as room:
                desk = Desk(room)
                asked = (asked_text, tool.tool, context_of(room))
                outcome = await desk.run(asked, approves=True)
                ends.append("asks" if outcome.result is None else outcome.result.text)
        assert len(tool.entered) == 1
        return ends

    with TemporaryDirectory() as name:
        folder = Path(name)
        lay_database(folder / "geode.db")
        first, second, third = asyncio.run(story(folder))

    assert (first, second) == ("asks", "done x")
    assert third == "done x" or "approval.used" in third


def test_changes_cover_every_field_that_a_person_approves() -> None:
    tool = make_tool(NAME, Effect.COMMUNICATE, schema=OPEN).tool
    digests = {tool.digest}
    for change in ("description", "schema", "effect", "data class", "modes", "reach", "name"):
        digests.add(CHANGES[change](("{}", tool, None))[1].digest)  # type: ignore[arg-type]

    assert len(digests) == 8
