"""Hooks in order: rewrites chain, the first objection ends, a request for a person is kept."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import cast

import pytest
from fakes.hook_room import ended, proposed

from geode.hooks.asking import RegisteredHook
from geode.hooks.code import PythonCode
from geode.hooks.decisions import (
    AddContext,
    AskPerson,
    Block,
    EndedCall,
    Keep,
    Proceed,
    ProposedCall,
    Rewrite,
    Withhold,
)
from geode.hooks.registry import HookRegistry
from geode.settings_hooks import DecisionEvent

Hook = Callable[[ProposedCall], Awaitable[object]]


def registry_of(
    *hooks: Hook, event: DecisionEvent = "PreToolUse", timeout_s: float = 5.0
) -> HookRegistry:
    """These functions in this order, as if each were an entry point."""
    registered = [
        RegisteredHook(str(number), PythonCode(cast("Hook", hook)), timeout_s=timeout_s)
        for number, hook in enumerate(hooks, start=1)
    ]
    return HookRegistry({event: registered})


def saying(answer: object) -> Hook:
    """A hook that always answers the same."""

    async def hook(_call: ProposedCall) -> object:
        return answer

    return hook


def failed(name: str, why: str) -> Block:
    return Block(name, f"The hook failed: it {why}.", has_failed=True)


async def append(call: ProposedCall) -> object:
    """Lengthens the address."""
    return Rewrite("x", {"url": f"{call.arguments['url']}+"})


async def test_without_hooks_nothing_objects() -> None:
    registry = HookRegistry()

    assert not registry.has_hooks
    assert await registry.pre_tool_use(proposed()) == Proceed()
    assert await registry.permission_request(proposed()) == Proceed()
    assert await registry.post_tool_use(ended()) == (Keep(),)


async def test_rewrites_chain_and_the_last_one_stands() -> None:
    registry = registry_of(append, saying(Proceed()), append)

    answer = await registry.pre_tool_use(proposed())

    assert answer == Rewrite("3", {"url": "https://example.org/++"})


async def test_first_block_ends_the_asking() -> None:
    asked: list[ProposedCall] = []

    async def note(call: ProposedCall) -> object:
        asked.append(call)
        return Proceed()

    registry = registry_of(append, saying(Block("forged", "no")), note)

    assert await registry.pre_tool_use(proposed()) == Block("2", "no")
    assert asked == []


async def test_later_block_wins_over_a_request_for_a_person() -> None:
    registry = registry_of(saying(AskPerson("x", "?")), saying(Block("x", "no")))

    assert await registry.pre_tool_use(proposed()) == Block("2", "no")


async def test_request_for_a_person_is_about_the_rewritten_call() -> None:
    before = registry_of(saying(AskPerson("x", "first")), append, saying(AskPerson("x", "second")))
    plain = registry_of(saying(AskPerson("x", "first")))

    assert await before.pre_tool_use(proposed()) == AskPerson(
        "1", "first", {"url": "https://example.org/+"}
    )
    assert await plain.pre_tool_use(proposed()) == AskPerson("1", "first", None)


async def test_hook_is_asked_about_its_tools_only() -> None:
    hook = RegisteredHook("1", PythonCode(saying(Block("x", "no"))), frozenset({"web_fetch"}))
    registry = HookRegistry({"PreToolUse": [hook]})

    assert await registry.pre_tool_use(proposed("web_fetch")) == Block("1", "no")
    assert await registry.pre_tool_use(proposed("web_fetch2")) == Proceed()
    assert await registry.pre_tool_use(proposed("Web_fetch")) == Proceed()


async def test_withholding_wins_over_what_others_add() -> None:
    first, second = AddContext("x", "a"), AddContext("x", "b")
    adding = registry_of(saying(first), saying(Keep()), saying(second), event="PostToolUse")
    holding = registry_of(
        saying(first), saying(Withhold("x", "no")), saying(second), event="PostToolUse"
    )

    assert await adding.post_tool_use(ended()) == (AddContext("1", "a"), AddContext("3", "b"))
    assert await holding.post_tool_use(ended()) == (Withhold("2", "no"),)


@pytest.mark.parametrize(
    "answer",
    [AskPerson("x", "?"), Rewrite("x", {}), Keep(), True, None, "proceed"],
    ids=lambda answer: type(answer).__name__,
)
async def test_permission_request_never_grants_and_takes_no_other_decision(answer: object) -> None:
    registry = registry_of(saying(answer), event="PermissionRequest")

    said = await registry.permission_request(proposed())

    assert said == failed("1", "answered with something that is no decision of PermissionRequest")


class Truthy(Proceed):
    """Not the type that is decided by."""


NONSENSE = {
    "none": (None, "answered with something that is no decision of PreToolUse"),
    "bool": (True, "answered with something that is no decision of PreToolUse"),
    "class": (Proceed, "answered with something that is no decision of PreToolUse"),
    "child": (Truthy(), "answered with something that is no decision of PreToolUse"),
    "other": (Keep(), "answered with something that is no decision of PreToolUse"),
    "reason": (Block("x", cast("str", 3)), "answered with a reason that is no text"),
    "list": (
        Rewrite("x", cast("dict[str, object]", [])),
        "answered with arguments that are no JSON object",
    ),
    "set": (Rewrite("x", {"a": {1}}), "answered with arguments that are no JSON object"),
    "key": (
        Rewrite("x", cast("dict[str, object]", {1: 2})),
        "answered with arguments that are no JSON object",
    ),
    "surrogate": (Rewrite("x", {"a": "\ud800"}), "answered with arguments that are no JSON object"),
}


@pytest.mark.parametrize(("answer", "why"), NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_of_python_code_denies(answer: object, why: str) -> None:
    assert await registry_of(saying(answer)).pre_tool_use(proposed()) == failed("1", why)


async def raise_error(_call: ProposedCall) -> object:
    raise ValueError("private words")


async def raise_exit(_call: ProposedCall) -> object:
    sys.exit(0)


async def raise_cancelled(_call: ProposedCall) -> object:
    raise asyncio.CancelledError


async def hang(_call: ProposedCall) -> object:
    await asyncio.Event().wait()
    return Proceed()


async def answer_late(_call: ProposedCall) -> object:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return Proceed()
    return Proceed()


RAISING = {
    "error": (raise_error, "raised ValueError"),
    "exit": (raise_exit, "tried to end the process"),
    "cancelled": (raise_cancelled, "gave no answer within 0.2 s"),
    "hang": (hang, "gave no answer within 0.2 s"),
    "late": (answer_late, "gave no answer within 0.2 s"),
}


@pytest.mark.parametrize(("hook", "why"), RAISING.values(), ids=RAISING)
async def test_python_code_that_fails_denies(hook: Hook, why: str) -> None:
    registry = registry_of(hook, timeout_s=0.2)

    assert await registry.pre_tool_use(proposed()) == failed("1", why)
    after = await registry_of(hook, event="PostToolUse", timeout_s=0.2).post_tool_use(ended())
    assert [type(each) for each in after] == [Withhold]


async def test_python_code_that_ignores_its_end_holds_nobody_up() -> None:
    release = asyncio.Event()

    async def stay(_call: ProposedCall) -> object:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return Proceed()

    answer = await registry_of(stay, timeout_s=0.05).pre_tool_use(proposed())
    release.set()

    assert answer == failed("1", "gave no answer within 0.05 s")


async def test_cancelled_turn_is_cancelled_even_when_a_hook_swallows_it() -> None:
    begun = asyncio.Event()

    async def swallow(_call: ProposedCall) -> object:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Proceed()
        return Proceed()

    asking = asyncio.create_task(registry_of(swallow).pre_tool_use(proposed()))
    await begun.wait()
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_hook_can_change_only_its_copy_of_the_call() -> None:
    kept: dict[str, object] = {"url": "a", "more": [1]}

    async def change(call: ProposedCall) -> object:
        call.arguments["url"] = "changed"
        cast("list[int]", call.arguments["more"]).append(2)
        return Proceed()

    call = proposed(arguments=kept)
    assert await registry_of(change).pre_tool_use(call) == Proceed()

    assert kept == {"url": "a", "more": [1]}


async def test_rewritten_arguments_are_a_copy_too() -> None:
    mine: dict[str, object] = {"url": "b"}
    answer = await registry_of(saying(Rewrite("x", mine))).pre_tool_use(proposed())

    mine["url"] = "c"

    assert answer == Rewrite("1", {"url": "b"})


async def test_rewrite_to_the_same_json_is_none() -> None:
    call = proposed(arguments={"n": 1, "m": [True]})

    same = await registry_of(saying(Rewrite("x", {"m": [True], "n": 1}))).pre_tool_use(call)
    other = await registry_of(saying(Rewrite("x", {"m": [1], "n": True}))).pre_tool_use(call)

    assert same == Proceed()
    assert other == Rewrite("1", {"m": [1], "n": True})


async def test_after_a_call_the_hook_sees_how_it_ended() -> None:
    seen: list[EndedCall] = []

    async def look(call: ProposedCall) -> object:
        seen.append(cast("EndedCall", call))
        return Keep()

    call = replace(ended(), ending="uncertain", is_error=True)
    await registry_of(look, event="PostToolUse").post_tool_use(call)

    assert seen == [call]
