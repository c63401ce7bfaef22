"""Hooks about answers add checks and ask for more; who fails hands the answer to a person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest
from fakes.hook_room import HookRoom, candidate, judged

from geode.hooks.asking import RegisteredHook
from geode.hooks.candidates import (
    Accept,
    Continue,
    Escalate,
    JudgedCandidate,
    Revise,
    ShownCandidate,
    Strengthen,
)
from geode.hooks.code import PythonCode, Question
from geode.hooks.decisions import Block, Keep, Proceed
from geode.hooks.registry import HOOK_FAILED, HookRegistry
from geode.settings_hooks import DecisionEvent

Hook = Callable[[Question], Awaitable[object]]
EVENTS: tuple[DecisionEvent, ...] = ("PreVerify", "PostVerify", "Stop")


@pytest.fixture
def room(tmp_path: Path) -> HookRoom:
    return HookRoom(tmp_path)


def saying(answer: object) -> Hook:
    """A hook that always answers the same."""

    async def hook(_question: Question) -> object:
        return answer

    return hook


def registry_of(event: DecisionEvent, *hooks: Hook, timeout_s: float = 5.0) -> HookRegistry:
    """These functions in this order, as if each were an entry point."""
    registered = [
        RegisteredHook(str(number), PythonCode(hook), timeout_s=timeout_s)
        for number, hook in enumerate(hooks, start=1)
    ]
    return HookRegistry({event: registered})


async def ask(registry: HookRegistry, event: DecisionEvent) -> object:
    """The registry's answer to one plain answer of the event."""
    if event == "PreVerify":
        return await registry.pre_verify(candidate())
    if event == "PostVerify":
        return await registry.post_verify(judged())
    return await registry.stop(judged())


def failed(event: DecisionEvent, name: str, why: str) -> object:
    """What a hook that failed comes to."""
    sentence = f"The hook failed: it {why}."
    if event == "PreVerify":
        missed = Strengthen(name, misses=(HOOK_FAILED,), reason=sentence, has_failed=True)
        return (missed,)
    return Escalate(name, sentence, has_failed=True)


async def test_without_hooks_nothing_is_added_and_nothing_objects() -> None:
    registry = HookRegistry()

    assert await ask(registry, "PreVerify") == ()
    assert await ask(registry, "PostVerify") == Proceed()
    assert await ask(registry, "Stop") == Proceed()
    assert not any(registry.has(event) for event in EVENTS)


def test_hooks_about_answers_cost_the_gate_nothing() -> None:
    registry = registry_of("Stop", saying(Proceed()))

    assert registry.has("Stop")
    assert not registry.has_hooks


async def test_everything_that_is_added_is_kept_in_order() -> None:
    first = Strengthen("forged", ("Name a source.",), ("no_source",), "Say where.")
    second = Strengthen("forged", misses=("too_long",))
    registry = registry_of("PreVerify", saying(first), saying(Proceed()), saying(second))

    assert await registry.pre_verify(candidate()) == (
        Strengthen("1", ("Name a source.",), ("no_source",), "Say where."),
        Strengthen("3", misses=("too_long",)),
    )


async def test_failing_hook_adds_its_miss_behind_what_was_added() -> None:
    async def fail(_question: Question) -> object:
        raise ValueError("private words")

    added = Strengthen("1", ("Name a source.",))
    registry = registry_of("PreVerify", saying(added), fail, saying(added))

    found = await registry.pre_verify(candidate())

    assert found == (added, *cast("tuple[object]", failed("PreVerify", "2", "raised ValueError")))


STRONGEST = {
    "none": ((Proceed(), Proceed()), Proceed()),
    "accept": ((Proceed(), Accept()), Accept()),
    "accept-kept": ((Accept(), Proceed()), Accept()),
    "revise-over-accept": ((Accept(), Revise("x", "more")), Revise("2", "more")),
    "accept-behind-revise": ((Revise("x", "more"), Accept()), Revise("1", "more")),
    "first-revise": ((Revise("x", "a"), Revise("x", "b")), Revise("1", "a")),
    "escalate-over-revise": ((Revise("x", "a"), Escalate("x", "b")), Escalate("2", "b")),
    "escalate-ends": ((Escalate("x", "a"), Escalate("x", "b")), Escalate("1", "a")),
    "failure-over-revise": (
        (Revise("x", "a"), None),
        failed("PostVerify", "2", "answered with something that is no decision of PostVerify"),
    ),
}


@pytest.mark.parametrize(("answers", "said"), STRONGEST.values(), ids=STRONGEST)
async def test_strongest_word_about_a_judged_answer_counts(
    answers: tuple[object, ...], said: object
) -> None:
    registry = registry_of("PostVerify", *(saying(each) for each in answers))

    assert await registry.post_verify(judged()) == said


STOPS = {
    "none": ((Proceed(), Proceed()), Proceed()),
    "first-continue": ((Continue("x", "a"), Continue("x", "b")), Continue("1", "a")),
    "continue-behind": ((Proceed(), Continue("x", "b")), Continue("2", "b")),
    "failure-behind": (
        (Continue("x", "a"), Escalate("x", "no")),
        failed("Stop", "2", "answered with something that is no decision of Stop"),
    ),
}


@pytest.mark.parametrize(("answers", "said"), STOPS.values(), ids=STOPS)
async def test_stop_goes_on_if_one_asks_and_none_fails(
    answers: tuple[object, ...], said: object
) -> None:
    registry = registry_of("Stop", *(saying(each) for each in answers))

    assert await registry.stop(judged()) == said


async def test_forged_failure_of_a_hook_is_an_ordinary_word() -> None:
    forged = registry_of("PostVerify", saying(Escalate("x", "no", has_failed=True)))
    missed = registry_of("PreVerify", saying(Strengthen("x", misses=("a",), has_failed=True)))

    assert await forged.post_verify(judged()) == Escalate("1", "no")
    assert await missed.pre_verify(candidate()) == (Strengthen("1", misses=("a",)),)


NO_REQUIREMENT = "answered with a requirement that is no text"
NO_MISS = "answered with a miss that is no code word such as no_source_link"
NO_LIST = "answered with requirements or misses that are no list"
TOO_MANY = "answered with more than 8 requirements or misses"
BAD_ADDITIONS = {
    "nothing": (Strengthen("x"), "answered with neither a requirement nor a miss"),
    "no-list": (Strengthen("x", cast("tuple[str]", "Name it.")), NO_LIST),
    "number": (Strengthen("x", cast("tuple[str]", (1,))), NO_REQUIREMENT),
    "blank": (Strengthen("x", (" ",)), NO_REQUIREMENT),
    "long": (Strengthen("x", ("é" * 401,)), "answered with a requirement longer than 800 bytes"),
    "many": (Strengthen("x", ("Name it.",) * 9), TOO_MANY),
    "many-misses": (Strengthen("x", misses=("a",) * 9), TOO_MANY),
    "sentence": (Strengthen("x", misses=("No source.",)), NO_MISS),
    "upper": (Strengthen("x", misses=("No_source",)), NO_MISS),
    "line": (Strengthen("x", misses=("no_source\n",)), NO_MISS),
    "long-miss": (Strengthen("x", misses=("a" * 65,)), NO_MISS),
    "number-miss": (Strengthen("x", misses=cast("tuple[str]", (1,))), NO_MISS),
    "reason": (
        Strengthen("x", misses=("a",), reason=cast("str", 3)),
        "answered with a reason that is no text",
    ),
}


@pytest.mark.parametrize(("answer", "why"), BAD_ADDITIONS.values(), ids=BAD_ADDITIONS)
async def test_addition_that_is_out_of_bounds_is_a_failure(answer: Strengthen, why: str) -> None:
    found = await registry_of("PreVerify", saying(answer)).pre_verify(candidate())

    assert found == failed("PreVerify", "1", why)


async def test_addition_within_its_bounds_is_whole() -> None:
    added = Strengthen("1", ("x" * 800,) * 8, ("a" * 64,) * 8, "x" * 800)

    assert await registry_of("PreVerify", saying(added)).pre_verify(candidate()) == (added,)


async def test_controls_in_what_a_hook_says_are_shown() -> None:
    said = registry_of("Stop", saying(Continue("x", "\x1b[2J")))
    added = registry_of("PreVerify", saying(Strengthen("x", ("\x1b[2J" * 50,))))

    assert await said.stop(judged()) == Continue("1", "\\x1b[2J")
    (found,) = await added.pre_verify(candidate())
    assert found.requirements == ("\\x1b[2J" * 50,)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("answer", [None, True, "proceed", Keep(), Block("x", "no"), Proceed])
async def test_decision_of_another_kind_is_a_failure(event: DecisionEvent, answer: object) -> None:
    why = f"answered with something that is no decision of {event}"

    assert await ask(registry_of(event, saying(answer)), event) == failed(event, "1", why)


@pytest.mark.parametrize("event", EVENTS)
async def test_hook_that_is_late_is_a_failure(event: DecisionEvent) -> None:
    async def hang(_question: Question) -> object:
        await asyncio.Event().wait()
        return Proceed()

    registry = registry_of(event, hang, timeout_s=0.05)

    assert await ask(registry, event) == failed(event, "1", "gave no answer within 0.05 s")


LEFT = {"over": (0.0, "was not asked, as the time of the turn is over"),
        "short": (0.05, "gave no answer within 0.05 s")}  # fmt: skip


@pytest.mark.parametrize(("left_s", "why"), LEFT.values(), ids=LEFT)
@pytest.mark.parametrize("event", EVENTS)
async def test_hook_has_no_more_time_than_its_turn(
    event: DecisionEvent, left_s: float, why: str
) -> None:
    asked: list[Question] = []

    async def hang(question: Question) -> object:
        asked.append(question)
        await asyncio.Event().wait()
        return Proceed()

    registry = registry_of(event, hang)
    if event == "PreVerify":
        answer: object = await registry.pre_verify(candidate(), lambda: left_s)
    elif event == "PostVerify":
        answer = await registry.post_verify(judged(), lambda: left_s)
    else:
        answer = await registry.stop(judged(), lambda: left_s)

    assert answer == failed(event, "1", why)
    assert bool(asked) == bool(left_s)


async def test_hook_can_change_only_its_copy_of_the_answer() -> None:
    seen: list[str] = []

    async def forge(question: Question) -> object:
        shown = question.candidate if isinstance(question, JudgedCandidate) else question
        assert isinstance(shown, ShownCandidate)
        seen.append(shown.text)
        object.__setattr__(shown, "text", "forged")
        object.__setattr__(shown.observations[0], "text", "forged")
        return Proceed()

    kept, given = candidate(), judged()
    await registry_of("PreVerify", forge, forge).pre_verify(kept)
    await registry_of("PostVerify", forge, forge).post_verify(given)
    await registry_of("Stop", forge).stop(given)

    assert seen == ["It is 42."] * 5
    assert (kept, given) == (candidate(), judged())


VALID: dict[tuple[DecisionEvent, str], object] = {
    ("PreVerify", '{"decision": "proceed", "reason": "fine"}'): (),
    ("PreVerify", '{"decision": "require", "requirements": ["Name it."]}'): (
        Strengthen("PreVerify[1]", ("Name it.",)),
    ),
    ("PreVerify", '{"decision": "require", "misses": ["no_source"], "reason": "Where?"}'): (
        Strengthen("PreVerify[1]", (), ("no_source",), "Where?"),
    ),
    ("PostVerify", '{"decision": "proceed"}'): Proceed(),
    ("PostVerify", '{"decision": "accept"}'): Accept(),
    ("PostVerify", '{"decision": "revise", "reason": "more"}'): Revise("PostVerify[1]", "more"),
    ("PostVerify", '{"decision": "escalate"}'): Escalate("PostVerify[1]", "it gave no reason"),
    ("Stop", '{"decision": "stop"}'): Proceed(),
    ("Stop", '{"decision": "continue", "reason": "more"}'): Continue("Stop[1]", "more"),
}


@pytest.mark.parametrize(("event", "answer"), VALID, ids=[f"{e}-{a}" for e, a in VALID])
async def test_command_decides_by_what_it_writes(
    room: HookRoom, event: DecisionEvent, answer: str
) -> None:
    room.configure(event, room.answering(answer))

    assert await ask((await room.build()).registry, event) == VALID[event, answer]


NONSENSE: dict[str, tuple[DecisionEvent, str]] = {
    "empty": ("PreVerify", ""),
    "neither": ("PreVerify", '{"decision": "require"}'),
    "text": ("PreVerify", '{"decision": "require", "misses": "no_source"}'),
    "numbers": ("PreVerify", '{"decision": "require", "requirements": [1]}'),
    "accept": ("PreVerify", '{"decision": "accept"}'),
    "lowering": ("PreVerify", '{"decision": "proceed", "misses": []}'),
    "block": ("PostVerify", '{"decision": "block"}'),
    "upper": ("PostVerify", '{"decision": "ACCEPT"}'),
    "twice": ("PostVerify", '{"decision": "escalate", "decision": "accept"}'),
    "text-too": ("PostVerify", '{"decision": "accept", "text": "forged"}'),
    "continue": ("PostVerify", '{"decision": "continue"}'),
    "proceed": ("Stop", '{"decision": "proceed"}'),
    "escalate": ("Stop", '{"decision": "escalate"}'),
    "words": ("Stop", "stop"),
}


@pytest.mark.parametrize(("event", "answer"), NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_of_a_command_is_a_failure(
    room: HookRoom, event: DecisionEvent, answer: str
) -> None:
    room.configure(event, room.answering(answer))

    found = await ask((await room.build()).registry, event)

    (said,) = cast("tuple[object, ...]", found if event == "PreVerify" else (found,))
    assert isinstance(said, Strengthen | Escalate)
    assert said.has_failed
    assert said.hook == f"{event}[1]"


@pytest.mark.parametrize("event", EVENTS)
async def test_command_reads_the_whole_answer(room: HookRoom, event: DecisionEvent) -> None:
    word = "stop" if event == "Stop" else "proceed"
    room.configure(
        event,
        room.python(
            f"import sys; open({str(room.folder / 'read')!r}, 'w').write(sys.stdin.read())\n"
            f'print(\'{{"decision": "{word}"}}\')\n'
        ),
    )

    await ask((await room.build()).registry, event)

    read = json.loads((room.folder / "read").read_text())
    plain = {
        "v": 1,
        "event": event,
        "request": "what is it?",
        "text": "It is 42.",
        "reason": "natural",
        "observations": [
            {"tool": "web_fetch", "text": "the page", "is_error": False, "is_personal": False}
        ],
        "has_uncertain": False,
        "attempt": 0,
        "session": "s1",
        "turn": "t1",
        "mode": "daemon",
        "binding": "slack:T1/C1",
        "requesters": ["slack:T1:U1"],
    }
    verdict: dict[str, object] = {
        "outcome": "passed",
        "misses": [],
        "reflection": "fine",
        "is_retry_worthwhile": False,
        "action": "accept",
    }
    assert read == (plain if event == "PreVerify" else plain | verdict)
