"""No list of hooks and no answers of theirs make a call freer than it was without them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fakes.hook_room import ended, proposed
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from geode.errors import HookError
from geode.hooks.asking import RegisteredHook
from geode.hooks.code import Question
from geode.hooks.decisions import (
    AddContext,
    AskPerson,
    Block,
    Keep,
    PostToolUse,
    PreToolUse,
    Proceed,
    Rewrite,
    Withhold,
)
from geode.hooks.registry import HookRegistry
from geode.settings_hooks import DecisionEvent

T = TypeVar("T")
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=2)
TEXTS = st.text(max_size=5)
FAILURES = st.sampled_from([HookError("x"), ValueError("x"), SystemExit(0)])
NONSENSE = st.sampled_from([None, True, "proceed", 0, {"decision": "proceed"}, Proceed, object()])
ANY = st.one_of(
    st.just(Proceed()),
    st.just(Keep()),
    st.builds(Block, TEXTS, TEXTS, st.booleans()),
    st.builds(Withhold, TEXTS, TEXTS, st.booleans()),
    st.builds(AskPerson, TEXTS, TEXTS, st.none() | ARGUMENTS),
    st.builds(AddContext, TEXTS, TEXTS),
    st.builds(Rewrite, TEXTS, ARGUMENTS),
    NONSENSE,
    FAILURES,
)
"""Everything a hook may answer, and much that it may not, whatever the event."""


@dataclass
class Scripted:
    """Code that answers one thing and remembers what it was asked about."""

    answer: object
    seen: list[Question]

    async def ask(self, event: DecisionEvent, question: Question) -> object:
        self.seen.append(question)
        if isinstance(self.answer, HookError | ValueError):
            raise self.answer
        if isinstance(self.answer, SystemExit):
            raise HookError("tried to end the process")
        return self.answer


def build(event: DecisionEvent, answers: Sequence[object]) -> tuple[HookRegistry, list[Scripted]]:
    """A registry over these answers, with tools that half of the hooks are not about."""
    scripted = [Scripted(answer, []) for answer in answers]
    hooks = [RegisteredHook(str(number), code) for number, code in enumerate(scripted)]
    return HookRegistry({event: hooks}), scripted


def _run(asking: Coroutine[object, object, T]) -> T:
    """The answer, without the traceback of each failure."""
    with capture_logs():
        return asyncio.run(asking)


def denies(event: DecisionEvent, answer: object) -> bool:
    """Whether one hook with this answer has denied."""
    allowed = {
        "PreToolUse": (Proceed, Rewrite, AskPerson),
        "PermissionRequest": (Proceed,),
        "PostToolUse": (Keep, AddContext),
    }
    return type(answer) not in allowed[event]


STRENGTH: dict[type, int] = {Proceed: 0, Rewrite: 0, AskPerson: 1, Block: 2}


@settings(deadline=None)
@given(st.lists(ANY, max_size=5))
def test_before_a_call_any_denial_blocks_and_any_request_is_kept(answers: list[object]) -> None:
    registry, scripted = build("PreToolUse", answers)

    said: PreToolUse = _run(registry.pre_tool_use(proposed()))

    assert isinstance(said, Block) == any(denies("PreToolUse", each) for each in answers)
    wanted = max((1 for each in answers if isinstance(each, AskPerson)), default=0)
    assert STRENGTH[type(said)] >= wanted
    first = next((i for i, each in enumerate(answers) if denies("PreToolUse", each)), len(answers))
    assert [bool(code.seen) for code in scripted] == [i <= first for i in range(len(answers))]


@settings(deadline=None)
@given(st.lists(ANY, max_size=4), st.lists(ANY, max_size=4))
def test_one_more_hook_never_weakens(answers: list[object], more: list[object]) -> None:
    few, _ = build("PreToolUse", answers)
    many, _ = build("PreToolUse", [*answers, *more])

    before: PreToolUse = _run(few.pre_tool_use(proposed()))
    after: PreToolUse = _run(many.pre_tool_use(proposed()))

    assert STRENGTH[type(after)] >= STRENGTH[type(before)]


@settings(deadline=None)
@given(st.lists(ANY, max_size=5))
def test_before_a_person_is_asked_any_denial_blocks(answers: list[object]) -> None:
    registry, _ = build("PermissionRequest", answers)

    said = _run(registry.permission_request(proposed()))

    assert isinstance(said, Block) == any(denies("PermissionRequest", each) for each in answers)
    assert isinstance(said, Block | Proceed)


@settings(deadline=None)
@given(st.lists(ANY, max_size=5))
def test_after_a_call_any_denial_withholds_the_result(answers: list[object]) -> None:
    registry, _ = build("PostToolUse", answers)

    said: tuple[PostToolUse, ...] = _run(registry.post_tool_use(ended()))

    withheld = any(denies("PostToolUse", each) for each in answers)
    assert any(isinstance(each, Withhold) for each in said) == withheld
    assert len(said) == 1 or not withheld
